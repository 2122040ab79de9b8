"""What tells home from list timelines, and the spans of time both live by (cached.py)."""

from collections.abc import Callable
from dataclasses import dataclass

from socialsite.ids import SEQUENCE_BITS
from socialsite.store import Key

LATE_MS = 2_000
"""An id older than this at delivery is inserted in its place instead of being pushed in front."""
MAX_DISORDER_MS = 5_000
MAX_DISORDER_IDS = MAX_DISORDER_MS << SEQUENCE_BITS
"""How far ids may be out of order, in ids."""


@dataclass(frozen=True, slots=True)
class TimelineCacheSpec:
    """What tells homes from list timelines."""

    key_of: Callable[[int], Key]
    key_pattern: bytes
    """Of the same keys, for passes encoded by hand: the owner's id in decimal goes where %d stands."""
    cap: int
    ttl_ms: int
    read_ahead: int
    """Ids read beyond a page; a second read is needed where more than these fell into the margin's time."""

    @property
    def slack(self) -> int:
        """Entries over the cap that a timeline may hold before it is trimmed, at least."""
        return max(1, self.cap // 10)

    def max_length(self, owner: int) -> int:
        """Length at which a timeline is trimmed: cap, floor and a slack that differs by owner.

        By the last digit of the id: a pass looks at it without a number being made of the name.
        """
        return self.cap + 1 + self.slack + self.slack * (owner % 10) // 10
