"""Where a post stands besides its own key: its author's profile and home, public, tags, parent's replies.

Publish does it before it answers, the worker repeats it: every step may run any number of times.
"""

import asyncio
from collections.abc import Awaitable

from timelines.author_feeds.hashtag_timelines import HashtagTimelines
from timelines.author_feeds.repository import AuthorFeedRepository, PublicTimelineRepository
from timelines.cached_timelines.repository import CachedTimelines
from timelines.posts.post import Post
from timelines.posts.replies import ReplyRepository
from timelines.posts.repository import PostRepository
from timelines.posts.stored_values import PostState
from timelines.search.indexing import SearchIndexer


class AuthorTimelines:
    """Puts a stored post into its author's own timelines, or takes a deleted one out."""

    def __init__(
        self,
        *,
        posts: PostRepository,
        profiles: AuthorFeedRepository,
        public: PublicTimelineRepository,
        tags: HashtagTimelines,
        homes: CachedTimelines,
        indexing: SearchIndexer,
        threads: ReplyRepository,
    ) -> None:
        self._posts = posts
        self._author_feeds = profiles
        self._public_timeline = public
        self._hashtag_timelines = tags
        self._homes = homes
        self._search_indexer = indexing
        self._replies = threads

    async def add(self, post: Post, *, is_repeat: bool = False) -> None:
        """`still_exists` has to follow: a delete on the way would have found nothing to take out.

        `is_repeat`: somebody may have placed it before, so the author's home is looked through first.
        """
        into_home = self._homes.insert if is_repeat else self._homes.push
        places: list[Awaitable[object]] = [
            self._author_feeds.add(post.author_id, post.id),
            into_home([post.author_id], post.id),
        ]
        if post.is_discoverable:
            places.append(self._public_timeline.add(post.id))
            places.append(self._hashtag_timelines.add([post]))
        await asyncio.gather(*places, self._add_to_parent(post))

    async def still_exists(self, post: Post) -> bool:
        """False where the post was deleted meanwhile; then nothing of it is left in a source."""
        if await self._posts.find_state(post.id) is PostState.DELETED:
            await self.remove(post)
            return False
        return True

    async def remove(self, post: Post) -> None:
        """After the tombstone stands. Homes keep the id: readers meet the tombstone."""
        await asyncio.gather(
            self._author_feeds.remove(post.author_id, post.id),
            self._public_timeline.remove(post.id),
            self._hashtag_timelines.remove(post),
            self._search_indexer.remove_post(post),
            self._remove_from_parent(post),
        )

    async def _add_to_parent(self, post: Post) -> None:
        if post.in_reply_to is not None:
            await self._replies.add_reply(post.in_reply_to, post.id)

    async def _remove_from_parent(self, post: Post) -> None:
        if post.in_reply_to is not None:
            if await self._replies.has_replies(post.id):
                await self._replies.add_deleted_reply(post.in_reply_to, post.id)
            await self._posts.remove_reply(post.in_reply_to, post.id)
