"""Requests to follow private accounts: `requests` at the one that is asked, `requested` at the one that asks.

Sources; each side stands under its account's tag. A request is one while it stands at the one that is asked.
"""

from collections.abc import Sequence

from socialsite.ids import AccountId
from socialsite.store import Store
from timelines import keys
from timelines.graph.account_zset_page import read_account_page
from timelines.graph.follow import FollowCursor, FollowPage


class FollowRequests:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._timelines = store.component("timelines")

    async def add(self, requester_id: AccountId, target_id: AccountId, at_ms: int) -> bool:
        """False where it stood already: it keeps its time, and both sides are there."""
        asked, asking = keys.follow_requests(target_id), keys.sent_follow_requests(requester_id)
        added, _ = await self._store.write_each(
            [("ZADD", asked, "NX", at_ms, requester_id), ("ZADD", asking, "NX", at_ms, target_id)]
        )
        return bool(added)

    async def remove(self, requester_id: AccountId, target_id: AccountId) -> bool:
        """Whether it stood, on either side."""
        asked, asking = keys.follow_requests(target_id), keys.sent_follow_requests(requester_id)
        (withdrawn,) = await self._timelines.write(asking, ("ZREM", asking, target_id))
        (removed,) = await self._timelines.write(asked, ("ZREM", asked, requester_id))
        return bool(withdrawn or removed)

    async def complete(self, requester_id: AccountId, target_id: AccountId, *, forget: bool) -> None:
        """The request was accepted. `forget`: by whoever made the edge; then it is nobody's wish any more.

        So one that looks whether the requester still asks is not misled by a second acceptance.
        """
        asked, asking = keys.follow_requests(target_id), keys.sent_follow_requests(requester_id)
        await self._timelines.write(asked, ("ZREM", asked, requester_id))
        if forget:
            await self._timelines.write(asking, ("ZREM", asking, target_id))

    async def is_asking(self, requester_id: AccountId, target_id: AccountId) -> bool:
        """What the requester's own side says; a withdrawal takes that away first."""
        key = keys.sent_follow_requests(requester_id)
        return await self._timelines[key].execute("ZSCORE", key, target_id) is not None

    async def requested_among(self, requester_id: AccountId, others: Sequence[AccountId]) -> set[AccountId]:
        """Those of `others` whom the account has asked."""
        if not others:
            return set()
        key = keys.sent_follow_requests(requester_id)
        scores = await self._timelines[key].execute("ZMSCORE", key, *others)
        return {other for other, score in zip(others, scores, strict=True) if score is not None}

    async def exists(self, requester_id: AccountId, target_id: AccountId) -> bool:
        key = keys.follow_requests(target_id)
        return await self._timelines[key].execute("ZSCORE", key, requester_id) is not None

    async def count_made_by(self, requester_id: AccountId) -> int:
        """How many requests of the account nobody has answered."""
        key = keys.sent_follow_requests(requester_id)
        return int(await self._timelines[key].execute("ZCARD", key))

    async def count(self, target_id: AccountId) -> int:
        """How many wait for the account's answer."""
        key = keys.follow_requests(target_id)
        return int(await self._timelines[key].execute("ZCARD", key))

    async def page(self, target_id: AccountId, cursor: FollowCursor | None, limit: int) -> FollowPage:
        """Newest requests first."""
        return await read_account_page(self._timelines, keys.follow_requests(target_id), cursor, limit)

    async def purge(self, account_id: AccountId, limit: int) -> bool:
        """One bounded round of a deleted account's requests, both ways; True while some may be left."""
        own, made = keys.follow_requests(account_id), keys.sent_follow_requests(account_id)
        commands = [("ZRANGE", key, 0, limit - 1) for key in (own, made)]
        waiting, asked = await self._timelines.gather(commands)
        for requester in waiting:
            await self.remove(AccountId(int(requester)), account_id)
        for target in asked:
            await self.remove(account_id, AccountId(int(target)))
        return bool(waiting or asked)
