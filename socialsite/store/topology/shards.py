"""Client-side shards: several plain servers, a partitioner that says who holds which tag.

The map is made at first start, stored on every shard and held against the URL at every other start; a running
process looks once a second whether its shards still hold it, before it sends anything.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache

from socialsite.store.address import Address
from socialsite.store.commands import Command, Reply, encode
from socialsite.store.connection import PipelinedConnection
from socialsite.store.errors import StoreError, StoreUnavailable
from socialsite.store.node import Node
from socialsite.store.node_lookup import KeyBuilder, NodeGroups, NodeLookupCache, OwnerId
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

TAG_CACHE_SIZE = 65_536
"""Tags whose partition is remembered: pages ask for the same ones again and again."""
MAP_LEASE_S = 1.0
"""A process may send to a shard for so long after it has seen its own map there. Who changes a map waits
longer than this before the first key moves."""


class ShardMapChanged(StoreUnavailable):
    """A shard holds another map than this process, or none: nothing is sent to it."""


class ShardNode(Node):
    """A shard. Refuses to send what belongs to another map than the one it holds."""

    def __init__(self, address: Address, *, lease_s: float = MAP_LEASE_S) -> None:
        super().__init__(address)
        self.checksum = ""
        self._lease_s = lease_s
        self._lease_until = float("-inf")
        self._renewal_task: asyncio.Task[None] | None = None

    async def send_encoded(self, payload: bytes, replies: int, *, required_replicas: int = 0) -> list[Reply]:
        await self._ensure_lease()
        return await super().send_encoded(payload, replies, required_replicas=required_replicas)

    async def pipeline_with_wait(self, commands: Sequence[Command], replicas: int) -> list[Reply]:
        await self._ensure_lease()
        return await super().pipeline_with_wait(commands, replicas)

    async def blocking(self, *command: object, timeout_s: float) -> Reply:
        await self._ensure_lease()
        return await super().blocking(*command, timeout_s=timeout_s)

    async def _send_commands(self, commands: Sequence[Command]) -> list[Reply]:
        await self._ensure_lease()
        return await super()._send_commands(commands)

    async def _prepare(self, connection: PipelinedConnection) -> None:
        """Look at once: who was restarted without its data must not be read as empty."""
        await super()._prepare(connection)
        await self._verify_map(connection)

    async def _ensure_lease(self) -> None:
        if self.checksum and asyncio.get_running_loop().time() >= self._lease_until:
            if self._renewal_task is None or self._renewal_task.done():
                self._renewal_task = asyncio.create_task(self._renew_lease())
                self._renewal_task.add_done_callback(_ignore_exception)
            await asyncio.shield(self._renewal_task)

    async def _renew_lease(self) -> None:
        """Renew the lease: all who wait for it share one look."""
        await self._verify_map(self._connection or await self._connect())

    async def _verify_map(self, connection: PipelinedConnection) -> None:
        if not self.checksum:  # the map is being read for the first time
            return
        asked_at = asyncio.get_running_loop().time()
        (held,) = await connection.send(encode(("HGET", shard_key(), "checksum")), 1, self._reply_timeout_s)
        if isinstance(held, StoreError):
            raise held
        if held is None:
            raise ShardMapChanged(f"{self.address} holds no map any more: it was emptied, restore its data")
        if held.decode() != self.checksum:
            raise ShardMapChanged(f"{self.address} holds another map than this process: restart the process")
        self._lease_until = asked_at + self._lease_s


class Shards:
    """Tags on shards. `components`: what lives here, for the look at servers that hold data already."""

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
        """Read the map from every shard, make it at the first start. Raises InvalidShardMap, StoreUnavailable."""
        held = await self._read_maps()
        if not any(each is not None and each.is_formed for each in held):
            held = await self._form_map(held)
        shards = [self._require_position(number, each) for number, each in enumerate(held)]
        require_same_map(self._nodes, shards)
        await self._execute_on_all(("HSET", shard_key(), "state", FORMED))
        self._partition_of = lru_cache(maxsize=TAG_CACHE_SIZE)(shards[0].shard_map.partitioner.partition_of)
        for node in self._nodes:
            node.checksum = shards[0].shard_map.checksum

    async def close(self) -> None:
        for node in self._nodes:
            await node.close()

    async def _read_maps(self) -> list[StoredShardMap | None]:
        return list(await asyncio.gather(*(read_shard_map(node) for node in self._nodes)))

    async def _execute_on_all(self, command: Command) -> None:
        await asyncio.gather(*(node.execute(*command) for node in self._nodes))

    async def _form_map(self, held: Sequence[StoredShardMap | None]) -> list[StoredShardMap | None]:
        """First start: the first shard decides about the map, so that processes that start together agree.

        It is `forming` until every shard holds it: a start that was broken off goes on where it stopped.
        """
        wanted = held[0].shard_map if held[0] else ShardMap.new(self._kind or "hash", len(self._nodes))
        places = [(node, number) for number, node in enumerate(self._nodes)]
        looks = (require_no_foreign_keys(*place, wanted.partitioner, self._components) for place in places)
        await asyncio.gather(*looks)
        await self._nodes[0].pipeline([wanted.form_command(0)])
        first = await read_shard_map(self._nodes[0])
        agreed = self._require_position(0, first).shard_map
        await asyncio.gather(*(node.pipeline([agreed.form_command(number)]) for node, number in places[1:]))
        return await self._read_maps()

    def _require_position(self, number: int, held: StoredShardMap | None) -> StoredShardMap:
        return require_position(self._nodes[number], held, number, len(self._nodes), self._kind)


def _ignore_exception(look: "asyncio.Task[None]") -> None:
    """Whoever waited for it may have been cancelled; the next to come looks again."""
    if not look.cancelled():
        look.exception()
