"""Keeping others away: blocking, muting, hiding boosts, sending a follower off.

A block holds for both and from the answer on; readers look at it with every page (domain/rights.py). The
other verbs are the reader's own business: the other account is told nothing. All of it can be taken back.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Protocol

from accounts.domain import DELETED
from accounts.errors import AccountNotFound
from socialsite.ids import AccountId
from socialsite.store import Read, Reply, Store, combine
from timelines.errors import BlocksAndMutesCapReached, CannotBlockOrMuteSelf
from timelines.graph.blocks_and_mutes_repository import BlocksAndMutes
from timelines.graph.follow import FollowCursor, FollowPage
from timelines.graph.follow_requests_repository import FollowRequests
from timelines.graph.relation import BLOCKS_CAP, HIDDEN_BOOSTS_CAP, MAX_MUTE_MS, MUTES_CAP, Relationship
from timelines.graph.repository import Follows
from timelines.ports import Authors, HomeTimelines
from timelines.visibility.accounts import load_visible_page
from timelines.visibility.rights import NO_EXPIRY_MS


class LiveEvents(Protocol):
    """LiveService."""

    async def relation_changed(self, account_id: AccountId, other_id: AccountId) -> None: ...


class BlocksAndMutesService:
    """Caps may be passed by as many as there are concurrent requests."""

    def __init__(
        self,
        *,
        store: Store,
        blocks_and_mutes: BlocksAndMutes,
        follow_requests: FollowRequests,
        follows: Follows,
        accounts: Authors,
        homes: HomeTimelines,
        live: LiveEvents,
        blocks_cap: int = BLOCKS_CAP,
        mutes_cap: int = MUTES_CAP,
        hidden_boosts_cap: int = HIDDEN_BOOSTS_CAP,
    ) -> None:
        self._store = store
        self._relations = blocks_and_mutes
        self._requests = follow_requests
        self._follows = follows
        self._accounts = accounts
        self._homes = homes
        self._live = live
        self._caps = blocks_cap, mutes_cap, hidden_boosts_cap

    # Changing

    async def block(self, *, account_id: AccountId, other_id: AccountId, now_ms: int) -> bool:
        """Neither sees, follows or asks the other from the answer on. False: it was so already.

        The block goes first: a follow under way finds it when it looks again, or its edge is there to be
        removed. Repeating mends what a crash left half-done.
        """
        await self._check(account_id, other_id, now_ms, cap=0)
        async with self._changing_homes_of(account_id, other_id):
            is_new = await self._relations.block(account_id, other_id, now_ms)
            for one, other in ((account_id, other_id), (other_id, account_id)):
                await self._requests.remove(one, other)
                await self._follows.remove(one, other)
        await self._live.relation_changed(account_id, other_id)
        return is_new

    async def unblock(self, *, account_id: AccountId, other_id: AccountId) -> bool:
        """Follows do not come back by themselves. False: there was no block."""
        was_blocked = await self._relations.unblock(account_id, other_id)
        await self._live.relation_changed(account_id, other_id)
        return was_blocked

    async def mute(
        self, *, account_id: AccountId, other_id: AccountId, now_ms: int, until_ms: int | None = None
    ) -> bool:
        """Keep their posts out of one's timelines until then; None: for good. Whether that is new."""
        await self._check(account_id, other_id, now_ms, cap=1)
        until_ms = NO_EXPIRY_MS if until_ms is None else min(until_ms, now_ms + MAX_MUTE_MS)
        is_new = await self._relations.mute(account_id, other_id, until_ms, now_ms)
        await self._live.relation_changed(account_id, other_id)
        return is_new

    async def unmute(self, *, account_id: AccountId, other_id: AccountId) -> bool:
        """Their posts are back where they were, those of the time between too."""
        was_muted = await self._relations.unmute(account_id, other_id)
        await self._live.relation_changed(account_id, other_id)
        return was_muted

    async def hide_boosts(self, *, account_id: AccountId, other_id: AccountId, now_ms: int) -> bool:
        """Hide what they boost, not what they write."""
        await self._check(account_id, other_id, now_ms, cap=2)
        is_new = await self._relations.hide_boosts(account_id, other_id, now_ms)
        await self._live.relation_changed(account_id, other_id)
        return is_new

    async def show_boosts(self, *, account_id: AccountId, other_id: AccountId) -> bool:
        was_quiet = await self._relations.show_boosts(account_id, other_id)
        await self._live.relation_changed(account_id, other_id)
        return was_quiet

    async def remove_follower(self, *, account_id: AccountId, follower_id: AccountId) -> bool:
        """They may come again, unlike after a block. False: they did not follow."""
        async with self._changing_homes_of(follower_id):
            removed = await self._follows.remove(follower_id, account_id)
        await self._live.relation_changed(follower_id, account_id)
        return removed

    # Looking

    async def relationship(self, viewer_id: AccountId, other_id: AccountId, now_ms: int) -> Relationship:
        """All that the viewer has to do with the other, in one round trip."""
        relation: Relationship
        (relation,) = await self._store.read(self.read_relationship(viewer_id, other_id, now_ms))
        return relation

    def read_relationship(self, viewer_id: AccountId, other_id: AccountId, now_ms: int) -> Read[Relationship]:
        """As `relation`, for a round trip that asks other things too."""
        asked = combine(
            self._relations.read_relationship(viewer_id, other_id, now_ms),
            self._follows.read_follows_between(viewer_id, other_id),
        )

        def understand(replies: Sequence[Reply]) -> Relationship:
            own, (follows, is_followed) = asked.parse(replies)
            related: Relationship = replace(own, follows=follows, is_followed=is_followed)
            return related

        return Read(asked.commands, understand)

    async def may_interact(self, viewer_id: AccountId, author_id: AccountId) -> bool:
        """Whether no block stands between them."""
        return not await self._relations.blocked_either_way(viewer_id, [author_id])

    async def require_no_block(self, viewer_id: AccountId, other_id: AccountId) -> None:
        """Raises AccountNotFound where a block stands between them."""
        if not await self.may_interact(viewer_id, other_id):
            raise AccountNotFound

    async def blocked(self, account_id: AccountId, cursor: FollowCursor | None = None, limit: int = 30) -> FollowPage:
        """Blocked last first; without those that are gone or suspended."""
        return await load_visible_page(self._accounts, partial(self._relations.blocked, account_id), cursor, limit)

    async def muted(
        self, account_id: AccountId, cursor: FollowCursor | None = None, limit: int = 30, *, now_ms: int
    ) -> FollowPage:
        """Those whose mute ends last come first."""
        read = partial(self._relations.muted, account_id, now_ms=now_ms)
        return await load_visible_page(self._accounts, read, cursor, limit)

    async def muted_until(self, account_id: AccountId, others: Sequence[AccountId]) -> dict[AccountId, int]:
        """Until when (Unix ms, or FOREVER) each of them is muted."""
        return await self._relations.muted_until(account_id, others)

    async def _check(self, account_id: AccountId, other_id: AccountId, now_ms: int, *, cap: int) -> None:
        """At the cap, what stands already may be repeated, and accounts that are gone make room."""
        if account_id == other_id:
            raise CannotBlockOrMuteSelf
        if await self._has_room(account_id, now_ms, cap):
            return
        held: Relationship
        (held,) = await self._store.read(self._relations.read_relationship(account_id, other_id, now_ms))
        if (held.blocks, held.mutes, held.hides_boosts)[cap]:
            return
        await self._relations.prune(account_id, cap, self._gone)
        if not await self._has_room(account_id, now_ms, cap):
            raise BlocksAndMutesCapReached

    async def _has_room(self, account_id: AccountId, now_ms: int, cap: int) -> bool:
        return (await self._relations.counts(account_id, now_ms))[cap] < self._caps[cap]

    async def _gone(self, ids: list[AccountId]) -> list[AccountId]:
        """Those of `ids` that are deleted; suspended ones may come back."""
        authors = await self._accounts.find_authors(ids)
        return [id for id in ids if id not in authors or authors[id].state == DELETED]

    @asynccontextmanager
    async def _changing_homes_of(self, *account_ids: AccountId) -> AsyncIterator[None]:
        """Forget the homes before and after, also when nothing changed: the next read rebuilds them."""
        for account_id in account_ids:
            await self._homes.invalidate(account_id)
        try:
            yield
        finally:
            for account_id in account_ids:
                await self._homes.invalidate(account_id)
