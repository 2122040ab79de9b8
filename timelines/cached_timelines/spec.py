"""The sizes and keys of cached timelines, and the limits for ids that are out of order."""

from collections.abc import Callable
from dataclasses import dataclass

from socialsite.ids import SEQUENCE_BITS
from socialsite.store import Key

LATE_MS = 2_000
"""An id older than this at delivery is inserted at its position instead of being pushed to the front."""
MAX_DISORDER_MS = 5_000
MAX_DISORDER_IDS = MAX_DISORDER_MS << SEQUENCE_BITS
"""Ids of a cached timeline may be out of order by this time, or by this difference of ids."""


@dataclass(frozen=True, slots=True)
class TimelineCacheSpec:
    """The sizes and keys of one kind of cached timelines (homes or lists)."""

    key_of: Callable[[int], Key]
    key_pattern: bytes
    """The encoded key with %d instead of the owner's id. The pushes of a pass are built from it."""
    cap: int
    ttl_ms: int
    read_ahead: int
    """The number of ids that are read in addition to a page. If more ids are out of order, a second read is needed."""

    @property
    def slack(self) -> int:
        """The smallest number of entries above the cap at which a timeline is trimmed."""
        return max(1, self.cap // 10)

    def max_length(self, owner: int) -> int:
        """Return the length above which a timeline is trimmed. The slack in it differs between owners.

        The slack depends on the last digit of the id, which a pass reads without parsing the id.
        """
        return self.cap + 1 + self.slack + self.slack * (owner % 10) // 10
