"""Answers to requests to follow a private account. Making one is following, withdrawing it is unfollowing.

Turning privacy off accepts nobody: who has asked waits on, to be accepted or refused, or just follows.
"""

from collections.abc import Sequence
from functools import partial

from accounts.errors import AccountNotFound
from socialsite.ids import AccountId
from timelines.errors import RequesterFollowingCapReached
from timelines.graph.blocks_and_mutes_repository import BlocksAndMutes
from timelines.graph.follow import Follow, FollowCursor, FollowPage
from timelines.graph.follow_requests_repository import FollowRequests
from timelines.graph.repository import Follows
from timelines.ports import Authors, HomeTimelines
from timelines.visibility.accounts import load_visible_page, require_visible


class FollowRequestService:
    """`cap` is how many an account may follow, however it comes to (FollowingService)."""

    def __init__(
        self,
        *,
        follow_requests: FollowRequests,
        blocks_and_mutes: BlocksAndMutes,
        follows: Follows,
        accounts: Authors,
        homes: HomeTimelines,
        following_cap: int,
    ) -> None:
        self._requests = follow_requests
        self._relations = blocks_and_mutes
        self._follows = follows
        self._accounts = accounts
        self._homes = homes
        self._cap = following_cap

    async def accept(self, *, account_id: AccountId, requester_id: AccountId, now_ms: int) -> bool:
        """Let somebody in who asked. False: they follow already.

        Raises AccountNotFound (nobody asked), RequesterFollowingCapReached: the request stays.
        """
        if not await self._requests.exists(requester_id, account_id):
            return await self._answered_before(account_id, requester_id)
        await require_visible(self._accounts, requester_id)
        await self._check_cap(account_id, requester_id)
        await self._homes.invalidate(requester_id)
        try:
            is_new = await self._follows.add(Follow(requester_id, account_id, now_ms))
            # Looked at again with the edge in place: a block or a withdrawal removes it, or is seen here.
            if is_new and not await self._still_wanted(account_id, requester_id):
                await self._follows.remove(requester_id, account_id)
                raise AccountNotFound
            await self._requests.complete(requester_id, account_id, forget=is_new)
        finally:
            await self._homes.invalidate(requester_id)
        return is_new

    async def refuse(self, *, account_id: AccountId, requester_id: AccountId) -> bool:
        """The requester is not told, and may ask again. False: there was no request."""
        return await self._requests.remove(requester_id, account_id)

    async def page(self, account_id: AccountId, cursor: FollowCursor | None = None, limit: int = 30) -> FollowPage:
        """Who waits for an answer, newest first."""
        return await load_visible_page(self._accounts, partial(self._requests.page, account_id), cursor, limit)

    async def requested_among(self, account_id: AccountId, others: Sequence[AccountId]) -> set[AccountId]:
        """Those of `others` whom the account has asked."""
        return await self._requests.requested_among(account_id, others)

    async def count(self, account_id: AccountId) -> int:
        """How many wait; suspended ones count on."""
        return await self._requests.count(account_id)

    async def _check_cap(self, account_id: AccountId, requester_id: AccountId) -> None:
        """At the cap, what a crash left half accepted is finished all the same."""
        if await self._follows.following_count(requester_id) < self._cap:
            return
        if not await self._follows.is_following(requester_id, account_id):
            raise RequesterFollowingCapReached

    async def _still_wanted(self, account_id: AccountId, requester_id: AccountId) -> bool:
        if await self._relations.blocked_either_way(account_id, [requester_id]):
            return False
        return await self._requests.is_asking(requester_id, account_id)

    async def _answered_before(self, account_id: AccountId, requester_id: AccountId) -> bool:
        if await self._follows.is_following(requester_id, account_id):
            return False
        raise AccountNotFound
