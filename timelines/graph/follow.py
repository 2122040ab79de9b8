"""Follows as values: the edge, counts, pages, and the relationship of two accounts.

Pages have the newest edges of all partitions first (FollowCursor). Fan-out reads one partition after another, oldest
edge first (PassCursor). Both cursors are exclusive: no edge is read twice, even if thousands have the same time.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, Self, TypedDict, TypeVar, cast

from socialsite.ids import AccountId

BLOCKS_CAP = 10_000
MUTES_CAP = 10_000
HIDDEN_BOOSTS_CAP = 10_000
NOTES_CAP = 1_000
NOTE_MAX_LENGTH = 2_000
"""The maximum number of characters of a private note about an account."""
OPEN_REQUESTS_CAP = 1_000
"""The maximum number of pending follow requests that one account has sent. Received requests have no cap."""
MAX_MUTE_MS = 366 * 24 * 3_600_000
"""The longest duration of a mute with an end."""

_CURSOR = re.compile(r"(\d{1,16})-(\d{1,16})", re.ASCII)
Id = TypeVar("Id", bound=int)


class Follow(NamedTuple):
    """`follower_id` follows `followed_id` since `at_ms` (Unix ms)."""

    follower_id: AccountId
    followed_id: AccountId
    at_ms: int


@dataclass(frozen=True, slots=True)
class FollowCounts:
    """The numbers of followers and of followed accounts. They are the numbers of edges."""

    followers: int
    following: int


@dataclass(frozen=True, slots=True)
class Relationship:
    """The relations between a viewer and another account, from the viewer's side.

    `muted_until_ms` is Unix ms, NO_EXPIRY_MS for a mute without an end, or None if the account is not muted.
    """

    follows: bool = False
    is_followed: bool = False
    requested: bool = False
    blocks: bool = False
    is_blocked: bool = False
    muted_until_ms: int | None = None
    hides_boosts: bool = False
    note: str = ""
    """The private note of the viewer about the account."""

    @property
    def mutes(self) -> bool:
        return self.muted_until_ms is not None

    @property
    def is_blocked_either_way(self) -> bool:
        """True if one account blocks the other, so that they may not interact."""
        return self.blocks or self.is_blocked


@dataclass(frozen=True, slots=True)
class ViewerGraph:
    """The counts of an account, and accounts that its viewer follows. `is_complete` is True if these are all."""

    counts: FollowCounts
    followed_ids: tuple[AccountId, ...]
    is_complete: bool


@dataclass(frozen=True, slots=True)
class KnownFollowers:
    """The newest followers of an account whom the viewer follows, and the number of accounts that both follow."""

    followed_by_both: int
    account_ids: tuple[AccountId, ...]


@dataclass(frozen=True, slots=True, order=True)
class FollowCursor:
    """The last edge of a page. The next page begins strictly after this edge, even if it was removed."""

    at_ms: int
    account_id: AccountId

    def encode(self) -> str:
        """Return the opaque text of `?cursor=`."""
        return f"{self.at_ms}-{self.account_id}"

    @classmethod
    def decode(cls, text: str) -> Self:
        """Parse the text of `?cursor=`. Raises ValueError if the text is not a cursor."""
        match = _CURSOR.fullmatch(text)
        if match is None:
            raise ValueError("not a cursor")
        return cls(int(match[1]), AccountId(int(match[2])))


class AccountsPart(TypedDict, total=False):
    """The viewer of a page of accounts, its cursor and its size."""

    viewer_id: AccountId | None
    cursor: FollowCursor | None
    limit: int


@dataclass(frozen=True, slots=True)
class FollowPage:
    """The accounts of one page, newest edge first. `next` is None on the last page."""

    edges: tuple[FollowCursor, ...]
    next: FollowCursor | None

    @property
    def account_ids(self) -> tuple[AccountId, ...]:
        return tuple(edge.account_id for edge in self.edges)


@dataclass(frozen=True, slots=True)
class PassCursor:
    """The position of a fan-out: the last edge (`at_ms`, `id`) that it read in `partition`."""

    partition: int
    at_ms: int
    id: int

    @classmethod
    def start_of(cls, partition: int) -> Self:
        """Return the cursor before the first edge of a partition."""
        return cls(partition, -1, 0)


FIRST_PASS = PassCursor.start_of(0)


@dataclass(frozen=True, slots=True)
class PassPage(Generic[Id]):
    """The ids of one pass. `next` is None after the last partition.

    `encoded_ids` are the ids in decimal digits, as in replies of Redis and in keys.
    """

    encoded_ids: Sequence[bytes]
    next: PassCursor | None

    @property
    def ids(self) -> tuple[Id, ...]:
        return cast(tuple[Id, ...], tuple(map(int, self.encoded_ids)))
