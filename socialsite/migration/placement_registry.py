"""Read and write the placement map, the leases of the processes that follow it, and the migrator's lock.

All keys have one tag in the store of the configured URL, so each step is one script.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from socialsite.batches import batches
from socialsite.migration.placement_map import (
    EMPTY_PLACEMENT_MAP,
    PlacementMap,
    changes_key,
    decode_placement_map,
    encode_placement_map,
    followed_epochs_key,
    leases_key,
    migrator_lock_key,
    record_key,
    touched_keys_key,
)
from socialsite.store.commands import load_script
from socialsite.store.node import Node
from socialsite.store.store import Topology

LEASE_MS = 3_000
LOCK_MS = 3_000
TOUCHED_KEYS_PER_COMMAND = 1_000

RENEW_LEASE, ADVANCE_EPOCH, NOT_FOLLOWING, ACQUIRE_LOCK, RELEASE_LOCK = (
    load_script(f"{name}.lua", __package__)
    for name in ("renew_lease", "advance_epoch", "not_following", "acquire_lock", "release_lock")
)


@dataclass(frozen=True, slots=True)
class LeaseRenewal:
    """The reply to a renewal. `placement_map` is None if the process knows this epoch already."""

    epoch: int
    placement_map: PlacementMap | None
    has_migrator: bool
    had_lease: bool


class PlacementRegistry:
    """The placement map and leases of one store. A method takes one round trip unless its docstring has another number.

    `required_replicas` is the number of replicas that must confirm a new map before it is used (REQUIRE_REPLICAS).
    """

    def __init__(self, topology: Topology, required_replicas: int = 0) -> None:
        self._topology = topology
        self._required_replicas = required_replicas

    @property
    def node(self) -> Node:
        return self._topology.node_for(record_key().tag)

    async def read_map(self) -> PlacementMap:
        body = await self.node.execute("HGET", record_key(), "body")
        return decode_placement_map(body) if body is not None else EMPTY_PLACEMENT_MAP

    # Processes

    async def renew_lease(self, process: str, *, followed_epoch: int, known_epoch: int) -> LeaseRenewal:
        """Renew the lease of a process that uses the map of `followed_epoch` and has read the map of `known_epoch`."""
        keys = [record_key(), leases_key(), followed_epochs_key(), migrator_lock_key()]
        epoch, body, has_migrator, had_lease = await self.node.execute(
            *RENEW_LEASE.command(keys, [process, LEASE_MS, followed_epoch, known_epoch])
        )
        placement_map = decode_placement_map(body) if body is not None else None
        return LeaseRenewal(int(epoch), placement_map, bool(has_migrator), bool(had_lease))

    async def remove_processes(self, *processes: str) -> None:
        if processes:
            await self.node.execute_all(
                [("ZREM", leases_key(), *processes), ("HDEL", followed_epochs_key(), *processes)]
            )

    async def has_process(self, process: str) -> bool:
        """Return whether the process is registered, even if its lease has expired."""
        return await self.node.execute("ZSCORE", leases_key(), process) is not None

    async def wait_for_change(self, epoch: int, wait_ms: int) -> None:
        """Wait for a later epoch, at most for `wait_ms`."""
        command = ("XREAD", "BLOCK", wait_ms, "STREAMS", changes_key(), f"{epoch}-1")
        await self.node.blocking(*command, timeout_s=wait_ms / 1000)

    async def add_touched_keys(self, number: int, keys: Collection[str]) -> None:
        """Report keys of a slice that this process wrote since the migration began. 1,000 keys take a round trip."""
        for batch in batches(keys, TOUCHED_KEYS_PER_COMMAND):
            await self.node.execute("SADD", touched_keys_key(number), *batch)

    async def roll_back(self, placement_map: PlacementMap) -> bool:
        """Move a dead migrator's slice back to the source. Return False if the map changed or a migrator is alive."""
        assert placement_map.migration is not None
        rolled_back = placement_map.next_epoch(migration=placement_map.migration.rolled_back())
        return await self.advance_epoch(rolled_back, placement_map.epoch, "")

    # The migrator

    async def acquire_lock(self, token: str) -> bool:
        """Acquire the migrator's lock, or renew it."""
        return bool(await self.node.execute(*ACQUIRE_LOCK.command([migrator_lock_key()], [token, LOCK_MS])))

    async def lock_ttl_ms(self) -> int:
        """Return the remaining TTL of the migrator's lock, or 0 if the lock is free."""
        return max(0, int(await self.node.execute("PTTL", migrator_lock_key())))

    async def release_lock(self, token: str) -> None:
        await self.node.execute(*RELEASE_LOCK.command([migrator_lock_key()], [token]))

    async def advance_epoch(self, placement_map: PlacementMap, replaced_epoch: int, token: str) -> bool:
        """Replace the map of an epoch. Return False if the epoch or the migrator does not match.

        An empty token requires that there is no migrator.
        """
        keys = [record_key(), changes_key(), migrator_lock_key()]
        args = [token, replaced_epoch, placement_map.epoch, encode_placement_map(placement_map)]
        if not self._required_replicas:
            return bool(await self.node.execute(*ADVANCE_EPOCH.command(keys, args)))
        (is_written,) = await self.node.write_all([ADVANCE_EPOCH.command(keys, args)], self._required_replicas)
        return bool(is_written)

    async def not_following(self, epoch: int) -> tuple[list[str], list[str]]:
        """Return the processes that do not follow the epoch: first those with a valid lease, then the others."""
        waiting, expired = await self.node.execute(
            *NOT_FOLLOWING.command([leases_key(), followed_epochs_key()], [epoch])
        )
        return [name.decode() for name in waiting], [name.decode() for name in expired]

    async def read_touched_keys(self, number: int) -> set[str]:
        """Return the touched keys of a slice. 1,000 keys take a round trip."""
        names: set[str] = set()
        cursor = b"0"
        while True:
            command = ("SSCAN", touched_keys_key(number), cursor, "COUNT", TOUCHED_KEYS_PER_COMMAND)
            cursor, found = await self.node.execute(*command)
            names.update(name.decode() for name in found)
            if cursor == b"0":
                return names

    async def pop_touched_keys(self, number: int) -> set[str]:
        names = await self.read_touched_keys(number)
        await self.delete_touched_keys([number])
        return names

    async def delete_touched_keys(self, numbers: Iterable[int]) -> None:
        await self.node.execute_all([("UNLINK", touched_keys_key(number)) for number in numbers])
