"""Following: who may follow whom, and what a reader is told about it."""

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from functools import partial

from accounts.domain import Author
from accounts.errors import AccountNotFound
from socialsite.ids import AccountId
from timelines.errors import CannotFollowSelf, FollowingCapReached, FollowRequestsCapReached
from timelines.graph.blocks_and_mutes_repository import BlocksAndMutes
from timelines.graph.follow import Follow, FollowCounts, FollowCursor, FollowPage
from timelines.graph.follow_requests_repository import FollowRequests
from timelines.graph.relation import OPEN_REQUESTS_CAP
from timelines.graph.repository import Follows
from timelines.notifications.pending import TrackPending, track_nothing
from timelines.notifications.pending_repository import PendingNotification
from timelines.ports import Authors, FollowNotifier, HomeTimelines
from timelines.visibility.accounts import ReadPage, load_visible_page


class FollowingService:
    """`cap` is how many an account may follow; as many more as there are concurrent requests may pass it."""

    def __init__(
        self,
        *,
        follows: Follows,
        blocks_and_mutes: BlocksAndMutes,
        follow_requests: FollowRequests,
        accounts: Authors,
        homes: HomeTimelines,
        following_cap: int,
        open_requests_cap: int = OPEN_REQUESTS_CAP,
        notifications: FollowNotifier | None = None,
        track_pending: TrackPending = track_nothing,
    ) -> None:
        self._follows = follows
        self._relations = blocks_and_mutes
        self._requests = follow_requests
        self._accounts = accounts
        self._homes = homes
        self._cap = following_cap
        self._requested_cap = open_requests_cap
        self._notices = notifications
        self._owing = track_pending

    async def follow(self, *, follower_id: AccountId, followed_id: AccountId, now_ms: int) -> bool:
        """Start following; the posts of `followed_id` appear in the home. False: they did already.

        A private account is asked first, which is False, too: RelationsService.relation says `requested`.
        """
        if follower_id == followed_id:
            raise CannotFollowSelf
        followed = await self._met(follower_id, followed_id)
        if await self._follows.following_count(follower_id) >= self._cap:
            return await self._repeated(follower_id, followed_id)
        if followed.private and not await self._follows.is_following(follower_id, followed_id):
            await self._ask(follower_id, followed_id, now_ms)
            return False
        async with self._owing(PendingNotification("follow", follower_id, followed_id)):
            async with self._changing_home_of(follower_id):
                is_new = await self._add(Follow(follower_id, followed_id, now_ms))
            if is_new and self._notices is not None:
                await self._notices.followed(follower_id=follower_id, followed_id=followed_id)
        return is_new

    async def unfollow(self, *, follower_id: AccountId, followed_id: AccountId) -> bool:
        """Stop following, or asking to; their posts leave the home timeline. False: was not following."""
        await self._requests.remove(follower_id, followed_id)
        async with self._changing_home_of(follower_id):
            return await self._follows.remove(follower_id, followed_id)

    async def is_following(self, follower_id: AccountId, followed_id: AccountId) -> bool:
        return await self._follows.is_following(follower_id, followed_id)

    async def followed_among(self, viewer_id: AccountId, ids: Collection[AccountId]) -> set[AccountId]:
        """Those of `ids` that the viewer follows: one question for a whole page."""
        return await self._follows.followed_among(viewer_id, ids)

    async def counts(self, account_id: AccountId) -> FollowCounts:
        """Counted from the edges; suspended accounts count on, as their follows stand on."""
        return await self._follows.counts(account_id)

    async def followers(
        self,
        account_id: AccountId,
        *,
        viewer_id: AccountId | None = None,
        cursor: FollowCursor | None = None,
        limit: int = 30,
    ) -> FollowPage:
        """Newest followers first, without those that a block keeps from the viewer."""
        return await self._page(partial(self._follows.followers, account_id), viewer_id, cursor, limit)

    async def following(
        self,
        account_id: AccountId,
        *,
        viewer_id: AccountId | None = None,
        cursor: FollowCursor | None = None,
        limit: int = 30,
    ) -> FollowPage:
        """The accounts followed last first, without those that a block keeps from the viewer."""
        return await self._page(partial(self._follows.following, account_id), viewer_id, cursor, limit)

    async def _page(
        self, read: ReadPage, viewer_id: AccountId | None, cursor: FollowCursor | None, limit: int
    ) -> FollowPage:
        apart = None if viewer_id is None else partial(self._relations.blocked_either_way, viewer_id)
        return await load_visible_page(self._accounts, read, cursor, limit, apart)

    async def _repeated(self, follower_id: AccountId, followed_id: AccountId) -> bool:
        """At the cap, a follow that stands already is no error, but a new one is."""
        if not await self._follows.is_following(follower_id, followed_id):
            raise FollowingCapReached
        await self._homes.invalidate(follower_id)
        return False

    async def _add(self, follow: Follow) -> bool:
        """Add the edge, look again: who was deleted or blocked meanwhile may be swept of edges already."""
        if not await self._follows.add(follow):
            return False
        try:
            followed = await self._met(follow.follower_id, follow.followed_id)
        except AccountNotFound:
            await self._follows.remove(follow.follower_id, follow.followed_id)
            raise
        if followed.private:
            await self._follows.remove(follow.follower_id, follow.followed_id)
            await self._ask(follow.follower_id, follow.followed_id, follow.at_ms)
            return False
        await self._requests.remove(follow.follower_id, follow.followed_id)
        return True

    async def _met(self, follower_id: AccountId, followed_id: AccountId) -> Author:
        """The one to be followed. Raises AccountNotFound where one is not there, or a block between them."""
        authors = await self._accounts.find_authors([follower_id, followed_id])
        if not all(id in authors and authors[id].is_visible for id in (follower_id, followed_id)):
            raise AccountNotFound
        if await self._relations.blocked_either_way(follower_id, [followed_id]):
            raise AccountNotFound
        return authors[followed_id]

    async def _ask(self, requester_id: AccountId, target_id: AccountId, now_ms: int) -> None:
        """Leave a request, look again: a block meanwhile may have swept it already."""
        is_full = await self._requests.count_made_by(requester_id) >= self._requested_cap
        if is_full and not await self._requests.is_asking(requester_id, target_id):
            raise FollowRequestsCapReached
        async with self._owing(PendingNotification("request", requester_id, target_id)):
            is_new = await self._requests.add(requester_id, target_id, now_ms)
            try:
                await self._met(requester_id, target_id)
            except AccountNotFound:
                await self._requests.remove(requester_id, target_id)
                raise
            if is_new and self._notices is not None:
                await self._notices.follow_requested(requester_id=requester_id, target_id=target_id)

    @asynccontextmanager
    async def _changing_home_of(self, account_id: AccountId) -> AsyncIterator[None]:
        """Forget the home before and after, also when nothing changed: the next read rebuilds it.

        So a rebuild under way is defeated, and repeating a follow mends what a crash between left stale.
        """
        await self._homes.invalidate(account_id)
        try:
            yield
        finally:
            await self._homes.invalidate(account_id)
