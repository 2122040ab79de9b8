"""Accepts and refuses requests to follow a private account. FollowingService makes and withdraws the requests.

Requests stay if the account becomes public. Its owner can still accept or refuse them.
"""

from functools import partial

from accounts.accounts.service import AccountService
from accounts.errors import AccountNotFound
from socialsite.ids import AccountId
from socialsite.service import Service
from timelines.cached_timelines.repository import CachedTimelines, invalidate_around
from timelines.errors import RequesterFollowingCapReached
from timelines.graph.blocks_and_mutes_repository import BlocksAndMutes
from timelines.graph.follow import Follow, FollowCursor, FollowPage
from timelines.graph.follow_requests_repository import FollowRequests
from timelines.graph.repository import Follows
from timelines.visibility.accounts import load_visible_page, require_visible


class FollowRequestService(Service):
    """Accepts, refuses and lists follow requests. `following_cap` has the same meaning as in FollowingService."""

    follow_requests: FollowRequests
    blocks_and_mutes: BlocksAndMutes
    follows: Follows
    accounts: AccountService
    homes: CachedTimelines
    following_cap: int

    def __post_init__(self) -> None:
        requests = self.follow_requests
        self.count, self.requested_among = requests.count, requests.requested_among
        self.received_among = requests.received_among

    async def accept(self, *, account_id: AccountId, requester_id: AccountId, now_ms: int) -> bool:
        """Accept a follow request. Return whether the follow is new.

        Raises AccountNotFound if there is no request. Raises RequesterFollowingCapReached if the requester follows too
        many accounts; then the request stays.
        """
        if not await self.follow_requests.exists(requester_id, account_id):
            return await self._accept_again(account_id, requester_id)
        await require_visible(self.accounts, requester_id)
        await self._check_cap(account_id, requester_id)
        async with invalidate_around(self.homes, requester_id):
            is_new = await self.follows.add(Follow(requester_id, account_id, now_ms))
            # Checked again after the edge was added: a concurrent block or withdrawal may have missed the edge.
            if is_new and not await self._is_still_requested(account_id, requester_id):
                await self.follows.remove(requester_id, account_id)
                raise AccountNotFound
            await self.follow_requests.complete(requester_id, account_id, forget=is_new)
        return is_new

    async def refuse(self, *, account_id: AccountId, requester_id: AccountId) -> bool:
        """Remove a follow request. Return whether it existed. The requester is not notified and may request again."""
        return await self.follow_requests.remove(requester_id, account_id)

    async def page(self, account_id: AccountId, cursor: FollowCursor | None = None, limit: int = 30) -> FollowPage:
        """Return a page of accounts with a pending request, newest first."""
        return await load_visible_page(self.accounts, partial(self.follow_requests.page, account_id), cursor, limit)

    async def _check_cap(self, account_id: AccountId, requester_id: AccountId) -> None:
        """Raise RequesterFollowingCapReached if the follow would exceed the cap.

        If the follow exists, its request is accepted even at the cap, because a crash may have left the request.
        """
        if await self.follows.following_count(requester_id) < self.following_cap:
            return
        if not await self.follows.is_following(requester_id, account_id):
            raise RequesterFollowingCapReached

    async def _is_still_requested(self, account_id: AccountId, requester_id: AccountId) -> bool:
        if await self.blocks_and_mutes.blocked_either_way(account_id, [requester_id]):
            return False
        return await self.follow_requests.is_asking(requester_id, account_id)

    async def _accept_again(self, account_id: AccountId, requester_id: AccountId) -> bool:
        if await self.follows.is_following(requester_id, account_id):
            return False
        raise AccountNotFound
