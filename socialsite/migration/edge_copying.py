"""Copying edges from one layout of partitions to another, beside each other in one store."""

from collections.abc import AsyncIterator, Iterable, Sequence
from itertools import islice

from socialsite.migration.errors import MigrationRefused
from socialsite.migration.key_inventory import scan_keys
from socialsite.migration.record import Repartition
from socialsite.store.commands import Command, Reply
from socialsite.store.key import Key
from socialsite.store.pair_partitions import PartitionLayout, partition_of_pair
from socialsite.store.store import Store

OWNERS_PER_BATCH = 50
KEYS_PER_BATCH = 1_000

EdgeOwner = tuple[str, int]
EdgeTimes = dict[int, int]  # the other end -> ms


class EdgeCopier:
    """`sides`: the name of an edge's outgoing key -> that of its incoming one."""

    def __init__(self, store: Store, reshape: Repartition, sides: dict[str, str]) -> None:
        self._store = store
        self._repartition = reshape
        self._reverse_names = sides

    async def copy_all(self) -> dict[str, int]:
        """Everything that stands, into empty partitions; how many edges, by their outgoing side."""
        await self.delete_layout(self._repartition.target)
        counts = dict.fromkeys(self._reverse_names, 0)
        async for keys in self._outgoing_keys():
            await self._copy_keys(keys, counts)
        return counts

    async def count(self) -> dict[str, int]:
        """How many edges stand, by their outgoing side."""
        counts = dict.fromkeys(self._reverse_names, 0)
        async for keys in self._outgoing_keys():
            sizes = await self._store.gather([("ZCARD", key) for key in keys])
            for key, size in zip(keys, sizes, strict=True):
                ((name, _),) = self.parse_owner(key)
                counts[name] += size
        return counts

    async def _outgoing_keys(self) -> AsyncIterator[list[Key]]:
        """Keys of outgoing edges, some at once."""
        keys: set[Key] = set()
        for node in self._store.nodes:
            async for key in scan_keys(node):
                if key.component == self._repartition.component and self._repartition.source.contains_tag(key.tag):
                    keys |= {key} if self.parse_owner(key) else set()
                if len(keys) >= KEYS_PER_BATCH:
                    yield list(keys)
                    keys.clear()
        yield list(keys)

    async def _copy_keys(self, keys: Sequence[Key], counts: dict[str, int]) -> None:
        commands: list[Command] = []
        replies = await self._store.gather([("ZRANGE", key, 0, -1, "WITHSCORES") for key in keys])
        for key, reply in zip(keys, replies, strict=True):
            (owner,), edges = self.parse_owner(key), _parse_edges([reply])
            counts[owner[0]] += len(edges)
            commands += self._diff_commands(owner, edges, {})
        await self._store.gather(commands)

    async def copy(self, owners: Iterable[EdgeOwner]) -> None:
        """Make the new partitions hold just the edges that the old ones hold, of these owners."""
        for part in _batches(owners):
            wanted = await self._read_edges(self._repartition.source, part)
            held = await self._read_edges(self._repartition.target, part)
            commands: list[Command] = []
            for owner in part:
                commands += self._diff_commands(owner, wanted[owner], held[owner])
            await self._store.gather(commands)

    async def compare(self, owners: Iterable[EdgeOwner]) -> None:
        for part in _batches(owners):
            if await self._read_edges(self._repartition.source, part) != await self._read_edges(
                self._repartition.target, part
            ):
                raise MigrationRefused("edges arrived differently from how they left: nothing was changed over")

    def _diff_commands(self, owner: EdgeOwner, wanted: EdgeTimes, held: EdgeTimes) -> list[Command]:
        (name, id), layout = owner, self._repartition.target
        commands: list[Command] = []
        for other in held.keys() - wanted.keys():
            tag = layout.tag_of(partition_of_pair(id, other, layout.count))
            commands += [("ZREM", self._key(tag, name, id), other)]
            commands += [("ZREM", self._key(tag, self._reverse_names[name], other), id)]
        for other, at_ms in wanted.items():
            if held.get(other) != at_ms:
                tag = layout.tag_of(partition_of_pair(id, other, layout.count))
                commands += [("ZADD", self._key(tag, name, id), at_ms, other)]
                commands += [("ZADD", self._key(tag, self._reverse_names[name], other), at_ms, id)]
        return commands

    async def _read_edges(self, layout: PartitionLayout, owners: Sequence[EdgeOwner]) -> dict[EdgeOwner, EdgeTimes]:
        keys = [self._key(tag, name, id) for name, id in owners for tag in layout.tags]
        replies = await self._store.gather([("ZRANGE", key, 0, -1, "WITHSCORES") for key in keys])
        width = layout.count
        return {owner: _parse_edges(replies[place * width : (place + 1) * width]) for place, owner in enumerate(owners)}

    def parse_owner(self, key: Key) -> set[EdgeOwner]:
        """Whose outgoing edges a key holds; none for the other ends, which change together with them."""
        name, _, id = key.partition("}:")[2].partition(":")
        return {(name, int(id))} if name in self._reverse_names and id.isdigit() else set()

    def _key(self, tag: str, name: str, id: int) -> Key:
        return Key(self._repartition.component, tag=tag, name=f"{name}:{id}")

    async def delete_layout(self, layout: PartitionLayout) -> None:
        """Delete all partitions of a layout."""
        for node in self._store.nodes:
            keys = [key async for key in scan_keys(node)]
            ours = [k for k in keys if k.component == self._repartition.component and layout.contains_tag(k.tag)]
            for start in range(0, len(ours), 1_000):
                await self._store.gather([("UNLINK", key) for key in ours[start : start + 1_000]])


def _parse_edges(replies: Iterable[Reply]) -> EdgeTimes:
    return {
        int(member): int(float(score))
        for reply in replies
        for member, score in zip(reply[::2], reply[1::2], strict=True)
    }


def _batches(owners: Iterable[EdgeOwner]) -> Iterable[list[EdgeOwner]]:
    left = iter(owners)
    while part := list(islice(left, OWNERS_PER_BATCH)):
        yield part
