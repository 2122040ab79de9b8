"""Follows: the edge, its counts, and the two cursors that walk them.

Pages go newest first over all partitions (FollowCursor); syndication goes oldest first, one partition after
another (PassCursor). Both are exclusive: nothing is read twice, also when thousands of edges share one ms.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Self, TypeVar, cast

from socialsite.ids import AccountId

_CURSOR = re.compile(r"(\d{1,16})-(\d{1,16})", re.ASCII)
Id = TypeVar("Id", bound=int)


@dataclass(frozen=True, slots=True)
class Follow:
    """`follower_id` reads the posts of `followed_id`, since `at_ms` (Unix ms)."""

    follower_id: AccountId
    followed_id: AccountId
    at_ms: int


@dataclass(frozen=True, slots=True)
class FollowCounts:
    """How many follow an account, and how many it follows; summed from the edges, never stored."""

    followers: int
    following: int


@dataclass(frozen=True, slots=True)
class ViewerGraph:
    """A reader before an account: its counts, and whom the reader follows; `is_all`: all of them."""

    counts: FollowCounts
    followed_ids: tuple[AccountId, ...]
    is_complete: bool


@dataclass(frozen=True, slots=True)
class KnownFollowers:
    """What a reader and an account share: accounts both follow, and the newest followers the reader knows."""

    followed_by_both: int
    account_ids: tuple[AccountId, ...]


@dataclass(frozen=True, slots=True)
class FollowCursor:
    """The last edge of a page: the next page begins strictly behind it, whether or not it still exists."""

    at_ms: int
    account_id: AccountId

    def encode(self) -> str:
        """The opaque text that stands in `?cursor=`."""
        return f"{self.at_ms}-{self.account_id}"

    @classmethod
    def decode(cls, text: str) -> Self:
        """The cursor of such a text. Raises ValueError for any other."""
        match = _CURSOR.fullmatch(text)
        if match is None:
            raise ValueError("not a cursor")
        return cls(int(match[1]), AccountId(int(match[2])))


@dataclass(frozen=True, slots=True)
class FollowPage:
    """Accounts of one page, newest edge first; `next` is None on the last page."""

    account_ids: tuple[AccountId, ...]
    next: FollowCursor | None


@dataclass(frozen=True, slots=True)
class PassCursor:
    """How far syndication has come: the last edge (`at_ms`, `id`) delivered to, in `partition`."""

    partition: int
    at_ms: int
    id: int

    @classmethod
    def start_of(cls, partition: int) -> Self:
        """Before the first edge of a partition: no edge is older than 1970."""
        return cls(partition, -1, 0)


FIRST_PASS = PassCursor.start_of(0)


@dataclass(frozen=True, slots=True)
class PassPage(Generic[Id]):
    """Whom one pass delivers to; `next` is None when the last partition is done.

    `names`: their ids in decimal digits, as edges hold them and keys name them.
    """

    encoded_ids: Sequence[bytes]
    next: PassCursor | None

    @property
    def ids(self) -> tuple[Id, ...]:
        return cast(tuple[Id, ...], tuple(map(int, self.encoded_ids)))
