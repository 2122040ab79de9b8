"""Rebuilding caches from their sources, on an operator's word: homes, list timelines, public, tags.

Nothing needs it in normal work (an absent home is rebuilt by its next reader); it is for caches that were
lost, or that an import, a restore or a mended fault has left behind.
"""

from collections.abc import Sequence

from socialsite.ids import AccountId, PostId
from timelines.author_feeds.merging import merge_nearest
from timelines.author_feeds.repository import (
    AuthorFeedRepository,
    PublicTimelineRepository,
)
from timelines.cached_timelines.repository import CachedTimelines
from timelines.hashtags.repository import HashtagTimelines
from timelines.ids import ListId
from timelines.lists.repository import Lists
from timelines.pages.page import ABOVE_ALL_IDS
from timelines.posts.repository import PostRepository
from timelines.reading.service import ReadingService
from timelines.search.indexing import SearchIndexer

POSTS_AT_ONCE = 500


class RebuildService:
    """Forgets caches and builds them anew; safe to repeat, and while the site serves."""

    def __init__(
        self,
        *,
        reading: ReadingService,
        homes: CachedTimelines,
        list_timelines: CachedTimelines,
        lists: Lists,
        profiles: AuthorFeedRepository,
        public: PublicTimelineRepository,
        tags: HashtagTimelines,
        posts: PostRepository,
        indexing: SearchIndexer,
        public_cap: int,
    ) -> None:
        self._reading = reading
        self._homes = homes
        self._list_timelines = list_timelines
        self._lists = lists
        self._profiles = profiles
        self._public = public
        self._tags = tags
        self._posts = posts
        self._indexing = indexing
        self._public_cap = public_cap

    async def rebuild(self, account_id: AccountId) -> int:
        """The account's home and list timelines, built now; the number of timelines."""
        await self._homes.invalidate(account_id)
        await self._reading.home_skeleton(account_id).rebuild()
        lists = await self._lists.find_many(await self._lists.owned_ids(account_id))
        list_ids = [each.id for each in lists if each is not None and each.operation is None]
        for list_id in list_ids:
            await self._rebuild_list(list_id)
        return 1 + len(list_ids)

    async def rebuild_cached(self, account_id: AccountId) -> int:
        """The same, of what is cached at all: nobody waits for the others."""
        rebuilt = 0
        if await self._homes.is_cached(account_id):
            await self._homes.invalidate(account_id)
            await self._reading.home_skeleton(account_id).rebuild()
            rebuilt += 1
        for list_id in await self._lists.owned_ids(account_id):
            if await self._list_timelines.is_cached(list_id):
                await self._rebuild_list(list_id)
                rebuilt += 1
        return rebuilt

    async def rebuild_public(self, account_ids: Sequence[AccountId]) -> int:
        """The newest posts of all these authors; the number of entries."""
        stale = await self._public.read(ABOVE_ALL_IDS, 2 * self._public_cap, upward=False)
        ids = await self._newest_listed(account_ids)
        await self._public.replace(stale, ids)
        return len(ids)

    async def _newest_listed(self, account_ids: Sequence[AccountId]) -> list[PostId]:
        """Unlisted posts, boosts and posts for followers stand in the profiles, too: they are passed over."""
        listed: list[PostId] = []
        edge = ABOVE_ALL_IDS
        while len(listed) < self._public_cap:
            ids = await merge_nearest(self._profiles, account_ids, edge, self._public_cap)
            for start in range(0, len(ids), POSTS_AT_ONCE):
                found = await self._posts.find_many(ids[start : start + POSTS_AT_ONCE])
                listed += [id for id, post in found.items() if post.is_discoverable]
            if len(ids) < self._public_cap:
                break
            edge = ids[-1]
        return sorted(listed, reverse=True)[: self._public_cap]

    async def rebuild_tags(self, account_id: AccountId) -> int:
        """The account's posts, put back under their tags; the number of entries.

        Nothing is taken out: what should not be there is hidden from readers.
        """
        entries, edge = 0, ABOVE_ALL_IDS
        while ids := await self._profiles.read(account_id, edge, POSTS_AT_ONCE, upward=False):
            posts = (await self._posts.find_many(ids)).values()
            entries += await self._tags.add([post for post in posts if post.is_discoverable])
            edge = ids[-1]
        return entries

    async def rebuild_search(self, account_id: AccountId) -> int:
        """The account's name and posts, put back into the search index; the number of posts.

        Nothing is taken out: what should not be there is hidden from readers.
        """
        found, edge = 0, ABOVE_ALL_IDS
        await self._indexing.update_names([account_id])
        while ids := await self._profiles.read(account_id, edge, POSTS_AT_ONCE, upward=False):
            posts = (await self._posts.find_many(ids)).values()
            await self._indexing.add_posts(posts)
            found += sum(post.is_discoverable for post in posts)
            edge = ids[-1]
        return found

    async def _rebuild_list(self, list_id: ListId) -> None:
        await self._list_timelines.invalidate(list_id)
        await self._reading.list_skeleton(list_id).rebuild()
