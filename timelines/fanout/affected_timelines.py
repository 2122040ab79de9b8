"""Finds the cached timelines that contain posts of given authors: homes of their followers, and lists."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeVar

from socialsite.batches import batches
from socialsite.ids import AccountId
from socialsite.tasks import run_together
from timelines.cached_timelines.repository import CachedTimelines
from timelines.graph.follow import FIRST_PASS, PassCursor, PassPage
from timelines.graph.repository import Follows
from timelines.ids import ListId
from timelines.lists.repository import ListMembers

OWNERS_PER_PASS = 1_000
AUTHORS_PER_BATCH = 32

Id = TypeVar("Id", bound=int)
NextPass = Callable[[AccountId, PassCursor, int], Awaitable[PassPage[Id]]]


@dataclass(slots=True)
class AffectedTimelines:
    """Deletes cached timelines, so that the next read rebuilds them from the author feeds."""

    follows: Follows
    members: ListMembers
    homes: CachedTimelines
    list_timelines: CachedTimelines

    async def of_authors(self, author_ids: Collection[AccountId]) -> "AffectedIds":
        """Return the owners of the affected homes (authors and followers), and the lists with an author as a member."""
        followers = await _read_all(self.follows.followers_pass, author_ids)
        lists = await _read_all(self.members.listed_on_pass, author_ids)
        return AffectedIds(self, sorted(followers.union(author_ids)), sorted(lists))

    async def invalidate(self, home_owners: Sequence[int], list_ids: Sequence[int]) -> None:
        for part in batches(home_owners, OWNERS_PER_PASS):
            await self.homes.invalidate_many(part)
        for part in batches(list_ids, OWNERS_PER_PASS):
            await self.list_timelines.invalidate_many(part)


@dataclass(frozen=True, slots=True)
class AffectedIds:
    """The owners of affected timelines. The caller invalidates these timelines before and after a change."""

    timelines: AffectedTimelines
    home_owners: list[AccountId]
    list_ids: list[ListId]

    async def invalidate(self) -> None:
        await self.timelines.invalidate(self.home_owners, self.list_ids)


async def _read_all(next_pass: NextPass[Id], author_ids: Collection[AccountId]) -> set[Id]:
    """Return the follower or list ids of all authors, each once."""
    ids: set[Id] = set()
    for batch in batches(author_ids, AUTHORS_PER_BATCH):
        for part in await run_together(*(_read_all_of(next_pass, author_id) for author_id in batch)):
            ids.update(part)
    return ids


async def _read_all_of(next_pass: NextPass[Id], author_id: AccountId) -> list[Id]:
    """Return the follower or list ids of one author, read pass by pass."""
    cursor: PassCursor | None = FIRST_PASS
    ids: list[Id] = []
    while cursor is not None:
        page = await next_pass(author_id, cursor, OWNERS_PER_PASS)
        ids += page.ids
        cursor = page.next
    return ids
