"""Client-side shards: several plain servers, and a partitioner that assigns tags to them.

The shard map is created at the first start and stored on every shard. Every other start compares it with the URL. While
the site runs, each process checks once per second that a shard still holds the same map before it sends commands.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache

from socialsite.concurrency import run_together
from socialsite.store.address import Address
from socialsite.store.commands import Command, encode
from socialsite.store.connection import PipelinedConnection
from socialsite.store.errors import StoreError, StoreUnavailable
from socialsite.store.node import Node, SentCommands
from socialsite.store.node_lookup import KeyBuilder, NodeGroups, NodeLookupCache, OwnerId
from socialsite.store.shared_task import SharedTask
from socialsite.store.topology.shard_map import (
    FORMED,
    ShardMap,
    StoredShardMap,
    read_shard_map,
    require_no_foreign_keys,
    require_position,
    require_same_map,
    shard_key,
)

TAG_CACHE_SIZE = 16_384
"""The maximum number of tags whose partition is cached. Pages use the same tags repeatedly."""
MAP_LEASE_S = 1.0
"""The time for which a process may use a shard after it has read its own map there.

A migration waits longer than this before it moves the first key.
"""


class ShardMapChanged(StoreUnavailable):
    """A shard has a different map, or none. Commands are not sent to it."""


class ShardNode(Node):
    """A shard. It sends commands only while its map is the map of this process."""

    def __init__(self, address: Address, *, lease_s: float = MAP_LEASE_S) -> None:
        super().__init__(address)
        self.checksum = ""
        self._lease_s = lease_s
        self._lease_until = float("-inf")
        self._renewal = SharedTask(self._renew_lease)

    def send_now(self, commands: Sequence[Command]) -> SentCommands | None:
        return None if self._needs_lease() else super().send_now(commands)

    async def _prepare(self, connection: PipelinedConnection) -> None:
        """Verify the map first, so that a shard that restarted without its data is not read as empty."""
        await super()._prepare(connection)
        await self._verify_map(connection)

    async def _before_sending(self) -> None:
        if self._needs_lease():
            await self._renewal.join()

    def _needs_lease(self) -> bool:
        return bool(self.checksum) and asyncio.get_running_loop().time() >= self._lease_until

    async def _renew_lease(self) -> None:
        await self._verify_map(self._connection or await self._connect())

    async def _verify_map(self, connection: PipelinedConnection) -> None:
        if not self.checksum:  # Shards.open has not read the map yet
            return
        sent_at = asyncio.get_running_loop().time()
        (checksum,) = await connection.send(encode(("HGET", shard_key(), "checksum")), 1, self._reply_timeout_s)
        if isinstance(checksum, StoreError):
            raise checksum
        if checksum is None:
            raise ShardMapChanged(f"{self.address} holds no map any more: it was emptied, restore its data")
        if checksum.decode() != self.checksum:
            raise ShardMapChanged(f"{self.address} holds another map than this process: restart the process")
        self._lease_until = sent_at + self._lease_s


class Shards:
    """The shards and their partitioner. `components` are stored here; their keys show that a server has data."""

    def __init__(
        self,
        addresses: Sequence[Address],
        kind: str | None,
        components: Collection[str] = (),
        *,
        lease_s: float = MAP_LEASE_S,
    ) -> None:
        self._nodes = tuple(ShardNode(address, lease_s=lease_s) for address in addresses)
        self._kind = kind
        self._components = frozenset(components)
        self._partition_of: Callable[[str], int] | None = None
        self._lookup_cache = NodeLookupCache(self.node_for)

    @property
    def nodes(self) -> tuple[Node, ...]:
        return self._nodes

    def node_for(self, tag: str) -> Node:
        assert self._partition_of is not None, "open() reads the map first"
        return self._nodes[self._partition_of(tag)]

    @property
    def node_count(self) -> int:
        return len(self._nodes)

    def group_by_node(self, owners: Sequence[OwnerId], key_of: KeyBuilder) -> NodeGroups[OwnerId]:
        return self._lookup_cache.group_by_node(owners, key_of)

    async def open(self) -> None:
        """Read the map from every shard; create it at the first start. Raises InvalidShardMap, StoreUnavailable."""
        stored_maps = await self._read_maps()
        if not any(stored is not None and stored.is_formed for stored in stored_maps):
            stored_maps = await self._form_map(stored_maps)
        shards = [self._require_position(number, stored) for number, stored in enumerate(stored_maps)]
        require_same_map(self._nodes, shards)
        forming = [node for node, shard in zip(self._nodes, shards, strict=True) if not shard.is_formed]
        await run_together(*(node.execute("HSET", shard_key(), "state", FORMED) for node in forming))
        self._partition_of = lru_cache(maxsize=TAG_CACHE_SIZE)(shards[0].shard_map.partitioner.partition_of)
        for node in self._nodes:
            node.checksum = shards[0].shard_map.checksum

    async def close(self) -> None:
        for node in self._nodes:
            await node.close()

    async def _read_maps(self) -> list[StoredShardMap | None]:
        return list(await run_together(*(read_shard_map(node) for node in self._nodes)))

    async def _form_map(self, stored_maps: Sequence[StoredShardMap | None]) -> list[StoredShardMap | None]:
        """Create the map at the first start and return the stored maps.

        The map on the first shard is used, so that processes that start together agree. Its state is `forming` until
        every shard has the map, so that the next start continues after a crash.
        """
        first = stored_maps[0]
        proposal = first.shard_map if first else ShardMap.new(self._kind or "hash", len(self._nodes))
        numbered = list(enumerate(self._nodes))
        expected = proposal.partitioner, self._components
        await run_together(*(require_no_foreign_keys(node, number, *expected) for number, node in numbered))
        await self._nodes[0].execute_all([proposal.form_command(0)])
        agreed = self._require_position(0, await read_shard_map(self._nodes[0])).shard_map
        await run_together(*(node.execute_all([agreed.form_command(number)]) for number, node in numbered[1:]))
        return await self._read_maps()

    def _require_position(self, number: int, stored: StoredShardMap | None) -> StoredShardMap:
        return require_position(self._nodes[number], stored, number, len(self._nodes), self._kind)
