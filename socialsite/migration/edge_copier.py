"""Copy edges from one partition layout to another in the same store.

An edge is a pair of ids with a time. It is stored twice in the partition of the pair: in a sorted set of its
outgoing side and in one of its incoming side. The names of these sides come from the caller.
"""

from collections.abc import AsyncIterator, Iterable, Sequence

from socialsite.batches import batches
from socialsite.migration.errors import MigrationRefused
from socialsite.migration.key_inventory import scan_keys
from socialsite.migration.placement_map import Repartition
from socialsite.store.commands import Command, Reply
from socialsite.store.key import Key
from socialsite.store.pair_partitions import PartitionLayout, partition_of_pair
from socialsite.store.store import Store

OWNERS_PER_BATCH = 50
KEYS_PER_BATCH = 1_000

EdgeOwner = tuple[str, int]
"""The name of an outgoing side and the id whose edges it contains."""
EdgeTimes = dict[int, int]
"""Maps the id at the other end of each edge to the time of the edge in ms."""


class EdgeCopier:
    """Copies the edges of a repartition. `reverse_names` maps each outgoing side's name to its incoming side's name."""

    def __init__(self, store: Store, repartition: Repartition, reverse_names: dict[str, str]) -> None:
        self._store = store
        self._repartition = repartition
        self._reverse_names = reverse_names

    async def copy_all(self) -> dict[str, int]:
        """Copy all edges into empty partitions; return the number of edges of each outgoing side."""
        await self.delete_layout(self._repartition.target)
        counts = dict.fromkeys(self._reverse_names, 0)
        async for keys in self._outgoing_keys():
            await self._copy_keys(keys, counts)
        return counts

    async def count(self) -> dict[str, int]:
        """Return the number of edges of each outgoing side."""
        counts = dict.fromkeys(self._reverse_names, 0)
        async for keys in self._outgoing_keys():
            sizes = await self._store.execute_all([("ZCARD", key) for key in keys])
            for key, size in zip(keys, sizes, strict=True):
                if owner := self.parse_owner(key):
                    counts[owner[0]] += size
        return counts

    async def _outgoing_keys(self) -> AsyncIterator[list[Key]]:
        keys: set[Key] = set()
        for node in self._store.nodes:
            async for key in scan_keys(node):
                if self._is_in_layout(key, self._repartition.source) and self.parse_owner(key) is not None:
                    keys.add(key)
                if len(keys) >= OWNERS_PER_BATCH:
                    yield list(keys)
                    keys.clear()
        yield list(keys)

    async def _copy_keys(self, keys: Sequence[Key], counts: dict[str, int]) -> None:
        commands: list[Command] = []
        replies = await self._store.execute_all([("ZRANGE", key, 0, -1, "WITHSCORES") for key in keys])
        for key, reply in zip(keys, replies, strict=True):
            if owner := self.parse_owner(key):
                edges = _parse_edges([reply])
                counts[owner[0]] += len(edges)
                commands += self._diff_commands(owner, edges, {})
        await self._store.execute_all(commands)

    async def copy(self, owners: Iterable[EdgeOwner]) -> None:
        """Make the edges of these owners in the target layout equal to those in the source layout."""
        for batch in batches(owners, OWNERS_PER_BATCH):
            source = await self._read_edges(self._repartition.source, batch)
            target = await self._read_edges(self._repartition.target, batch)
            commands: list[Command] = []
            for owner in batch:
                commands += self._diff_commands(owner, source[owner], target[owner])
            await self._store.execute_all(commands)

    async def compare(self, owners: Iterable[EdgeOwner]) -> None:
        """Raise MigrationRefused if the edges of these owners differ between the layouts."""
        for batch in batches(owners, OWNERS_PER_BATCH):
            source = await self._read_edges(self._repartition.source, batch)
            if source != await self._read_edges(self._repartition.target, batch):
                raise MigrationRefused("edges arrived differently from how they left: nothing was changed over")

    def _diff_commands(self, owner: EdgeOwner, source: EdgeTimes, target: EdgeTimes) -> list[Command]:
        """Return the commands that make an owner's edges in the target equal to those in the source."""
        (name, id), layout = owner, self._repartition.target
        commands: list[Command] = []
        for other_id in target.keys() - source.keys():
            tag = layout.tag_of(partition_of_pair(id, other_id, layout.count))
            commands += [("ZREM", self._key(tag, name, id), other_id)]
            commands += [("ZREM", self._key(tag, self._reverse_names[name], other_id), id)]
        for other_id, at_ms in source.items():
            if target.get(other_id) != at_ms:
                tag = layout.tag_of(partition_of_pair(id, other_id, layout.count))
                commands += [("ZADD", self._key(tag, name, id), at_ms, other_id)]
                commands += [("ZADD", self._key(tag, self._reverse_names[name], other_id), at_ms, id)]
        return commands

    async def _read_edges(self, layout: PartitionLayout, owners: Sequence[EdgeOwner]) -> dict[EdgeOwner, EdgeTimes]:
        keys = [self._key(tag, name, id) for name, id in owners for tag in layout.tags]
        replies = await self._store.execute_all([("ZRANGE", key, 0, -1, "WITHSCORES") for key in keys])
        width = layout.count
        return {
            owner: _parse_edges(replies[number * width : (number + 1) * width]) for number, owner in enumerate(owners)
        }

    def parse_owner(self, key: Key) -> EdgeOwner | None:
        """Return the owner of an outgoing key, or None for other keys.

        An incoming key is copied with its outgoing keys.
        """
        name, _, id = key.partition("}:")[2].partition(":")
        return (name, int(id)) if name in self._reverse_names and id.isdigit() else None

    def _key(self, tag: str, name: str, id: int) -> Key:
        return Key(self._repartition.component, tag=tag, name=f"{name}:{id}")

    def _is_in_layout(self, key: Key, layout: PartitionLayout) -> bool:
        return key.component == self._repartition.component and layout.contains_tag(key.tag)

    async def delete_layout(self, layout: PartitionLayout) -> None:
        for node in self._store.nodes:
            keys = [key async for key in scan_keys(node) if self._is_in_layout(key, layout)]
            for batch in batches(keys, KEYS_PER_BATCH):
                await self._store.execute_all([("UNLINK", key) for key in batch])


def _parse_edges(replies: Iterable[Reply]) -> EdgeTimes:
    return {
        int(member): int(float(score))
        for reply in replies
        for member, score in zip(reply[::2], reply[1::2], strict=True)
    }
