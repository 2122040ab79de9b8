"""Where a post stands besides its own key: its author's profile and home, public, tags, parent's replies.

Publish does it before it answers, the worker repeats it: every step may run any number of times.
"""

import asyncio
from collections.abc import Awaitable

from timelines.author_feeds.repository import AuthorFeedRepository, PublicTimelineRepository
from timelines.cached_timelines.repository import CachedTimelines
from timelines.hashtags.repository import HashtagTimelines
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
        self._profiles = profiles
        self._public = public
        self._tags = tags
        self._homes = homes
        self._indexing = indexing
        self._threads = threads

    async def add(self, post: Post, *, repeated: bool = False) -> None:
        """`still_exists` has to follow: a delete on the way would have found nothing to take out.

        `repeated`: somebody may have placed it before, so the author's home is looked through first.
        """
        into_home = self._homes.insert if repeated else self._homes.push
        places: list[Awaitable[object]] = [
            self._profiles.add(post.author_id, post.id),
            into_home([post.author_id], post.id),
        ]
        if post.is_listed:
            places.append(self._public.add(post.id))
            places.append(self._tags.add([post]))
        await asyncio.gather(*places, self._link(post))

    async def still_exists(self, post: Post) -> bool:
        """False where the post was deleted meanwhile; then nothing of it is left in a source."""
        if await self._posts.find_state(post.id) is PostState.DELETED:
            await self.remove(post)
            return False
        return True

    async def remove(self, post: Post) -> None:
        """After the tombstone stands. Homes keep the id: readers meet the tombstone."""
        await asyncio.gather(
            self._profiles.remove(post.author_id, post.id),
            self._public.remove(post.id),
            self._tags.remove(post),
            self._indexing.remove(post),
            self._unlink(post),
        )

    async def _link(self, post: Post) -> None:
        if post.in_reply_to is not None:
            await self._threads.add_reply(post.in_reply_to, post.id)

    async def _unlink(self, post: Post) -> None:
        if post.in_reply_to is not None:
            if await self._threads.has_replies(post.id):
                await self._threads.add_deleted_reply(post.in_reply_to, post.id)
            await self._posts.remove_reply(post.in_reply_to, post.id)
