"""Blocks, mutes, hidden boosts, private notes, and the removal of followers.

A block affects both accounts as soon as the response is sent, because every page checks it
(timelines/visibility/rights.py). The other actions affect only the account that performs them. The other account is
not notified. Every action can be undone.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from accounts.accounts.service import AccountService
from accounts.domain import DELETED
from accounts.errors import AccountNotFound
from accounts.joining.service import check_text
from socialsite.ids import AccountId
from socialsite.limits import ActionLimits
from socialsite.service import Service
from socialsite.store import Read, Store, combine
from timelines.cached_timelines.repository import CachedTimelines, invalidate_around
from timelines.errors import BlocksAndMutesCapReached, CannotBlockOrMuteSelf, NotesCapReached
from timelines.graph import follow
from timelines.graph.blocks_and_mutes_repository import BlocksAndMutes
from timelines.graph.follow_requests_repository import FollowRequests
from timelines.graph.repository import Follows
from timelines.live_updates.service import LiveService
from timelines.visibility.accounts import load_visible_page
from timelines.visibility.rights import NO_EXPIRY_MS

BLOCKS, MUTES, HIDDEN_BOOSTS = range(3)
"""Indexes of CAPPED_KEYS, of `BlocksAndMutes.counts` and of the caps."""


class BlocksAndMutesService(Service):
    """Performs these actions. A cap can be exceeded by the number of concurrent requests."""

    store: Store
    blocks_and_mutes: BlocksAndMutes
    follow_requests: FollowRequests
    follows: Follows
    accounts: AccountService
    homes: CachedTimelines
    live: LiveService
    limits: ActionLimits
    blocks_cap: int = follow.BLOCKS_CAP
    mutes_cap: int = follow.MUTES_CAP
    hidden_boosts_cap: int = follow.HIDDEN_BOOSTS_CAP
    notes_cap: int = follow.NOTES_CAP

    # Changing

    async def block(self, *, account_id: AccountId, other_id: AccountId, now_ms: int) -> bool:
        """Block an account: the two cannot see or follow each other. Return whether the block is new.

        The block is written first. So a concurrent follow either finds the block in its second check, or its edge is
        removed here. Repeating the call completes a change after a crash.
        """
        await self._check(account_id, other_id, now_ms, BLOCKS)
        async with invalidate_around(self.homes, account_id, other_id):
            is_new = await self.blocks_and_mutes.block(account_id, other_id, now_ms)
            for one, other in ((account_id, other_id), (other_id, account_id)):
                await self.follow_requests.remove(one, other)
                await self.follows.remove(one, other)
        await self.live.relation_changed(account_id, other_id)
        return is_new

    async def unblock(self, *, account_id: AccountId, other_id: AccountId) -> bool:
        """Remove a block. Return whether it existed. Follows are not restored."""
        was_blocked = await self.blocks_and_mutes.unblock(account_id, other_id)
        await self.live.relation_changed(account_id, other_id)
        return was_blocked

    async def mute(
        self, *, account_id: AccountId, other_id: AccountId, now_ms: int, until_ms: int | None = None
    ) -> bool:
        """Hide an account's posts until `until_ms` (None means no end). Return whether the mute is new."""
        await self._check(account_id, other_id, now_ms, MUTES)
        until_ms = NO_EXPIRY_MS if until_ms is None else min(until_ms, now_ms + follow.MAX_MUTE_MS)
        is_new = await self.blocks_and_mutes.mute(account_id, other_id, until_ms, now_ms)
        await self.live.relation_changed(account_id, other_id)
        return is_new

    async def unmute(self, *, account_id: AccountId, other_id: AccountId) -> bool:
        """Show the account's posts again, also those published during the mute. Return whether it was muted."""
        was_muted = await self.blocks_and_mutes.unmute(account_id, other_id)
        await self.live.relation_changed(account_id, other_id)
        return was_muted

    async def hide_boosts(self, *, account_id: AccountId, other_id: AccountId, now_ms: int) -> bool:
        """Hide an account's boosts, but not its posts. Return whether the boosts were shown before."""
        await self._check(account_id, other_id, now_ms, HIDDEN_BOOSTS)
        is_new = await self.blocks_and_mutes.hide_boosts(account_id, other_id, now_ms)
        await self.live.relation_changed(account_id, other_id)
        return is_new

    async def show_boosts(self, *, account_id: AccountId, other_id: AccountId) -> bool:
        were_hidden = await self.blocks_and_mutes.show_boosts(account_id, other_id)
        await self.live.relation_changed(account_id, other_id)
        return were_hidden

    async def remove_follower(self, *, account_id: AccountId, follower_id: AccountId) -> bool:
        """Remove a follower, who may follow again. Return whether the account was followed."""
        async with invalidate_around(self.homes, follower_id):
            removed = await self.follows.remove(follower_id, account_id)
        await self.live.relation_changed(follower_id, account_id)
        return removed

    async def set_note(self, *, account_id: AccountId, other_id: AccountId, note: str) -> None:
        """Store a private note about another account; an empty text deletes it.

        Raises FieldErrors, NotesCapReached.
        """
        text = check_text(note, "comment", 0, follow.NOTE_MAX_LENGTH)
        await self.limits.enforce_bytes("notes", account_id, len(text.encode()))
        if not await self.blocks_and_mutes.set_note(account_id, other_id, text, self.notes_cap):
            raise NotesCapReached

    # Reading

    def relationship(self, viewer_id: AccountId, other_id: AccountId, now_ms: int) -> Read[follow.Relationship]:
        def with_follows(results: list[Any]) -> follow.Relationship:
            relationship: follow.Relationship
            relationship, (follows, is_followed) = results
            return replace(relationship, follows=follows, is_followed=is_followed)

        return combine(
            self.blocks_and_mutes.relationship(viewer_id, other_id, now_ms),
            self.follows.follows_between(viewer_id, other_id),
        ).map(with_follows)

    async def relationships(
        self, viewer_id: AccountId, other_ids: Sequence[AccountId], now_ms: int
    ) -> dict[AccountId, tuple[follow.Relationship, bool]]:
        """Return the relationship to each account that exists, and whether the account requests to follow the viewer.

        It takes one round trip.
        """
        requesters, authors, *relationships = await self.store.read(
            self.follow_requests.received_among(viewer_id, other_ids),
            self.accounts.read_authors(other_ids),
            *(self.relationship(viewer_id, other_id, now_ms) for other_id in other_ids),
        )
        pairs = zip(other_ids, relationships, strict=True)
        return {id: (relationship, id in requesters) for id, relationship in pairs if id in authors}

    async def may_interact(self, viewer_id: AccountId, author_id: AccountId) -> bool:
        """Return False if one account blocks the other."""
        return not await self.blocks_and_mutes.blocked_either_way(viewer_id, [author_id])

    async def require_no_block(self, viewer_id: AccountId, other_id: AccountId) -> None:
        """Raise AccountNotFound if one account blocks the other."""
        if not await self.may_interact(viewer_id, other_id):
            raise AccountNotFound

    async def blocked(
        self, account_id: AccountId, cursor: follow.FollowCursor | None = None, limit: int = 30
    ) -> follow.FollowPage:
        """Return a page of blocked accounts, without deleted and suspended accounts. The last block comes first."""
        return await load_visible_page(self.accounts, partial(self.blocks_and_mutes.blocked, account_id), cursor, limit)

    async def muted(
        self, account_id: AccountId, cursor: follow.FollowCursor | None = None, limit: int = 30, *, now_ms: int
    ) -> follow.FollowPage:
        """Return a page of muted accounts. The mutes that end last come first."""
        read = partial(self.blocks_and_mutes.muted, account_id, now_ms=now_ms)
        return await load_visible_page(self.accounts, read, cursor, limit)

    def muted_until(self, account_id: AccountId, others: Sequence[AccountId]) -> Read[dict[AccountId, int]]:
        """Read the end of the mute (Unix ms, or NO_EXPIRY_MS) of each of `others` that is muted."""
        return self.blocks_and_mutes.muted_until(account_id, others)

    async def _check(self, account_id: AccountId, other_id: AccountId, now_ms: int, which: int) -> None:
        """Raise CannotBlockOrMuteSelf, or BlocksAndMutesCapReached if the set `which` is full.

        At the cap, an existing entry may be repeated, and entries of deleted accounts are removed to make room.
        """
        if account_id == other_id:
            raise CannotBlockOrMuteSelf
        if await self._has_room(account_id, now_ms, which):
            return
        entry = await self.blocks_and_mutes.relationship(account_id, other_id, now_ms)
        if (entry.blocks, entry.mutes, entry.hides_boosts)[which]:
            return
        await self.blocks_and_mutes.prune(account_id, which, self._find_deleted)
        if not await self._has_room(account_id, now_ms, which):
            raise BlocksAndMutesCapReached

    async def _has_room(self, account_id: AccountId, now_ms: int, which: int) -> bool:
        cap = (self.blocks_cap, self.mutes_cap, self.hidden_boosts_cap)[which]
        return (await self.blocks_and_mutes.counts(account_id, now_ms))[which] < cap

    async def _find_deleted(self, ids: list[AccountId]) -> list[AccountId]:
        """Return the deleted accounts among `ids`, but no suspended accounts, which may be reinstated."""
        authors = await self.accounts.find_authors(ids)
        return [id for id in ids if id not in authors or authors[id].state == DELETED]
