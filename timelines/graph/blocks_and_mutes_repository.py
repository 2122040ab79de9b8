"""Blocks, mutes and hidden boosts, under the tag of the account that has them. Sources.

A block stands on two accounts, each side under its own tag: whoever reads a page looks under their own alone.
Both are written before anything is answered; a crash between is mended by repeating either verb.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache

from socialsite.ids import AccountId
from socialsite.store import Command, EncodedPipeline, Key, Read, Reply, Store, encode_int, encode_text
from timelines import keys
from timelines.graph.account_zset_page import read_account_page
from timelines.graph.follow import FollowCursor, FollowPage
from timelines.graph.relation import Relationship

KeyOf = Callable[[int], Key]
COUNTED: tuple[KeyOf, ...] = keys.blocks, keys.mutes, keys.boosts_hidden
"""What has a cap each, in the order of `counts`."""
RELATING: tuple[KeyOf, ...] = keys.blocks, keys.blocked_by, keys.mutes, keys.boosts_hidden, keys.sent_follow_requests
"""Where one account says what it has to do with another, in the order of `read_relationship`."""
AT_ONCE = 1_000
"""Members whose accounts are looked at together."""


class BlocksAndMutes:
    """`timelines:{<account>}:blocks`, `blockers`, `mutes`, `quieted`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._timelines = store.component("timelines")

    async def block(self, account_id: AccountId, other_id: AccountId, at_ms: int) -> bool:
        """False where it stood already: it keeps its time, and both sides are there."""
        own, mirror = keys.blocks(account_id), keys.blocked_by(other_id)
        added, _ = await self._store.write_each(
            [("ZADD", own, "NX", at_ms, other_id), ("ZADD", mirror, "NX", at_ms, account_id)]
        )
        return bool(added)

    async def unblock(self, account_id: AccountId, other_id: AccountId) -> bool:
        own, mirror = keys.blocks(account_id), keys.blocked_by(other_id)
        removed, _ = await self._store.write_each([("ZREM", own, other_id), ("ZREM", mirror, account_id)])
        return bool(removed)

    async def mute(self, account_id: AccountId, other_id: AccountId, until_ms: int, now_ms: int) -> bool:
        """Whether it is new or ends at another time; mutes that are over go."""
        key = keys.mutes(account_id)
        _, changed = await self._timelines.write(
            key, ("ZREMRANGEBYSCORE", key, "-inf", now_ms), ("ZADD", key, "CH", until_ms, other_id)
        )
        return bool(changed)

    async def unmute(self, account_id: AccountId, other_id: AccountId) -> bool:
        return await self._remove(keys.mutes(account_id), other_id)

    async def hide_boosts(self, account_id: AccountId, other_id: AccountId, at_ms: int) -> bool:
        """Hide their boosts. False: they were."""
        key = keys.boosts_hidden(account_id)
        (added,) = await self._timelines.write(key, ("ZADD", key, "NX", at_ms, other_id))
        return bool(added)

    async def show_boosts(self, account_id: AccountId, other_id: AccountId) -> bool:
        return await self._remove(keys.boosts_hidden(account_id), other_id)

    def read_relationship(self, account_id: AccountId, other_id: AccountId, now_ms: int) -> Read[Relationship]:
        """All that stands under the account's tag; who follows whom is asked elsewhere."""
        theirs = encode_int(other_id)
        wire = b"".join([head + theirs for head in _heads(account_id)])

        def commands() -> list[Command]:
            return [("ZSCORE", build(account_id), other_id) for build in RELATING]

        def understand(replies: Sequence[Reply]) -> Relationship:
            blocks, blocked_by, until, quieted, requested = replies
            muted_until_ms = None if until is None or int(float(until)) <= now_ms else int(float(until))
            return Relationship(
                requested=requested is not None,
                blocks=blocks is not None,
                is_blocked=blocked_by is not None,
                muted_until_ms=muted_until_ms,
                hides_boosts=quieted is not None,
            )

        return Read(EncodedPipeline(wire, len(RELATING), commands), understand)

    async def blocked_either_way(self, account_id: AccountId, others: Sequence[AccountId]) -> set[AccountId]:
        """Those of `others` that the account blocks or is blocked by."""
        apart: set[AccountId]
        (apart,) = await self._store.read(self.read_blocked_either_way(account_id, others))
        return apart

    def read_blocked_either_way(self, account_id: AccountId, others: Sequence[AccountId]) -> Read[set[AccountId]]:
        """As `apart`, for a round trip that asks other things too."""

        def understand(sides: Sequence[Reply]) -> set[AccountId]:
            marked = (zip(others, scores, strict=True) for scores in sides)
            return {other for side in marked for other, score in side if score is not None}

        asked = (keys.blocks(account_id), keys.blocked_by(account_id)) if others else ()
        return Read([("ZMSCORE", key, *others) for key in asked], understand)

    async def counts(self, account_id: AccountId, now_ms: int) -> tuple[int, int, int]:
        """How many the account blocks, mutes, and hides the boosts of; without mutes that are over."""
        commands: list[Command] = [
            ("ZCARD", keys.blocks(account_id)),
            ("ZCOUNT", keys.mutes(account_id), f"({now_ms}", "+inf"),
            ("ZCARD", keys.boosts_hidden(account_id)),
        ]
        blocked, muted, quieted = await self._timelines.gather(commands)
        return blocked, muted, quieted

    async def prune(
        self, account_id: AccountId, which: int, gone: Callable[[list[AccountId]], Awaitable[list[AccountId]]]
    ) -> int:
        """Take out of what the account blocks (0), mutes (1) or quiets (2) those that `gone` names; how many.

        In parts, until some were found: whoever stands at a cap needs room for one. At most the cap is read.
        """
        key, start = COUNTED[which](account_id), 0
        while found := await self._timelines[key].execute("ZRANGE", key, start, start + AT_ONCE - 1):
            if dead := await gone([AccountId(int(member)) for member in found]):
                await self._timelines.write(key, ("ZREM", key, *dead))
                return len(dead)
            start += len(found)
        return 0

    async def blocked(self, account_id: AccountId, cursor: FollowCursor | None, limit: int) -> FollowPage:
        """Blocked last first."""
        return await read_account_page(self._timelines, keys.blocks(account_id), cursor, limit)

    async def muted(self, account_id: AccountId, cursor: FollowCursor | None, limit: int, *, now_ms: int) -> FollowPage:
        """Those whose mute ends last come first; without those that are over."""
        return await read_account_page(self._timelines, keys.mutes(account_id), cursor, limit, above=now_ms)

    async def muted_until(self, account_id: AccountId, others: Sequence[AccountId]) -> dict[AccountId, int]:
        """Until when (Unix ms) each of them is muted."""
        if not others:
            return {}
        key = keys.mutes(account_id)
        scores = await self._timelines[key].execute("ZMSCORE", key, *others)
        ends = zip(others, scores, strict=True)
        return {other: int(float(until)) for other, until in ends if until is not None}

    async def purge(self, account_id: AccountId, limit: int) -> bool:
        """One bounded round of what a deleted account leaves; True while something may be left.

        Others' mutes of it stay, as they hide nobody: whoever reaches the cap has them taken out.
        """
        own = await self._purge_sides(keys.blocks(account_id), keys.blocked_by, account_id, limit)
        mirrored = await self._purge_sides(keys.blocked_by(account_id), keys.blocks, account_id, limit)
        if own or mirrored:
            return True
        rest = keys.mutes(account_id), keys.boosts_hidden(account_id)
        await self._store.write_each([("DEL", key) for key in rest])
        return False

    async def _purge_sides(self, key: Key, other_side: KeyOf, account_id: AccountId, limit: int) -> bool:
        """The other side first: what a crash leaves is found here again."""
        found: list[bytes] = await self._timelines[key].execute("ZRANGE", key, 0, limit - 1)
        if not found:
            return False
        others = [AccountId(int(member)) for member in found]
        await self._store.write_each([("ZREM", other_side(other), account_id) for other in others])
        await self._timelines.write(key, ("ZREM", key, *others))
        return True

    async def _remove(self, key: Key, member: int) -> bool:
        (removed,) = await self._timelines.write(key, ("ZREM", key, member))
        return bool(removed)


@lru_cache(maxsize=5_000)
def _heads(account_id: AccountId) -> tuple[bytes, ...]:
    """ZSCORE of each key as it is sent, up to its member."""
    return tuple(b"*3\r\n" + encode_text("ZSCORE") + encode_text(build(account_id)) for build in RELATING)
