"""Follows as values: the edge, counts, pages, and the relationship of two accounts.

Pages go newest first over all partitions (FollowCursor). Fan-out goes oldest first through one partition after
another (PassCursor). Both cursors are exclusive: no edge is read twice, even if thousands share one millisecond.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Self, TypeVar, cast

from socialsite.ids import AccountId

BLOCKS_CAP = 10_000
MUTES_CAP = 10_000
HIDDEN_BOOSTS_CAP = 10_000
OPEN_REQUESTS_CAP = 1_000
"""Unanswered follow requests that one account may have sent. Received requests have no cap."""
MAX_MUTE_MS = 366 * 24 * 3_600_000
"""A mute with an end ends within a year."""

_CURSOR = re.compile(r"(\d{1,16})-(\d{1,16})", re.ASCII)
Id = TypeVar("Id", bound=int)


@dataclass(frozen=True, slots=True)
class Follow:
    """`follower_id` follows `followed_id` since `at_ms` (Unix ms)."""

    follower_id: AccountId
    followed_id: AccountId
    at_ms: int


@dataclass(frozen=True, slots=True)
class FollowCounts:
    """Numbers of followers and of followed accounts, summed over the edges."""

    followers: int
    following: int


@dataclass(frozen=True, slots=True)
class Relationship:
    """How a viewer and another account are related, seen from the viewer.

    `muted_until_ms`: Unix ms; FOREVER for a mute without an end, None for no mute.
    """

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
        """One account blocks the other: neither may interact with the other."""
        return self.blocks or self.is_blocked


@dataclass(frozen=True, slots=True)
class ViewerGraph:
    """The counts of an account, and accounts that its viewer follows. `is_complete`: all of them."""

    counts: FollowCounts
    followed_ids: tuple[AccountId, ...]
    is_complete: bool


@dataclass(frozen=True, slots=True)
class KnownFollowers:
    """The newest followers of an account that the viewer follows, and how many accounts both follow."""

    followed_by_both: int
    account_ids: tuple[AccountId, ...]


@dataclass(frozen=True, slots=True)
class FollowCursor:
    """The last edge of a page. The next page begins strictly after this edge, even if it was removed."""

    at_ms: int
    account_id: AccountId

    def encode(self) -> str:
        """Return the opaque text of `?cursor=`."""
        return f"{self.at_ms}-{self.account_id}"

    @classmethod
    def decode(cls, text: str) -> Self:
        """Parse the text of `?cursor=`. Raises ValueError if it is no cursor."""
        match = _CURSOR.fullmatch(text)
        if match is None:
            raise ValueError("not a cursor")
        return cls(int(match[1]), AccountId(int(match[2])))


@dataclass(frozen=True, slots=True)
class FollowPage:
    """Accounts of one page, newest edge first. `next` is None on the last page."""

    account_ids: tuple[AccountId, ...]
    next: FollowCursor | None


@dataclass(frozen=True, slots=True)
class PassCursor:
    """How far a fan-out has got: the last edge (`at_ms`, `id`) in `partition`."""

    partition: int
    at_ms: int
    id: int

    @classmethod
    def start_of(cls, partition: int) -> Self:
        """Return the cursor before the first edge of a partition: no edge is older than 1970."""
        return cls(partition, -1, 0)


FIRST_PASS = PassCursor.start_of(0)


@dataclass(frozen=True, slots=True)
class PassPage(Generic[Id]):
    """The ids of one pass. `next` is None after the last partition.

    `encoded_ids`: ids in decimal digits, as Redis returns them and as keys contain them.
    """

    encoded_ids: Sequence[bytes]
    next: PassCursor | None

    @property
    def ids(self) -> tuple[Id, ...]:
        return cast(tuple[Id, ...], tuple(map(int, self.encoded_ids)))
