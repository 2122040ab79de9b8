"""Copying edges from one layout of partitions to another, beside each other in one store."""

from collections.abc import AsyncIterator, Iterable, Sequence
from itertools import islice

from socialsite.migration.errors import MoveRefused
from socialsite.migration.key_inventory import scanned
from socialsite.migration.record import Reshape
from socialsite.store.connections import Layout, partition_of
from socialsite.store.key import Key
from socialsite.store.node import Reply
from socialsite.store.scripts import Command
from socialsite.store.store import Store

OWNERS_AT_ONCE = 50
KEYS_AT_ONCE = 1_000

Owner = tuple[str, int]
Edges = dict[int, int]  # the other end -> ms


class EdgeCopier:
    """`sides`: the name of an edge's outgoing key -> that of its incoming one."""

    def __init__(self, store: Store, reshape: Reshape, sides: dict[str, str]) -> None:
        self._store = store
        self._reshape = reshape
        self._sides = sides

    async def copy_all(self) -> dict[str, int]:
        """Everything that stands, into empty partitions; how many edges, by their outgoing side."""
        await self.clear(self._reshape.target)
        counts = dict.fromkeys(self._sides, 0)
        async for keys in self._standing():
            await self._copy_keys(keys, counts)
        return counts

    async def count(self) -> dict[str, int]:
        """How many edges stand, by their outgoing side."""
        counts = dict.fromkeys(self._sides, 0)
        async for keys in self._standing():
            sizes = await self._store.gather([("ZCARD", key) for key in keys])
            for key, size in zip(keys, sizes, strict=True):
                ((name, _),) = self.owner(key)
                counts[name] += size
        return counts

    async def _standing(self) -> AsyncIterator[list[Key]]:
        """Keys of outgoing edges, some at once."""
        keys: set[Key] = set()
        for node in self._store.nodes:
            async for key in scanned(node):
                if key.component == self._reshape.component and self._reshape.source.holds(key.tag):
                    keys |= {key} if self.owner(key) else set()
                if len(keys) >= KEYS_AT_ONCE:
                    yield list(keys)
                    keys.clear()
        yield list(keys)

    async def _copy_keys(self, keys: Sequence[Key], counts: dict[str, int]) -> None:
        commands: list[Command] = []
        replies = await self._store.gather([("ZRANGE", key, 0, -1, "WITHSCORES") for key in keys])
        for key, reply in zip(keys, replies, strict=True):
            (owner,), edges = self.owner(key), _edges([reply])
            counts[owner[0]] += len(edges)
            commands += self._changes(owner, edges, {})
        await self._store.gather(commands)

    async def copy(self, owners: Iterable[Owner]) -> None:
        """Make the new partitions hold just the edges that the old ones hold, of these owners."""
        for part in _parts(owners):
            wanted = await self._read(self._reshape.source, part)
            held = await self._read(self._reshape.target, part)
            commands: list[Command] = []
            for owner in part:
                commands += self._changes(owner, wanted[owner], held[owner])
            await self._store.gather(commands)

    async def compare(self, owners: Iterable[Owner]) -> None:
        for part in _parts(owners):
            if await self._read(self._reshape.source, part) != await self._read(self._reshape.target, part):
                raise MoveRefused("edges arrived differently from how they left: nothing was changed over")

    def _changes(self, owner: Owner, wanted: Edges, held: Edges) -> list[Command]:
        (name, id), layout = owner, self._reshape.target
        commands: list[Command] = []
        for other in held.keys() - wanted.keys():
            tag = layout.tag(partition_of(id, other, layout.count))
            commands += [("ZREM", self._key(tag, name, id), other)]
            commands += [("ZREM", self._key(tag, self._sides[name], other), id)]
        for other, at_ms in wanted.items():
            if held.get(other) != at_ms:
                tag = layout.tag(partition_of(id, other, layout.count))
                commands += [("ZADD", self._key(tag, name, id), at_ms, other)]
                commands += [("ZADD", self._key(tag, self._sides[name], other), at_ms, id)]
        return commands

    async def _read(self, layout: Layout, owners: Sequence[Owner]) -> dict[Owner, Edges]:
        keys = [self._key(tag, name, id) for name, id in owners for tag in layout.tags]
        replies = await self._store.gather([("ZRANGE", key, 0, -1, "WITHSCORES") for key in keys])
        width = layout.count
        return {
            owner: _edges(replies[place * width : (place + 1) * width]) for place, owner in enumerate(owners)
        }

    def owner(self, key: Key) -> set[Owner]:
        """Whose outgoing edges a key holds; none for the other ends, which change together with them."""
        name, _, id = key.partition("}:")[2].partition(":")
        return {(name, int(id))} if name in self._sides and id.isdigit() else set()

    def _key(self, tag: str, name: str, id: int) -> Key:
        return Key(self._reshape.component, tag=tag, name=f"{name}:{id}")

    async def clear(self, layout: Layout) -> None:
        """Delete all partitions of a layout."""
        for node in self._store.nodes:
            keys = [key async for key in scanned(node)]
            ours = [k for k in keys if k.component == self._reshape.component and layout.holds(k.tag)]
            for start in range(0, len(ours), 1_000):
                await self._store.gather([("UNLINK", key) for key in ours[start : start + 1_000]])


def _edges(replies: Iterable[Reply]) -> Edges:
    return {
        int(member): int(float(score))
        for reply in replies
        for member, score in zip(reply[::2], reply[1::2], strict=True)
    }


def _parts(owners: Iterable[Owner]) -> Iterable[list[Owner]]:
    left = iter(owners)
    while part := list(islice(left, OWNERS_AT_ONCE)):
        yield part
