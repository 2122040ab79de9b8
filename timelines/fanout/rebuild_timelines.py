"""Rebuilds caches from their sources on an operator's command: homes, list timelines, public timeline, hashtags.

Normal operation does not need this, because a reader rebuilds an absent timeline. Use it if caches are lost, or if
they are outdated after an import, a restore or a repaired fault.
"""

from collections.abc import AsyncIterator, Sequence
from itertools import chain

from socialsite.batches import batches
from socialsite.ids import AccountId, PostId
from socialsite.service import Part
from timelines.author_timelines.hashtag_timelines import HashtagTimelines
from timelines.author_timelines.merging import merge_nearest
from timelines.author_timelines.repository import AuthorTimelineRepository, PublicTimelineRepository
from timelines.cached_timelines.repository import CachedTimelines
from timelines.ids import ListId
from timelines.lists.service import ListService
from timelines.pages.page import ABOVE_ALL_IDS
from timelines.posts.post import Post
from timelines.posts.repository import PostRepository
from timelines.reading.service import ReadingService
from timelines.search.indexing import SearchIndexer

ACCOUNTS_PER_BATCH = 500
POSTS_PER_AUTHOR = 100  # posts of one account in one read
POSTS_PER_BATCH = 500


class RebuildService(Part):
    """Invalidates caches and rebuilds them. A rebuild may be repeated, and may run while the site serves requests."""

    reading: ReadingService
    homes: CachedTimelines
    lists: ListService
    profiles: AuthorTimelineRepository
    public: PublicTimelineRepository
    tags: HashtagTimelines
    posts: PostRepository
    indexing: SearchIndexer
    public_cap: int

    async def rebuild(self, account_id: AccountId) -> int:
        """Rebuild the home and list timelines of an account. Return the number of timelines."""
        await self.homes.invalidate(account_id)
        await self.reading.home_skeleton(account_id).rebuild()
        lists = await self.lists.repository.find_many(await self.lists.repository.owned_ids(account_id))
        list_ids = [each.id for each in lists if each is not None and each.operation is None]
        for list_id in list_ids:
            await self._rebuild_list(list_id)
        return 1 + len(list_ids)

    async def rebuild_cached(self, account_ids: Sequence[AccountId]) -> int:
        """Rebuild only the timelines of the accounts that are cached. Return the number of timelines."""
        rebuilt = 0
        for account_id in account_ids:
            if await self.homes.is_cached(account_id):
                await self.homes.invalidate(account_id)
                await self.reading.home_skeleton(account_id).rebuild()
                rebuilt += 1
            for list_id in await self.lists.repository.owned_ids(account_id):
                if await self.lists.timelines.is_cached(list_id):
                    await self._rebuild_list(list_id)
                    rebuilt += 1
        return rebuilt

    async def rebuild_public(self, account_ids: Sequence[AccountId]) -> int:
        """Rebuild the public timeline from the newest posts of these authors. Return the number of entries."""
        stale = await self.public.read(ABOVE_ALL_IDS, 2 * self.public_cap, upward=False)
        ids = await self._newest_listed(account_ids)
        await self.public.replace(stale, ids)
        return len(ids)

    async def _newest_listed(self, account_ids: Sequence[AccountId]) -> list[PostId]:
        """Return the newest public posts. Author timelines also have unlisted posts, boosts and posts for followers."""
        listed: list[PostId] = []
        edge = ABOVE_ALL_IDS
        while len(listed) < self.public_cap:
            ids = await merge_nearest(self.profiles, account_ids, edge, self.public_cap)
            for batch in batches(ids, POSTS_PER_BATCH):
                posts = await self.posts.find_many(batch)
                listed += [id for id, post in posts.items() if post.is_discoverable]
            if len(ids) < self.public_cap:
                break
            edge = ids[-1]
        return sorted(listed, reverse=True)[: self.public_cap]

    async def rebuild_tags(self, account_ids: Sequence[AccountId]) -> int:
        """Add the posts of the accounts to the timelines of their hashtags. Return the number of entries.

        It removes no wrong entries, because readers do not see them.
        """
        return sum([await self.tags.add(posts) async for posts in self._discoverable_posts(account_ids)])

    async def rebuild_search(self, account_ids: Sequence[AccountId]) -> int:
        """Add the names and posts of the accounts to the search index. Return the number of posts.

        It removes no wrong entries, because readers do not see them.
        """
        count = 0
        for batch in batches(account_ids, ACCOUNTS_PER_BATCH):
            await self.indexing.update_names(batch)
        async for posts in self._discoverable_posts(account_ids):
            await self.indexing.add_posts(posts)
            count += len(posts)
        return count

    async def _discoverable_posts(self, account_ids: Sequence[AccountId]) -> AsyncIterator[list[Post]]:
        """Yield the posts of the accounts that everybody may find, in lists of at most POSTS_PER_BATCH."""
        for accounts in batches(account_ids, ACCOUNTS_PER_BATCH):
            edges: dict[AccountId, int] = dict.fromkeys(accounts, ABOVE_ALL_IDS)
            while edges:
                reads = [(account_id, edge, POSTS_PER_AUTHOR) for account_id, edge in edges.items()]
                ids_of = dict(zip(edges, await self.profiles.read_many(reads, upward=False), strict=True))
                for ids in batches(chain.from_iterable(ids_of.values()), POSTS_PER_BATCH):
                    yield [post for post in (await self.posts.find_many(ids)).values() if post.is_discoverable]
                edges = {account_id: ids[-1] for account_id, ids in ids_of.items() if len(ids) == POSTS_PER_AUTHOR}

    async def _rebuild_list(self, list_id: ListId) -> None:
        await self.lists.timelines.invalidate(list_id)
        await self.lists.skeleton(list_id).rebuild()
