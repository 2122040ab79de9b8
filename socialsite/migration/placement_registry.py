"""Where the map hangs: its record, the leases of those who keep to it, the lock of the one who changes it.

All on one tag of the store that the environment names, so each step is one script.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Protocol

from socialsite.migration import record as keys
from socialsite.migration.record import (
    EMPTY_PLACEMENT_MAP,
    PlacementMap,
    decode_placement_map,
    encode_placement_map,
)
from socialsite.store.commands import load_script
from socialsite.store.node import Node

LEASE_MS = 3_000
LOCK_MS = 3_000
TOUCHED_KEYS_PER_COMMAND = 1_000

RENEW_LEASE, ADVANCE_EPOCH, NOT_FOLLOWING, ACQUIRE_LOCK, RELEASE_LOCK = (
    load_script(f"{name}.lua", __package__) for name in ("hold", "advance", "laggards", "lock", "unlock")
)


class HasNodes(Protocol):
    def node_for(self, tag: str) -> Node: ...


@dataclass(frozen=True, slots=True)
class LeaseRenewal:
    """What a renewal learned; `record` is None where the epoch is the one known."""

    epoch: int
    placement_map: PlacementMap | None
    has_migrator: bool
    had_lease: bool


class PlacementRegistry:
    """The board of one store. Knows no process and no move; every method is one round trip."""

    def __init__(self, topology: HasNodes, replicas: int = 0) -> None:
        self._topology = topology
        self._required_replicas = replicas
        """That have to hold the map before a step is relied upon (REQUIRE_REPLICAS)."""

    @property
    def node(self) -> Node:
        return self._topology.node_for(keys.record_key().tag)

    async def read_map(self) -> PlacementMap:
        body = await self.node.execute("HGET", keys.record_key(), "body")
        return decode_placement_map(body) if body is not None else EMPTY_PLACEMENT_MAP

    # Processes

    async def renew_lease(self, process: str, *, followed_epoch: int, known_epoch: int) -> LeaseRenewal:
        """Renew the lease of a process that follows `seen` and has read `known`."""
        at = [keys.record_key(), keys.leases_key(), keys.followed_epochs_key(), keys.migrator_lock_key()]
        epoch, body, has_mover, had_lease = await self.node.run(
            RENEW_LEASE, at, [process, LEASE_MS, followed_epoch, known_epoch]
        )
        record = decode_placement_map(body) if body is not None else None
        return LeaseRenewal(int(epoch), record, bool(has_mover), bool(had_lease))

    async def remove_processes(self, *processes: str) -> None:
        if processes:
            commands = [
                ("ZREM", keys.leases_key(), *processes),
                ("HDEL", keys.followed_epochs_key(), *processes),
            ]
            await self.node.pipeline(commands)

    async def has_process(self, process: str) -> bool:
        """Whether a process has, or had, a lease: the mover takes it from the list when it has cut it off."""
        return await self.node.execute("ZSCORE", keys.leases_key(), process) is not None

    async def wait_for_change(self, epoch: int, wait_ms: int) -> None:
        """Returns when there is a later epoch than this, or when the time is over."""
        command = ("XREAD", "BLOCK", wait_ms, "STREAMS", keys.changes_key(), f"{epoch}-1")
        await self.node.blocking(*command, timeout_s=wait_ms / 1000)

    async def add_touched_keys(self, number: int, touched: Collection[str]) -> None:
        """Keys of a slice that this process wrote since the move began."""
        listed, key = list(touched), keys.touched_keys_key(number)
        for start in range(0, len(listed), TOUCHED_KEYS_PER_COMMAND):
            await self.node.execute("SADD", key, *listed[start : start + TOUCHED_KEYS_PER_COMMAND])

    async def roll_back(self, record: PlacementMap) -> bool:
        """A mover died: its slice goes back to the source. False where another mover came, or was quicker."""
        assert record.move is not None
        return await self._replace_map(record.next_epoch(move=record.move.rolled_back()), record.epoch, "")

    # The mover

    async def acquire_lock(self, token: str) -> bool:
        """Become the mover, or stay it."""
        return bool(await self.node.run(ACQUIRE_LOCK, [keys.migrator_lock_key()], [token, LOCK_MS]))

    async def lock_ttl_ms(self) -> int:
        """How long the lock of whoever holds it lasts if it is not renewed."""
        return max(0, int(await self.node.execute("PTTL", keys.migrator_lock_key())))

    async def release_lock(self, token: str) -> None:
        await self.node.run(RELEASE_LOCK, [keys.migrator_lock_key()], [token])

    async def advance_epoch(self, record: PlacementMap, replaced: int, token: str) -> bool:
        """Put `record` in the place of epoch `replaced`. False where another mover was at it."""
        return await self._replace_map(record, replaced, token)

    async def not_following(self, epoch: int) -> tuple[list[str], list[str]]:
        """(processes that still have to follow, processes whose lease ended before they did)"""
        at = [keys.leases_key(), keys.followed_epochs_key()]
        waiting, lapsed = await self.node.run(NOT_FOLLOWING, at, [epoch])
        return [name.decode() for name in waiting], [name.decode() for name in lapsed]

    async def read_touched_keys(self, number: int) -> set[str]:
        return {name.decode() for name in await self.node.execute("SMEMBERS", keys.touched_keys_key(number))}

    async def pop_touched_keys(self, number: int) -> set[str]:
        """As `touched`, and forgets them."""
        names = await self.read_touched_keys(number)
        await self.delete_touched_keys([number])
        return names

    async def delete_touched_keys(self, numbers: Iterable[int]) -> None:
        await self.node.pipeline([("UNLINK", keys.touched_keys_key(number)) for number in numbers])

    async def _replace_map(self, record: PlacementMap, replaced: int, token: str) -> bool:
        at = [keys.record_key(), keys.changes_key(), keys.migrator_lock_key()]
        args = [token, replaced, record.epoch, encode_placement_map(record)]
        if not self._required_replicas:
            return bool(await self.node.run(ADVANCE_EPOCH, at, args))
        (is_written,) = await self.node.pipeline_with_wait([ADVANCE_EPOCH.command(at, args)], self._required_replicas)
        return bool(is_written)
