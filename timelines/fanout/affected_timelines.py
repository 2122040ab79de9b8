"""The cached timelines that new posts of some accounts belong to: followers' homes, lists they are on."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeVar

from socialsite.batches import batches
from socialsite.ids import AccountId
from timelines.cached_timelines.repository import CachedTimelines
from timelines.graph.follow import FIRST_PASS, PassCursor, PassPage
from timelines.graph.repository import Follows
from timelines.ids import ListId
from timelines.lists.repository import ListMembers

OWNERS_PER_PASS = 1_000
AUTHORS_AT_ONCE = 32

Id = TypeVar("Id", bound=int)
NextPass = Callable[[AccountId, PassCursor, int], Awaitable[PassPage[Id]]]


class AffectedTimelines:
    """Deletes them, so that the next read rebuilds them from the profiles."""

    def __init__(
        self, follows: Follows, members: ListMembers, homes: CachedTimelines, list_timelines: CachedTimelines
    ) -> None:
        self._follows = follows
        self._members = members
        self._homes = homes
        self._list_timelines = list_timelines

    async def of_authors(self, author_ids: Collection[AccountId]) -> "AffectedIds":
        """The authors' own homes, their followers', and the lists they are on: ids, gathered once."""
        followers = await _all(self._follows.followers_pass, author_ids)
        lists = await _all(self._members.listed_on_pass, author_ids)
        return AffectedIds(self, sorted(followers.union(author_ids)), sorted(lists))

    async def invalidate(self, home_owners: Sequence[int], list_ids: Sequence[int]) -> None:
        for part in batches(home_owners, OWNERS_PER_PASS):
            await self._homes.invalidate_many(part)
        for part in batches(list_ids, OWNERS_PER_PASS):
            await self._list_timelines.invalidate_many(part)


@dataclass(frozen=True, slots=True)
class AffectedIds:
    """Whose cached timelines a change concerns; forgotten before and after it."""

    timelines: AffectedTimelines
    home_owners: list[AccountId]
    list_ids: list[ListId]

    async def invalidate(self) -> None:
        await self.timelines.invalidate(self.home_owners, self.list_ids)


async def _all(next_pass: NextPass[Id], author_ids: Collection[AccountId]) -> set[Id]:
    """Everybody of all the authors once: most follow several of them."""
    everybody: set[Id] = set()
    for some in batches(author_ids, AUTHORS_AT_ONCE):
        for found in await asyncio.gather(*(_all_of(next_pass, author_id) for author_id in some)):
            everybody.update(found)
    return everybody


async def _all_of(next_pass: NextPass[Id], author_id: AccountId) -> list[Id]:
    """Everybody of one author, pass by pass: ids only, eight bytes each."""
    cursor: PassCursor | None = FIRST_PASS
    found: list[Id] = []
    while cursor is not None:
        page = await next_pass(author_id, cursor, OWNERS_PER_PASS)
        found += page.ids
        cursor = page.next
    return found
