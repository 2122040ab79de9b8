"""Sizes and keys of the two kinds of cached timelines, homes and lists, and how far ids may be out of order."""

from collections.abc import Callable
from dataclasses import dataclass

from socialsite.ids import SEQUENCE_BITS
from socialsite.store import Key

LATE_MS = 2_000
"""An id older than this at delivery is inserted at its position instead of being pushed to the front."""
MAX_DISORDER_MS = 5_000
MAX_DISORDER_IDS = MAX_DISORDER_MS << SEQUENCE_BITS
"""How far ids of a cached timeline may be out of order: the time, and the same as a difference of ids."""


@dataclass(frozen=True, slots=True)
class TimelineCacheSpec:
    """One kind of cached timelines."""

    key_of: Callable[[int], Key]
    key_pattern: bytes
    """The same key with %d for the owner's id, for the encoded pushes of a pass."""
    cap: int
    ttl_ms: int
    read_ahead: int
    """Ids that are read beyond a page. More ids out of order than these need a second read."""

    @property
    def slack(self) -> int:
        """The least number of entries above the cap at which a timeline is trimmed."""
        return max(1, self.cap // 10)

    def max_length(self, owner: int) -> int:
        """Return the length above which a timeline is trimmed: cap, floor and a slack that differs between owners.

        The slack depends on the last digit of the id, which a pass reads without parsing the id.
        """
        return self.cap + 1 + self.slack + self.slack * (owner % 10) // 10
