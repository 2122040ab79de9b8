"""Adds a post to its author's timeline and home, the public and hashtag timelines and the replies of its parent.

Publishing does this before the response, and the worker repeats it. Each step may be repeated.
"""

from collections.abc import Awaitable, Sequence

from socialsite.concurrency import run_all_to_end, run_together
from socialsite.ids import PostId
from socialsite.service import Part
from timelines.author_timelines.hashtag_timelines import HashtagTimelines
from timelines.author_timelines.repository import AuthorTimelineRepository, PublicTimelineRepository
from timelines.cached_timelines.repository import CachedTimelines
from timelines.pins.repository import Pins
from timelines.posts.post import Post
from timelines.posts.quotes import QuoteRepository
from timelines.posts.replies import ReplyRepository
from timelines.posts.repository import PostRepository
from timelines.posts.stored_values import PostState
from timelines.search.indexing import SearchIndexer


class TimelineWriter(Part):
    """Adds a stored post to the timelines, or removes a deleted post from them."""

    posts: PostRepository
    author_timelines: AuthorTimelineRepository
    public_timeline: PublicTimelineRepository
    hashtag_timelines: HashtagTimelines
    homes: CachedTimelines
    search_indexer: SearchIndexer
    replies: ReplyRepository
    pins: Pins
    quotes: QuoteRepository

    async def add(self, post: Post, *, is_repeat: bool = False) -> None:
        """Add the post to the timelines.

        Call `still_exists` afterwards, since a concurrent deletion may have run before the post was added. Set
        `is_repeat` if the post may have been added before. Then the author's home is searched for the post first.
        """
        add_to_home = self.homes.insert if is_repeat else self.homes.push
        additions: list[Awaitable[object]] = [
            self.author_timelines.add(post.author_id, post.id),
            add_to_home([post.author_id], post.id),
        ]
        if post.is_discoverable:
            additions.append(self.public_timeline.add(post.id))
            additions.append(self.hashtag_timelines.add([post]))
        await run_together(*additions, self._add_to_parent(post))

    async def still_exists(self, post: Post) -> bool:
        """Return whether the post still exists.

        If the post was deleted meanwhile, remove it from all timelines. If it was edited meanwhile, call `update`.
        """
        state = await self.posts.find_state(post.id)
        if state is PostState.DELETED:
            await self.remove(post)
            return False
        if isinstance(state, Post) and state.extra.version != post.extra.version:
            return bool(await self.update(post.id))
        return True

    async def update(self, post_id: PostId) -> list[Post]:
        """Update hashtag timelines and search to the newest version of an edited post.

        Returns all versions, oldest first, or an empty list if the post was deleted. If another edit is stored
        meanwhile, the update is repeated, so that no call leaves the hashtags of an earlier version.
        """
        while versions := await self.posts.find_versions(post_id):
            *former, post = versions
            if post.is_discoverable:
                await run_together(
                    self.hashtag_timelines.add([post]),
                    self.hashtag_timelines.remove(*former, keep=post),
                    self.search_indexer.add_or_defer(post, former),
                )
            state = await self.posts.find_state(post_id)
            if not isinstance(state, Post):
                await self.remove(post, former)
            elif state.extra.version == post.extra.version:
                return versions
        return []

    async def remove(self, post: Post, former: Sequence[Post] = ()) -> None:
        """Remove a post whose tombstone is stored, and its former versions. Homes keep its id, and readers skip it."""
        await run_all_to_end(
            self.author_timelines.remove(post.author_id, post.id),
            self.public_timeline.remove(post.id),
            self.hashtag_timelines.remove(post, *former),
            self.search_indexer.remove_post(post, *former),
            self._remove_from_parent(post),
            self.pins.remove(post.author_id, [post.id]),
            self.quotes.remove(post),
        )

    async def _add_to_parent(self, post: Post) -> None:
        if post.in_reply_to is not None:
            await self.replies.add_reply(post.in_reply_to, post.id)

    async def _remove_from_parent(self, post: Post) -> None:
        if post.in_reply_to is not None:
            if await self.replies.has_replies(post.id):
                await self.replies.add_deleted_reply(post.in_reply_to, post.id)
            await self.posts.remove_reply(post.in_reply_to, post.id)
