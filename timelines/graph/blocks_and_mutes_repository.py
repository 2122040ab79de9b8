"""Stores blocks, mutes, hidden boosts and private notes about accounts.

The sources are `timelines:{<account>}:blocks`, `blockers`, `mutes`, `quieted` and `notes`.

A block is stored on both accounts, each side under the tag of its account, so that a page reads only the keys of its
viewer. Both sides are written before the response is sent. If a crash leaves only one side, repeating the request
writes the other side.
"""

from collections.abc import Awaitable, Callable, Sequence

from socialsite.ids import AccountId
from socialsite.store import Command, Key, Read, Reply, Repository
from timelines import keys
from timelines.graph.follow import FollowCursor, FollowPage, Relationship
from timelines.graph.zset_page import read_account_page, read_scores

AccountKey = Callable[[int], Key]
CAPPED_KEYS: tuple[AccountKey, ...] = keys.blocks, keys.mutes, keys.boosts_hidden
"""The sets that have a cap, in the order of `counts`."""
RELATIONSHIP_KEYS: tuple[AccountKey, ...] = (
    keys.blocks,
    keys.blocked_by,
    keys.mutes,
    keys.boosts_hidden,
    keys.sent_follow_requests,
)
"""The sets that `relationship` reads, in its order."""
PRUNE_BATCH = 1_000
"""The number of members whose accounts are read together."""


