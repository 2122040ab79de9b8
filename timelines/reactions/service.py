"""Likes, boosts and bookmarks of a reader. An action on a boost applies to its original.

An action requires that the reader may see the post. The undoing of an action does not, as in Mastodon; then the result
has no text and no pictures. A repeated action has no effect, except that it repairs the state after a crash. Each
action returns the original post with its current counts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Unpack

from accounts.accounts.service import AccountService
from accounts.domain import Author
from socialsite.batches import batches
from socialsite.concurrency import run_together
from socialsite.ids import AccountId, PostId, TimeSource
from socialsite.limits import ActionLimits, Caller
from socialsite.recipes.memory_guard import MemoryGuard
from socialsite.service import Service
from socialsite.store import Store
from timelines.errors import NotBoostable, PostNotFound
from timelines.graph.follow import AccountsPart, FollowCursor, FollowPage
from timelines.live_updates.service import LiveService
from timelines.notifications.kinds import LIKE
from timelines.notifications.pending import PendingNotification, PendingNotificationService
from timelines.notifications.service import NotificationService
from timelines.pages.page import DEFAULT_LIMIT, HydratedPost, ViewerState
from timelines.popular.service import PopularPostsService
from timelines.posts.post import Post, PostCounts
from timelines.posts.repository import PostRepository
from timelines.reactions.bookmarks import BookmarkCursor, Bookmarks, BookmarksPage, load_bookmarks_page
from timelines.reactions.boosts import BoostService
from timelines.reactions.repository import PostGone, ReactionKind, Reactions
from timelines.reading.pipeline import ReadPipeline
from timelines.visibility.accounts import FindBlocked, load_visible_page
from timelines.visibility.rights import may_boost
from timelines.visibility.viewer_state import read_viewer_relations

UNDONE_AT_ONCE = 50  # the reactions of a deleted account that share round trips


class ReactionsService(Service):
    reactions: Reactions
    bookmark_repository: Bookmarks
    boosts: BoostService
    pipeline: ReadPipeline
    posts: PostRepository
    store: Store
    accounts: AccountService
    clock: TimeSource
    live: LiveService
    notifications: NotificationService
    pending: PendingNotificationService
    popular: PopularPostsService
    memory: MemoryGuard
    limits: ActionLimits

    async def like(self, *, account_id: AccountId, post_id: PostId, now_ms: int) -> HydratedPost:
        """Like a post. Raises PostNotFound if the post is hidden or deleted, and StoreFull."""
        original = (await self._load_visible(post_id, account_id)).post
        await self.memory.check()
        notification = PendingNotification(LIKE, account_id, original.author_id, original.id)
        async with self.pending.track(notification):
            try:
                _, liked_ms = await self.reactions.add(ReactionKind.LIKE, original.id, account_id, now_ms)
            except PostGone as gone:
                raise PostNotFound from gone
            await self.reactions.sync_index(ReactionKind.LIKE, original.id, account_id)
            await self.notifications.add_if_caused(*notification)
        await run_together(
            self.live.counts_changed(original.id), self.popular.count(account_id, original, liked_ms or now_ms)
        )
        return await self._load_visible(original.id, account_id)

    async def unlike(self, *, account_id: AccountId, post_id: PostId) -> HydratedPost:
        """Undo a like. Raises PostNotFound if the post is deleted, or hidden and not liked."""
        original = await self._load_original(post_id)
        is_undone = await self.reactions.remove(ReactionKind.LIKE, original.id, account_id)
        await self.reactions.sync_index(ReactionKind.LIKE, original.id, account_id)
        await run_together(
            self.live.counts_changed(original.id), self._withdraw(ReactionKind.BOOST, original.id, account_id)
        )
        return await self._load_undone(original, account_id, is_undone=is_undone)

    async def boost(
        self, *, account_id: AccountId, post_id: PostId, now_ms: int, caller: Caller | None = None
    ) -> HydratedPost:
        """Boost a post. The rate limit counts it as a post of the caller, because it is delivered to as many homes.

        Raises NotBoostable if not everybody may see the post, PostNotFound, RateLimited, StoreFull, PostUnconfirmed.
        """
        async with self.limits.refundable(caller, "post"):
            entry = await self._load_visible(post_id, account_id)
            await self.memory.check()
            is_boosted = entry.viewer is not None and entry.viewer.boosted
            if not is_boosted and not may_boost(entry.post, entry.author):
                raise NotBoostable
            await self.boosts.boost(account_id, entry.post, now_ms)
            if not is_boosted:
                await self.popular.count(account_id, entry.post, now_ms)
            return await self._load_visible(entry.post.id, account_id)

    async def unboost(self, *, account_id: AccountId, post_id: PostId) -> HydratedPost:
        """Undo a boost. Raises PostNotFound as `unlike` does."""
        original = await self._load_original(post_id)
        is_undone = await self.reactions.find_score(ReactionKind.BOOST, original.id, account_id) is not None
        await self.boosts.unboost(account_id, original.id)
        await self._withdraw(ReactionKind.LIKE, original.id, account_id)
        return await self._load_undone(original, account_id, is_undone=is_undone)

    async def bookmark(self, *, account_id: AccountId, post_id: PostId, now_ms: int) -> HydratedPost:
        """Bookmark a post, without a notification. Raises PostNotFound and StoreFull."""
        original = (await self._load_visible(post_id, account_id)).post
        await self.memory.check()
        await self.bookmark_repository.add(account_id, original.id, now_ms)
        return await self._load_visible(original.id, account_id)

    async def unbookmark(self, *, account_id: AccountId, post_id: PostId) -> HydratedPost:
        """Remove a bookmark. Raises PostNotFound as `unlike` does."""
        post = await self.posts.find(post_id)
        original_id = post.shown_id if post else post_id
        is_undone = await self.bookmark_repository.remove(account_id, original_id)
        original = await self._load_original(original_id)
        return await self._load_undone(original, account_id, is_undone=is_undone)

    async def bookmarks(
        self, account_id: AccountId, *, cursor: BookmarkCursor | None = None, limit: int = DEFAULT_LIMIT
    ) -> BookmarksPage:
        """Return a page of bookmarked posts. The last bookmarked post comes first."""
        return await load_bookmarks_page(self.bookmark_repository.read, self.pipeline, account_id, cursor, limit)

    async def likes(
        self, account_id: AccountId, *, cursor: BookmarkCursor | None = None, limit: int = DEFAULT_LIMIT
    ) -> BookmarksPage:
        """Return a page of posts that the account likes. The last like comes first."""
        return await load_bookmarks_page(self.reactions.read_likes, self.pipeline, account_id, cursor, limit)

    async def find_boost(self, account_id: AccountId, original_id: PostId) -> HydratedPost | None:
        """Return the account's boost of a post, as the account sees it."""
        boost_id = await self.reactions.find_score(ReactionKind.BOOST, original_id, account_id)
        return None if boost_id is None else await self.pipeline.find_visible(account_id, PostId(boost_id))

    async def likers(self, post_id: PostId, **part: Unpack[AccountsPart]) -> FollowPage:
        """Return the accounts that like the post, without accounts hidden from the viewer.

        The last like comes first.
        """
        return await self._accounts(ReactionKind.LIKE, post_id, **part)

    async def boosters(self, post_id: PostId, **part: Unpack[AccountsPart]) -> FollowPage:
        """Return the accounts that boost the post, as `likers` does.

        A boost is a post, so private and limited boosters are shown to their followers only.
        """
        find_hidden = partial(self._find_unfollowed_private, part.get("viewer_id"))
        return await self._accounts(ReactionKind.BOOST, post_id, find_hidden=find_hidden, **part)

    async def purge(self, account_id: AccountId, limit: int) -> bool:
        """Undo up to `limit` likes and boosts of a deleted account. Return True if reactions may be left."""
        likes = await self.reactions.reacted_post_ids(ReactionKind.LIKE, account_id, limit)
        for batch in batches(likes, UNDONE_AT_ONCE):
            await run_together(*(self.reactions.remove(ReactionKind.LIKE, id, account_id) for id in batch))
        await self.reactions.remove_from_index(ReactionKind.LIKE, account_id, likes)
        boosts = await self.reactions.reacted_post_ids(ReactionKind.BOOST, account_id, limit)
        for batch in batches(boosts, UNDONE_AT_ONCE):
            await run_together(*(self.boosts.unboost(account_id, post_id) for post_id in batch))
        return bool(likes or boosts)

    async def _accounts(
        self,
        kind: ReactionKind,
        post_id: PostId,
        viewer_id: AccountId | None = None,
        cursor: FollowCursor | None = None,
        limit: int = DEFAULT_LIMIT,
        find_hidden: FindBlocked | None = None,
    ) -> FollowPage:
        entry = await self._load_visible(post_id, viewer_id)
        read = partial(self.reactions.accounts, kind, entry.post.id)
        return await load_visible_page(self._visible_to(viewer_id), read, cursor, limit, find_hidden)

    def _visible_to(self, viewer_id: AccountId | None) -> "VisibleAccounts":
        return VisibleAccounts(self.store, self.accounts, self.clock, viewer_id)

    async def _find_unfollowed_private(self, viewer_id: AccountId | None, ids: Iterable[AccountId]) -> set[AccountId]:
        authors = await self._visible_to(viewer_id).find_shown_authors(ids)
        private = {id for id, author in authors.items() if author.followers_only and id != viewer_id}
        if not private or viewer_id is None:
            return private
        return private - await self.pipeline.sources.follows.followed_among(viewer_id, private)

    async def _load_visible(self, post_id: PostId, viewer_id: AccountId | None) -> HydratedPost:
        """Return the original post as the viewer sees it. Raises PostNotFound if the viewer may not see it."""
        return (await self.pipeline.get_visible(viewer_id, post_id)).shown

    async def _load_undone(self, original: Post, account_id: AccountId, *, is_undone: bool) -> HydratedPost:
        """Return the post whose reaction was undone, without its content if the viewer may not see it.

        Raises PostNotFound if it is hidden and nothing was undone.
        """
        try:
            return await self._load_visible(original.id, account_id)
        except PostNotFound:
            author = (await self.accounts.find_authors([original.author_id])).get(original.author_id)
            if not is_undone or author is None:
                raise
            bare = Post(original.id, original.author_id, "")
            return HydratedPost(bare, author, PostCounts(), ViewerState(own=False))

    async def _withdraw(self, other: ReactionKind, post_id: PostId, account_id: AccountId) -> None:
        """Count the account no longer for the post, unless its other reaction remains."""
        if await self.reactions.find_score(other, post_id, account_id) is None:
            await self.popular.withdraw(account_id, post_id)

    async def _load_original(self, post_id: PostId) -> Post:
        """Return the original post without a check of visibility, so that an action can be undone.

        Raises PostNotFound.
        """
        post = await self.posts.find(post_id)
        if post is not None and post.boost_of is not None:
            post = await self.posts.find(post.boost_of)
        if post is None:
            raise PostNotFound
        return post


@dataclass(frozen=True, slots=True)
class VisibleAccounts:
    """Reads the accounts that a viewer may see. Blocked, blocking and muted accounts are left out."""

    store: Store
    accounts: AccountService
    clock: TimeSource
    viewer_id: AccountId | None

    async def find_shown_authors(self, ids: Iterable[AccountId]) -> Mapping[AccountId, Author]:
        account_ids = list(ids)
        if self.viewer_id is None:
            return await self.accounts.find_shown_authors(account_ids)
        relations = read_viewer_relations(self.viewer_id, (), account_ids, self.clock.now_ms())
        authors_by_id, viewer = await self.store.read(self.accounts.read_authors(account_ids), relations)
        hidden = viewer.blocks | viewer.blocked_by | viewer.muted
        return {id: author for id, author in authors_by_id.items() if id not in hidden}
