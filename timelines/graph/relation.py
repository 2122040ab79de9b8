"""What two accounts have to do with each other, as one of them sees it, and how many others each may have."""

from dataclasses import dataclass

BLOCKS_CAP = 10_000
MUTES_CAP = 10_000
HIDDEN_BOOSTS_CAP = 10_000
OPEN_REQUESTS_CAP = 1_000
"""Requests an account may have made that nobody has answered yet. Those made to it have no cap."""
MAX_MUTE_MS = 366 * 24 * 3_600_000
"""A mute that ends, ends within a year."""


@dataclass(frozen=True, slots=True)
class Relationship:
    """`muted_until_ms`: Unix ms, FOREVER for a mute without an end, None for none."""

    follows: bool = False
    is_followed: bool = False
    requested: bool = False
    blocks: bool = False
    is_blocked: bool = False
    muted_until_ms: int | None = None
    hides_boosts: bool = False

    @property
    def mutes(self) -> bool:
        return self.muted_until_ms is not None

    @property
    def is_blocked_either_way(self) -> bool:
        """One of them blocks the other: neither may do anything with the other."""
        return self.blocks or self.is_blocked