class BlocksAndMutes(Repository):
    # Writing

    async def block(self, account_id: AccountId, other_id: AccountId, at_ms: int) -> bool:
        """Write both sides of a block. Return whether the block is new. An existing block keeps its time."""
        own, mirror = keys.blocks(account_id), keys.blocked_by(other_id)
        added, _ = await self._store.write_all(
            [("ZADD", own, "NX", at_ms, other_id), ("ZADD", mirror, "NX", at_ms, account_id)]
        )
        return bool(added)

    async def unblock(self, account_id: AccountId, other_id: AccountId) -> bool:
        own, mirror = keys.blocks(account_id), keys.blocked_by(other_id)
        removed, _ = await self._store.write_all([("ZREM", own, other_id), ("ZREM", mirror, account_id)])
        return bool(removed)

    async def mute(self, account_id: AccountId, other_id: AccountId, until_ms: int, now_ms: int) -> bool:
        """Store a mute, and remove the account's expired mutes. Return whether the mute is new or has a new end."""
        key = keys.mutes(account_id)
        _, changed = await self._timelines.write_all(
            [("ZREMRANGEBYSCORE", key, "-inf", now_ms), ("ZADD", key, "CH", until_ms, other_id)]
        )
        return bool(changed)

    async def unmute(self, account_id: AccountId, other_id: AccountId) -> bool:
        return await self._remove(keys.mutes(account_id), other_id)

    async def hide_boosts(self, account_id: AccountId, other_id: AccountId, at_ms: int) -> bool:
        """Hide the boosts of the other account. Return whether they were shown before."""
        added = await self._timelines.write("ZADD", keys.boosts_hidden(account_id), "NX", at_ms, other_id)
        return bool(added)

    async def show_boosts(self, account_id: AccountId, other_id: AccountId) -> bool:
        return await self._remove(keys.boosts_hidden(account_id), other_id)

    async def prune(
        self, account_id: AccountId, which: int, find_deleted: Callable[[list[AccountId]], Awaitable[list[AccountId]]]
    ) -> int:
        """Remove accounts from the set CAPPED_KEYS[which] if `find_deleted` returns them. Return how many were removed.

        Members are read in batches until a batch contains deleted accounts. That suffices, because the caller needs
        room for one entry.
        """
        key, start = CAPPED_KEYS[which](account_id), 0
        while members := await self._timelines.execute("ZRANGE", key, start, start + PRUNE_BATCH - 1):
            if deleted_ids := await find_deleted([AccountId(int(member)) for member in members]):
                await self._timelines.write("ZREM", key, *deleted_ids)
                return len(deleted_ids)
            start += len(members)
        return 0

    async def purge(self, account_id: AccountId, limit: int) -> bool:
        """Remove up to `limit` blocks in each direction of a deleted account. Return True if blocks may be left.

        Mutes of the deleted account by other accounts stay. They have no effect, and `prune` removes them at the cap.
        """
        blocks = await self._purge_sides(keys.blocks(account_id), keys.blocked_by, account_id, limit)
        mirrored = await self._purge_sides(keys.blocked_by(account_id), keys.blocks, account_id, limit)
        return blocks or mirrored

    async def _purge_sides(self, key: Key, other_side: AccountKey, account_id: AccountId, limit: int) -> bool:
        """Remove both sides, the other side first, so that the next round finds the rest after a crash."""
        members: list[bytes] = await self._timelines.execute("ZRANGE", key, 0, limit - 1)
        if not members:
            return False
        others = [AccountId(int(member)) for member in members]
        await self._store.write_all([("ZREM", other_side(other), account_id) for other in others])
        await self._timelines.write("ZREM", key, *others)
        return True

    async def _remove(self, key: Key, member: int) -> bool:
        return bool(await self._timelines.write("ZREM", key, member))

    async def set_note(self, account_id: AccountId, other_id: AccountId, note: str, cap: int) -> bool:
        """Store a note, or delete it if it is empty. Return False if the account has too many notes.

        The cap can be exceeded by the number of concurrent requests.
        """
        key = keys.account_notes(account_id)
        if not note:
            await self._timelines.write("HDEL", key, other_id)
            return True
        other_ids = await self._timelines[key].execute("HKEYS", key)
        if len(other_ids) >= cap and b"%d" % other_id not in other_ids:
            return False
        await self._timelines.write("HSET", key, other_id, note)
        return True

    # Reading

    def relationship(self, account_id: AccountId, other_id: AccountId, now_ms: int) -> Read[Relationship]:
        """Read the relationship, except for `follows` and `is_followed`."""

        def parse(replies: Sequence[Reply]) -> Relationship:
            blocks, blocked_by, muted_until, hidden_boosts, requested, note = replies
            until_ms = None if muted_until is None else int(float(muted_until))
            return Relationship(
                requested=requested is not None,
                blocks=blocks is not None,
                is_blocked=blocked_by is not None,
                muted_until_ms=None if until_ms is None or until_ms <= now_ms else until_ms,
                hides_boosts=hidden_boosts is not None,
                note=(note or b"").decode(),
            )

        scores: list[Command] = [("ZSCORE", key(account_id), other_id) for key in RELATIONSHIP_KEYS]
        return Read([*scores, ("HGET", keys.account_notes(account_id), other_id)], parse, self._timelines)

    async def notes(self, account_id: AccountId) -> dict[AccountId, str]:
        """Return the private notes of the account about others."""
        key = keys.account_notes(account_id)
        reply = await self._timelines[key].execute("HGETALL", key)
        return {AccountId(int(id)): note.decode() for id, note in zip(reply[::2], reply[1::2], strict=True)}

    def blocked_either_way(self, account_id: AccountId, others: Sequence[AccountId]) -> Read[set[AccountId]]:
        """Read the accounts among `others` that the account blocks or is blocked by."""
        return read_scores(self._timelines, (keys.blocks(account_id), keys.blocked_by(account_id)), others).map(set)

    async def counts(self, account_id: AccountId, now_ms: int) -> tuple[int, int, int]:
        """Return the numbers of blocks, of mutes that are not expired, and of accounts with hidden boosts."""
        commands: list[Command] = [
            ("ZCARD", keys.blocks(account_id)),
            ("ZCOUNT", keys.mutes(account_id), f"({now_ms}", "+inf"),
            ("ZCARD", keys.boosts_hidden(account_id)),
        ]
        blocks, mutes, hidden_boosts = await self._timelines.execute_all(commands)
        return blocks, mutes, hidden_boosts

    def blocked(self, account_id: AccountId, cursor: FollowCursor | None, limit: int) -> Read[FollowPage]:
        """Read a page of blocked accounts after `cursor`. The last block comes first."""
        return read_account_page(self._timelines, [keys.blocks(account_id)], cursor, limit)

    def muted(self, account_id: AccountId, cursor: FollowCursor | None, limit: int, *, now_ms: int) -> Read[FollowPage]:
        """Read a page of muted accounts, without expired mutes. The mutes that end last come first."""
        return read_account_page(self._timelines, [keys.mutes(account_id)], cursor, limit, above_ms=now_ms)

    def muted_until(self, account_id: AccountId, others: Sequence[AccountId]) -> Read[dict[AccountId, int]]:
        """Read the end of the mute (Unix ms) of each of `others` that is muted."""
        return read_scores(self._timelines, [keys.mutes(account_id)], others)

    def hidden_boosts_among(self, account_id: AccountId, others: Sequence[AccountId]) -> Read[set[AccountId]]:
        """Read the accounts among `others` whose boosts the account hides."""
        return read_scores(self._timelines, [keys.boosts_hidden(account_id)], others).map(set)
