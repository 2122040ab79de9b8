"""The rules of follows, and pages of followers and of followed accounts."""

from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from typing import Unpack

from accounts.accounts.service import AccountService
from accounts.domain import Author
from accounts.errors import AccountNotFound
from socialsite.ids import AccountId
from socialsite.service import Service
from timelines.cached_timelines.repository import CachedTimelines, invalidate_around
from timelines.errors import CannotFollowSelf, FollowingCapReached, FollowRequestsCapReached
from timelines.graph.blocks_and_mutes_repository import BlocksAndMutes
from timelines.graph.follow import OPEN_REQUESTS_CAP, AccountsPart, Follow, FollowCursor, FollowPage
from timelines.graph.follow_requests_repository import FollowRequests
from timelines.graph.repository import Follows
from timelines.notifications.kinds import FOLLOW, REQUEST
from timelines.notifications.pending import PendingNotification, PendingNotificationService
from timelines.visibility.accounts import ReadPage, load_visible_page


class FollowingService(Service):
    """Follows and unfollows accounts. `following_cap` is the number of accounts that an account may follow.

    Concurrent requests can exceed the cap by their number.
    """

    follows: Follows
    blocks_and_mutes: BlocksAndMutes
    follow_requests: FollowRequests
    accounts: AccountService
    homes: CachedTimelines
    following_cap: int
    open_requests_cap: int = OPEN_REQUESTS_CAP
    pending: PendingNotificationService | None = None
    """Writes the notifications. None for an import, which notifies nobody."""

    def __post_init__(self) -> None:
        self.is_following, self.followed_among = self.follows.is_following, self.follows.followed_among
        self.counts = self.follows.counts

    async def follow(self, *, follower_id: AccountId, followed_id: AccountId, now_ms: int) -> bool:
        """Follow an account, so that its posts appear in the home timeline. Return whether the follow is new.

        For a private account, the result is False, and the account receives a follow request.
        """
        if follower_id == followed_id:
            raise CannotFollowSelf
        followed = await self._require_followable(follower_id, followed_id)
        if await self.follows.following_count(follower_id) >= self.following_cap:
            return await self._repeat_at_cap(follower_id, followed_id)
        if followed.private and not await self.follows.is_following(follower_id, followed_id):
            await self._request(follower_id, followed_id, now_ms)
            return False
        async with self._track_pending(PendingNotification(FOLLOW, follower_id, followed_id)):
            async with invalidate_around(self.homes, follower_id):
                is_new = await self._add(Follow(follower_id, followed_id, now_ms))
            if is_new and self.pending is not None:
                await self.pending.notifications.add({followed_id: FOLLOW}, follower_id, since_ms=now_ms)
        return is_new

    async def unfollow(self, *, follower_id: AccountId, followed_id: AccountId) -> bool:
        """Remove a follow or a follow request. Return whether the account was followed."""
        await self.follow_requests.remove(follower_id, followed_id)
        async with invalidate_around(self.homes, follower_id):
            return await self.follows.remove(follower_id, followed_id)

    async def followers(self, account_id: AccountId, **part: Unpack[AccountsPart]) -> FollowPage:
        """Return a page of followers, newest first, without accounts that a block hides from the viewer."""
        return await self._page(partial(self.follows.followers, account_id), **part)

    async def following(self, account_id: AccountId, **part: Unpack[AccountsPart]) -> FollowPage:
        """Return a page of followed accounts, newest first, without accounts that a block hides from the viewer."""
        return await self._page(partial(self.follows.following, account_id), **part)

    async def _page(
        self, read: ReadPage, viewer_id: AccountId | None = None, cursor: FollowCursor | None = None, limit: int = 30
    ) -> FollowPage:
        find_blocked = None if viewer_id is None else partial(self.blocks_and_mutes.blocked_either_way, viewer_id)
        return await load_visible_page(self.accounts, read, cursor, limit, find_blocked)

    async def _repeat_at_cap(self, follower_id: AccountId, followed_id: AccountId) -> bool:
        """Allow a repeated follow at the cap. Raises FollowingCapReached if the follow is new."""
        if not await self.follows.is_following(follower_id, followed_id):
            raise FollowingCapReached
        await self.homes.invalidate(follower_id)
        return False

    async def _add(self, follow: Follow) -> bool:
        """Add the edge, then check both accounts again: a concurrent deletion or block may have missed the edge."""
        if not await self.follows.add(follow):
            return False
        try:
            followed = await self._require_followable(follow.follower_id, follow.followed_id)
        except AccountNotFound:
            await self.follows.remove(follow.follower_id, follow.followed_id)
            raise
        if followed.private:
            await self.follows.remove(follow.follower_id, follow.followed_id)
            await self._request(follow.follower_id, follow.followed_id, follow.at_ms)
            return False
        await self.follow_requests.remove(follow.follower_id, follow.followed_id)
        return True

    def _track_pending(self, cause: PendingNotification) -> AbstractAsyncContextManager[None]:
        return nullcontext() if self.pending is None else self.pending.track(cause)

    async def _require_followable(self, follower_id: AccountId, followed_id: AccountId) -> Author:
        """Return the account to follow. Raises AccountNotFound if either account is not visible or blocks the other."""
        authors = await self.accounts.find_authors([follower_id, followed_id])
        if not all(id in authors and authors[id].is_visible for id in (follower_id, followed_id)):
            raise AccountNotFound
        if await self.blocks_and_mutes.blocked_either_way(follower_id, [followed_id]):
            raise AccountNotFound
        return authors[followed_id]

    async def _request(self, requester_id: AccountId, target_id: AccountId, now_ms: int) -> None:
        """Add a follow request, then check both accounts again: a concurrent block may have missed the request."""
        is_full = await self.follow_requests.count_made_by(requester_id) >= self.open_requests_cap
        if is_full and not await self.follow_requests.is_asking(requester_id, target_id):
            raise FollowRequestsCapReached
        async with self._track_pending(PendingNotification(REQUEST, requester_id, target_id)):
            is_new = await self.follow_requests.add(requester_id, target_id, now_ms)
            try:
                await self._require_followable(requester_id, target_id)
            except AccountNotFound:
                await self.follow_requests.remove(requester_id, target_id)
                raise
            if is_new and self.pending is not None:
                await self.pending.notifications.add({target_id: REQUEST}, requester_id, since_ms=now_ms)
