"""Finds the cached timelines that contain posts of given authors: homes of their followers, and lists."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from socialsite.batches import batches
from socialsite.concurrency import run_together
from socialsite.ids import AccountId
from timelines.cached_timelines.repository import CachedTimelines
from timelines.graph.repository import Follows
from timelines.ids import ListId
from timelines.lists.repository import ListMembers

OWNERS_PER_PASS = 1_000
AUTHORS_PER_BATCH = 32


@dataclass(slots=True)
class AffectedTimelines:
    """Deletes cached timelines, so that the next read rebuilds them from the author timelines."""

    follows: Follows
    members: ListMembers
    homes: CachedTimelines
    list_timelines: CachedTimelines

    async def of_authors(self, author_ids: Collection[AccountId]) -> "AffectedIds":
        """Return the owners of the affected homes (authors and followers), and the lists with an author as a member."""
        owners, lists = set(author_ids), set[ListId]()
        for batch in batches(author_ids, AUTHORS_PER_BATCH):
            followers, listed_on = await run_together(
                self.follows.followers_of_many(batch), self.members.lists_with_accounts(batch)
            )
            owners |= followers
            lists |= listed_on
        return AffectedIds(self, sorted(owners), sorted(lists))

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
