"""Where the map hangs: its record, the leases of those who keep to it, the lock of the one who changes it.

All on one tag of the store that the environment names, so each step is one script.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Protocol

from socialsite.migration import record as keys
from socialsite.migration.record import NOTHING, Placement, decode_record, encode_record
from socialsite.store.node import Node
from socialsite.store.scripts import load

LEASE_MS = 3_000
LOCK_MS = 3_000
TOUCHED_AT_ONCE = 1_000

HOLD, ADVANCE, LAGGARDS, LOCK, UNLOCK = (
    load(f"{name}.lua", __package__) for name in ("hold", "advance", "laggards", "lock", "unlock")
)


class HasNodes(Protocol):
    def node_for(self, tag: str) -> Node: ...


@dataclass(frozen=True, slots=True)
class Held:
    """What a renewal learned; `record` is None where the epoch is the one known."""

    epoch: int
    record: Placement | None
    has_mover: bool
    had_lease: bool


class Board:
    """The board of one store. Knows no process and no move; every method is one round trip."""

    def __init__(self, topology: HasNodes, replicas: int = 0) -> None:
        self._topology = topology
        self._replicas = replicas
        """That have to hold the map before a step is relied upon (REQUIRE_REPLICAS)."""

    @property
    def node(self) -> Node:
        return self._topology.node_for(keys.record_key().tag)

    async def read(self) -> Placement:
        body = await self.node.execute("HGET", keys.record_key(), "body")
        return decode_record(body) if body is not None else NOTHING

    # Processes

    async def hold(self, process: str, *, seen: int, known: int) -> Held:
        """Renew the lease of a process that follows `seen` and has read `known`."""
        at = [keys.record_key(), keys.leases_key(), keys.seen_key(), keys.mover_key()]
        epoch, body, has_mover, had_lease = await self.node.run(HOLD, at, [process, LEASE_MS, seen, known])
        record = decode_record(body) if body is not None else None
        return Held(int(epoch), record, bool(has_mover), bool(had_lease))

    async def leave(self, *processes: str) -> None:
        if processes:
            commands = [("ZREM", keys.leases_key(), *processes), ("HDEL", keys.seen_key(), *processes)]
            await self.node.pipeline(commands)

    async def lists(self, process: str) -> bool:
        """Whether a process has, or had, a lease: the mover takes it from the list when it has cut it off."""
        return await self.node.execute("ZSCORE", keys.leases_key(), process) is not None

    async def wait_for_change(self, epoch: int, wait_ms: int) -> None:
        """Returns when there is a later epoch than this, or when the time is over."""
        command = ("XREAD", "BLOCK", wait_ms, "STREAMS", keys.changes_key(), f"{epoch}-1")
        await self.node.blocking(*command, timeout_s=wait_ms / 1000)

    async def note_touched(self, number: int, touched: Collection[str]) -> None:
        """Keys of a slice that this process wrote since the move began."""
        listed, key = list(touched), keys.touched_key(number)
        for start in range(0, len(listed), TOUCHED_AT_ONCE):
            await self.node.execute("SADD", key, *listed[start : start + TOUCHED_AT_ONCE])

    async def thaw(self, record: Placement) -> bool:
        """A mover died: its slice goes back to the source. False where another mover came, or was quicker."""
        assert record.move is not None
        return await self._write(record.after(move=record.move.thawed()), record.epoch, "")

    # The mover

    async def lock(self, token: str) -> bool:
        """Become the mover, or stay it."""
        return bool(await self.node.run(LOCK, [keys.mover_key()], [token, LOCK_MS]))

    async def lock_left_ms(self) -> int:
        """How long the lock of whoever holds it lasts if it is not renewed."""
        return max(0, int(await self.node.execute("PTTL", keys.mover_key())))

    async def unlock(self, token: str) -> None:
        await self.node.run(UNLOCK, [keys.mover_key()], [token])

    async def advance(self, record: Placement, replaced: int, token: str) -> bool:
        """Put `record` in the place of epoch `replaced`. False where another mover was at it."""
        return await self._write(record, replaced, token)

    async def laggards(self, epoch: int) -> tuple[list[str], list[str]]:
        """(processes that still have to follow, processes whose lease ended before they did)"""
        at = [keys.leases_key(), keys.seen_key()]
        waiting, lapsed = await self.node.run(LAGGARDS, at, [epoch])
        return [name.decode() for name in waiting], [name.decode() for name in lapsed]

    async def touched(self, number: int) -> set[str]:
        return {name.decode() for name in await self.node.execute("SMEMBERS", keys.touched_key(number))}

    async def take_touched(self, number: int) -> set[str]:
        """As `touched`, and forgets them."""
        names = await self.touched(number)
        await self.forget_touched([number])
        return names

    async def forget_touched(self, numbers: Iterable[int]) -> None:
        await self.node.pipeline([("UNLINK", keys.touched_key(number)) for number in numbers])

    async def _write(self, record: Placement, replaced: int, token: str) -> bool:
        at = [keys.record_key(), keys.changes_key(), keys.mover_key()]
        args = [token, replaced, record.epoch, encode_record(record)]
        if not self._replicas:
            return bool(await self.node.run(ADVANCE, at, args))
        (is_written,) = await self.node.confirmed([ADVANCE.command(at, args)], self._replicas)
        return bool(is_written)
