"""Adds a post to its author's feed and home, the public and hashtag timelines and the replies of its parent.

Publishing does this before the response, and the worker repeats it. Each step may be repeated.
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
    """Adds a stored post to the timelines, or removes a deleted post from them."""

    posts: PostRepository
    author_feeds: AuthorFeedRepository
    public_timeline: PublicTimelineRepository
    hashtag_timelines: HashtagTimelines
    homes: CachedTimelines
    search_indexer: SearchIndexer
    replies: ReplyRepository

    async def add(self, post: Post, *, is_repeat: bool = False) -> None:
        """Add the post to the timelines.

        Call `still_exists` afterwards, since a concurrent deletion may have run before the post was added. Set
        `is_repeat` if the post may have been added before. Then the author's home is searched for the post first.
        """
        add_to_home = self.homes.insert if is_repeat else self.homes.push
        additions: list[Awaitable[object]] = [
            self.author_feeds.add(post.author_id, post.id),
            add_to_home([post.author_id], post.id),
        ]
        if post.is_discoverable:
            additions.append(self.public_timeline.add(post.id))
            additions.append(self.hashtag_timelines.add([post]))
        await asyncio.gather(*additions, self._add_to_parent(post))

    async def still_exists(self, post: Post) -> bool:
        """Return whether the post still exists. If it was deleted meanwhile, remove it from all timelines."""
        if await self.posts.find_state(post.id) is PostState.DELETED:
            await self.remove(post)
            return False
        return True

    async def remove(self, post: Post) -> None:
        """Remove a post whose tombstone is stored. Homes keep its id, and readers skip it."""
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
