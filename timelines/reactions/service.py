"""Likes, boosts and bookmarks: what a reader does with a post. Acting on a boost acts on its original.

Doing it takes the right to see the post; taking it back takes none. Repeating changes nothing and mends what
a crash left half done. Every answer is the original with its counts as they are now.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from accounts.domain import Author
from socialsite.ids import AccountId, PostId, TimeSource
from socialsite.limits import ActionLimits, Caller
from socialsite.store import Store
from timelines.errors import NotBoostable, PostNotFound
from timelines.graph.follow import FollowCursor, FollowPage
from timelines.notifications.pending import PendingNotification, TrackPending
from timelines.pages.page import DEFAULT_LIMIT, HydratedPost
from timelines.ports import AuthorReads, ReactionNotifier
from timelines.posts.post import Post
from timelines.posts.repository import PostRepository
from timelines.publishing.post_writer import PostAnnouncer
from timelines.reactions.bookmark_cursor import BookmarkCursor, BookmarksPage
from timelines.reactions.bookmark_repository import Bookmarks
from timelines.reactions.bookmarks import bookmarks_page
from timelines.reactions.boosting import BoostService
from timelines.reactions.repository import PostGone, ReactionKind, Reactions
from timelines.reading.pipeline import ReadPipeline
from timelines.reading.viewer_rights import ViewerContext
from timelines.visibility.accounts import FindBlocked, load_visible_page
from timelines.visibility.rights import ViewContext, may_boost
from timelines.visibility.viewer_state import read_viewer_relations


@dataclass(kw_only=True, slots=True)
class ReactionsService:
    """`check_room` raises StoreFull: nothing new is taken where memory ends."""

    reactions: Reactions
    bookmark_repository: Bookmarks
    boosts: BoostService
    pipeline: ReadPipeline
    posts: PostRepository
    visible_accounts: "VisibleAccounts"
    live: PostAnnouncer
    notifications: ReactionNotifier
    track_pending: TrackPending
    check_room: Callable[[], Awaitable[None]]
    limits: ActionLimits

    async def like(self, *, account_id: AccountId, post_id: PostId, now_ms: int) -> HydratedPost:
        """Raises PostNotFound where the post is hidden or gone."""
        original = (await self._seen_by(post_id, account_id)).post
        await self.check_room()
        async with self.track_pending(PendingNotification("like", account_id, original.author_id, original.id)):
            try:
                await self.reactions.add(ReactionKind.LIKE, original.id, account_id, now_ms)
            except PostGone as gone:
                raise PostNotFound from gone
            await self.reactions.sync_index(ReactionKind.LIKE, original.id, account_id)
            await self.notifications.liked(account_id=account_id, post=original, now_ms=now_ms)
        await self.live.counts_changed(original.id)
        return await self._seen_by(original.id, account_id)

    async def unlike(self, *, account_id: AccountId, post_id: PostId) -> HydratedPost:
        """Raises PostNotFound where the post is hidden or gone: the like is gone all the same."""
        original = await self._original(post_id)
        await self.reactions.remove(ReactionKind.LIKE, original.id, account_id)
        await self.reactions.sync_index(ReactionKind.LIKE, original.id, account_id)
        await self.live.counts_changed(original.id)
        return await self._seen_by(original.id, account_id)

    async def boost(
        self, *, account_id: AccountId, post_id: PostId, now_ms: int, caller: Caller | None = None
    ) -> HydratedPost:
        """Boost a post. It counts as a post of the caller, because it is delivered to as many homes.

        Raises NotBoostable if not everybody may see the post, PostNotFound, RateLimited, StoreFull, PostUnconfirmed.
        """
        async with self.limits.refundable(caller, "post"):
            entry = await self._seen_by(post_id, account_id)
            await self.check_room()
            is_boosted = entry.viewer is not None and entry.viewer.boosted
            if not is_boosted and not may_boost(entry.post, entry.author):
                raise NotBoostable
            await self.boosts.boost(account_id, entry.post, now_ms)
            return await self._seen_by(entry.post.id, account_id)

    async def unboost(self, *, account_id: AccountId, post_id: PostId) -> HydratedPost:
        """Raises PostNotFound as unlike does."""
        original = await self._original(post_id)
        await self.boosts.unboost(account_id, original.id)
        return await self._seen_by(original.id, account_id)

    async def bookmark(self, *, account_id: AccountId, post_id: PostId, now_ms: int) -> HydratedPost:
        """For oneself alone: nobody is told. Raises PostNotFound, StoreFull."""
        original = (await self._seen_by(post_id, account_id)).post
        await self.check_room()
        await self.bookmark_repository.add(account_id, original.id, now_ms)
        return await self._seen_by(original.id, account_id)

    async def unbookmark(self, *, account_id: AccountId, post_id: PostId) -> HydratedPost:
        """Raises PostNotFound as unlike does."""
        post = await self.posts.find(post_id)
        original_id = post.shown_id if post else post_id
        await self.bookmark_repository.remove(account_id, original_id)
        return await self._seen_by(original_id, account_id)

    async def bookmarks(
        self, account_id: AccountId, *, cursor: BookmarkCursor | None = None, limit: int = DEFAULT_LIMIT
    ) -> BookmarksPage:
        """The last bookmarked first."""
        return await bookmarks_page(self.bookmark_repository, self.pipeline, account_id, cursor, limit)

    async def likers(
        self,
        post_id: PostId,
        *,
        viewer_id: AccountId | None,
        cursor: FollowCursor | None = None,
        limit: int = DEFAULT_LIMIT,
    ) -> FollowPage:
        """Who likes the post, the last first; who is hidden from the viewer is left out."""
        return await self._accounts(ReactionKind.LIKE, post_id, viewer_id, cursor, limit)

    async def boosters(
        self,
        post_id: PostId,
        *,
        viewer_id: AccountId | None,
        cursor: FollowCursor | None = None,
        limit: int = DEFAULT_LIMIT,
    ) -> FollowPage:
        """As likers. A boost is a post: those of private accounts are told to their followers alone."""
        apart = partial(self._unfollowed_private, viewer_id)
        return await self._accounts(ReactionKind.BOOST, post_id, viewer_id, cursor, limit, apart)

    async def purge(self, account_id: AccountId, limit: int) -> bool:
        """One round of taking back all that a deleted account did; True while something may be left."""
        await self.bookmark_repository.delete_all(account_id)
        likes = await self.reactions.reacted_post_ids(ReactionKind.LIKE, account_id, limit)
        for post_id in likes:
            await self.reactions.remove(ReactionKind.LIKE, post_id, account_id)
        await self.reactions.remove_from_index(ReactionKind.LIKE, account_id, likes)
        boosts = await self.reactions.reacted_post_ids(ReactionKind.BOOST, account_id, limit)
        for post_id in boosts:
            await self.boosts.unboost(account_id, post_id)
        return bool(likes or boosts)

    async def _accounts(
        self,
        kind: ReactionKind,
        post_id: PostId,
        viewer_id: AccountId | None,
        cursor: FollowCursor | None,
        limit: int,
        apart: FindBlocked | None = None,
    ) -> FollowPage:
        entry = await self._seen_by(post_id, viewer_id)
        read = partial(self.reactions.accounts, kind, entry.post.id)
        return await load_visible_page(self.visible_accounts.for_viewer(viewer_id), read, cursor, limit, apart)

    async def _unfollowed_private(self, viewer_id: AccountId | None, ids: Iterable[AccountId]) -> set[AccountId]:
        authors = await self.visible_accounts.authors(ids, viewer_id)
        private = {id for id, author in authors.items() if author.private and id != viewer_id}
        if not private or viewer_id is None:
            return private
        return private - await self.pipeline.sources.follows.followed_among(viewer_id, private)

    async def _seen_by(self, post_id: PostId, viewer_id: AccountId | None) -> HydratedPost:
        """The original as the reader may see it. Raises PostNotFound."""
        found = await self.pipeline.read_posts([post_id], ViewerContext(viewer_id, ViewContext.POST))
        if not found:
            raise PostNotFound
        return found[0].shown

    async def _original(self, post_id: PostId) -> Post:
        """Whoever may see it: to take something back. Raises PostNotFound."""
        post = await self.posts.find(post_id)
        if post is not None and post.boost_of is not None:
            post = await self.posts.find(post.boost_of)
        if post is None:
            raise PostNotFound
        return post


@dataclass(slots=True)
class VisibleAccounts:
    """Accounts as a viewer may see them in a row of names: blocked, blocking and muted ones are left out."""

    store: Store
    accounts: AuthorReads
    clock: TimeSource

    def for_viewer(self, viewer_id: AccountId | None) -> "ViewerAccounts":
        return ViewerAccounts(self, viewer_id)

    async def authors(self, ids: Iterable[AccountId], viewer_id: AccountId | None) -> Mapping[AccountId, Author]:
        asked = list(ids)
        authors = self.accounts.read_authors(asked)
        if viewer_id is None:
            everybody: Mapping[AccountId, Author] = (await self.store.read(authors))[0]
            return everybody
        state = read_viewer_relations(viewer_id, (), asked, self.clock.now_ms())
        found, reader = await self.store.read(authors, state)
        hidden = reader.blocks | reader.blocked_by | reader.muted
        return {id: author for id, author in found.items() if id not in hidden}


class ViewerAccounts:
    """The port that pages of accounts are read through."""

    def __init__(self, seen: VisibleAccounts, viewer_id: AccountId | None) -> None:
        self._seen = seen
        self._viewer_id = viewer_id

    async def find_authors(self, ids: Iterable[AccountId]) -> Mapping[AccountId, Author]:
        return await self._seen.authors(ids, self._viewer_id)
