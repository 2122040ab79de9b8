"""Where a post stands besides its own key: its author's profile and home, public, tags, parent's replies.

Publish does it before it answers, the worker repeats it: every step may run any number of times.
"""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass

from timelines.author_feeds.hashtag_timelines import HashtagTimelines
from timelines.author_feeds.repository import AuthorFeedRepository, PublicTimelineRepository
from timelines.cached_timelines.repository import CachedTimelines
from timelines.posts.post import Post
from timelines.posts.replies import ReplyRepository
from timelines.posts.repository import PostRepository
from timelines.posts.stored_values import PostState
from timelines.search.indexing import SearchIndexer


@dataclass(kw_only=True, slots=True)
class AuthorTimelines:
    """Puts a stored post into its author's own timelines, or takes a deleted one out."""

    posts: PostRepository
    author_feeds: AuthorFeedRepository
    public_timeline: PublicTimelineRepository
    hashtag_timelines: HashtagTimelines
    homes: CachedTimelines
    search_indexer: SearchIndexer
    replies: ReplyRepository

    async def add(self, post: Post, *, is_repeat: bool = False) -> None:
        """`still_exists` has to follow: a delete on the way would have found nothing to take out.

        `is_repeat`: somebody may have placed it before, so the author's home is looked through first.
        """
        into_home = self.homes.insert if is_repeat else self.homes.push
        places: list[Awaitable[object]] = [
            self.author_feeds.add(post.author_id, post.id),
            into_home([post.author_id], post.id),
        ]
        if post.is_discoverable:
            places.append(self.public_timeline.add(post.id))
            places.append(self.hashtag_timelines.add([post]))
        await asyncio.gather(*places, self._add_to_parent(post))

    async def still_exists(self, post: Post) -> bool:
        """False where the post was deleted meanwhile; then nothing of it is left in a source."""
        if await self.posts.find_state(post.id) is PostState.DELETED:
            await self.remove(post)
            return False
        return True

    async def remove(self, post: Post) -> None:
        """After the tombstone stands. Homes keep the id: readers meet the tombstone."""
        await asyncio.gather(
            self.author_feeds.remove(post.author_id, post.id),
            self.public_timeline.remove(post.id),
            self.hashtag_timelines.remove(post),
            self.search_indexer.remove_post(post),
            self._remove_from_parent(post),
        )

    async def _add_to_parent(self, post: Post) -> None:
        if post.in_reply_to is not None:
            await self.replies.add_reply(post.in_reply_to, post.id)

    async def _remove_from_parent(self, post: Post) -> None:
        if post.in_reply_to is not None:
            if await self.replies.has_replies(post.id):
                await self.replies.add_deleted_reply(post.in_reply_to, post.id)
            await self.posts.remove_reply(post.in_reply_to, post.id)
