"""Stores requests to follow private accounts in two sources: `requests` of the target, `requested` of the requester.

Each set has the tag of its account. A request exists as long as it is in the target's set.
"""

from collections.abc import Sequence

from socialsite.concurrency import run_together
from socialsite.ids import AccountId
from socialsite.store import Read, Repository
from timelines import keys
from timelines.graph.follow import FollowCursor, FollowPage
from timelines.graph.zset_page import read_account_page, read_scores


class FollowRequests(Repository):
    async def add(self, requester_id: AccountId, target_id: AccountId, at_ms: int) -> bool:
        """Write both sides of a request. Return whether the request is new. An existing request keeps its time."""
        received, sent = keys.follow_requests(target_id), keys.sent_follow_requests(requester_id)
        added, _ = await self._store.write_all(
            [("ZADD", received, "NX", at_ms, requester_id), ("ZADD", sent, "NX", at_ms, target_id)]
        )
        return bool(added)

    async def remove(self, requester_id: AccountId, target_id: AccountId) -> bool:
        """Remove a request, the requester's side first. Return whether it existed on either side."""
        received, sent = keys.follow_requests(target_id), keys.sent_follow_requests(requester_id)
        withdrawn = await self._timelines.write("ZREM", sent, target_id)
        removed = await self._timelines.write("ZREM", received, requester_id)
        return bool(withdrawn or removed)

    async def complete(self, requester_id: AccountId, target_id: AccountId, *, forget: bool) -> None:
        """Remove an accepted request from the target's side.

        If `forget` is true, also remove it from the requester's side.

        Only the caller that created the follow passes `forget`. If a second, concurrent acceptance also did so, the
        first acceptance would conclude that the requester has withdrawn the request.
        """
        received, sent = keys.follow_requests(target_id), keys.sent_follow_requests(requester_id)
        await self._timelines.write("ZREM", received, requester_id)
        if forget:
            await self._timelines.write("ZREM", sent, target_id)

    def exists(self, requester_id: AccountId, target_id: AccountId) -> Read[bool]:
        return self.requested_ms(requester_id, target_id).map(lambda at_ms: at_ms is not None)

    def requested_ms(self, requester_id: AccountId, target_id: AccountId) -> Read[int | None]:
        """Read the time (Unix ms) of a request, or None if there is none."""
        command = "ZSCORE", keys.follow_requests(target_id), requester_id
        return Read([command], lambda replies: None if replies[0] is None else int(float(replies[0])), self._timelines)

    def is_asking(self, requester_id: AccountId, target_id: AccountId) -> Read[bool]:
        """Read whether the requester's side has the request. A withdrawal removes this side first."""
        command = "ZSCORE", keys.sent_follow_requests(requester_id), target_id
        return Read([command], lambda replies: replies[0] is not None, self._timelines)

    def requested_among(self, requester_id: AccountId, others: Sequence[AccountId]) -> Read[set[AccountId]]:
        """Read the accounts among `others` to which the account has sent a request."""
        return read_scores(self._timelines, [keys.sent_follow_requests(requester_id)], others).map(set)

    def received_among(self, target_id: AccountId, others: Sequence[AccountId]) -> Read[set[AccountId]]:
        """Read the accounts among `others` that have sent a request to the account."""
        return read_scores(self._timelines, [keys.follow_requests(target_id)], others).map(set)

    def count_made_by(self, requester_id: AccountId) -> Read[int]:
        """Read the number of pending requests that the account has sent."""
        return Read(
            [("ZCARD", keys.sent_follow_requests(requester_id))], lambda replies: int(replies[0]), self._timelines
        )

    def count(self, target_id: AccountId) -> Read[int]:
        """Read the number of pending requests that the account has received."""
        return Read([("ZCARD", keys.follow_requests(target_id))], lambda replies: int(replies[0]), self._timelines)

    def page(self, target_id: AccountId, cursor: FollowCursor | None, limit: int) -> Read[FollowPage]:
        """Read a page of received requests after `cursor`, newest first."""
        return read_account_page(self._timelines, [keys.follow_requests(target_id)], cursor, limit)

    async def purge(self, account_id: AccountId, limit: int) -> bool:
        """Remove up to `limit` requests to a deleted account, and as many from it.

        Return True if requests may be left.
        """
        received_key, sent_key = keys.follow_requests(account_id), keys.sent_follow_requests(account_id)
        commands = [("ZRANGE", key, 0, limit - 1) for key in (received_key, sent_key)]
        requesters, targets = await self._timelines.execute_all(commands)
        pairs = [(AccountId(int(id)), account_id) for id in requesters] + [
            (account_id, AccountId(int(id))) for id in targets
        ]
        await run_together(*(self.remove(*pair) for pair in pairs))
        return bool(requesters or targets)
