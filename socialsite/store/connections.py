"""The book's two look-ups, as the interface every repository uses (seed listings 10.11 and 10.13).

`timelines[key]` answers with the node of a key; `follows[a, b]` with the partition of a pair of ids, the same
for (b, a), so that both sides of a follow lie together and change in one script.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any
from zlib import crc32

import msgspec

from socialsite.store.key import Key
from socialsite.store.node import Node, Reply
from socialsite.store.scripts import Command

if TYPE_CHECKING:
    from socialsite.store.read import Read
    from socialsite.store.store import Store


class KeyShardedConnection:
    """Node by key, for one component (listing 10.11)."""

    def __init__(self, store: "Store", component: str) -> None:
        self._store = store
        self.component = component

    def __getitem__(self, key: Key) -> Node:
        if key.component != self.component:
            raise KeyError(f"{key} is not a key of {self.component}")
        return self._store.node(key)

    async def write(self, key: Key, *commands: Command) -> list[Reply]:
        """Commands on keys of one tag; see Store.write."""
        return await self._store.write(key, *commands)

    async def gather(self, commands: Iterable[Command], *, may_lag: bool = False) -> list[Reply]:
        """Commands on any keys of the component, one round trip a node, replies in order."""
        return await self._store.gather(commands, may_lag=may_lag)


class PartitionLayout(msgspec.Struct, frozen=True, array_like=True):
    """How the edges of a component are cut: into `count` partitions, their tags beginning with `letter`.

    `generation` rises with each change, so that whoever kept the number of a partition can tell.
    """

    prefix: str
    count: int
    version: int = 0

    def tag_of(self, number: int) -> str:
        return f"{self.prefix}{number}"

    @property
    def tags(self) -> tuple[str, ...]:
        return _build_tags(self.prefix, self.count)

    def contains_tag(self, tag: str) -> bool:
        """Whether this is the tag of one of its partitions."""
        return tag[:1] == self.prefix and tag[1:].isdigit()


@cache
def _build_tags(letter: str, count: int) -> tuple[str, ...]:
    return tuple(f"{letter}{number}" for number in range(count))


@dataclass(frozen=True, slots=True)
class Partition:
    """A numbered piece of a component's data, fixed at birth (docs/reference/architecture.md)."""

    number: int
    node: Node
    tag: str


class KeyDataShardedConnection:
    """Partition by pair of ids, for one component (listing 10.13)."""

    def __init__(self, store: "Store", component: str, count: int) -> None:
        if count < 1:
            raise ValueError("a component needs at least one partition")
        self._store = store
        self.component = component
        self._initial_layout = PartitionLayout("p", count)

    @property
    def layout(self) -> PartitionLayout:
        """How the edges are cut now: as at birth, until a command has cut them anew."""
        return self._store.partition_layouts.get(self.component, self._initial_layout)

    @property
    def count(self) -> int:
        return self.layout.count

    def __getitem__(self, pair: tuple[int, int]) -> Partition:
        return self.partition(partition_of_pair(*pair, self.count))

    def partition(self, number: int) -> Partition:
        tag = self.layout.tag_of(number)
        return Partition(number, self._store.node(Key(self.component, tag=tag, name="partition")), tag)

    @property
    def partitions(self) -> tuple[Partition, ...]:
        return tuple(self.partition(number) for number in range(self.count))

    async def gather(self, commands: Iterable[Command], *, may_lag: bool = False) -> list[Reply]:
        """Commands on keys of any partitions, one round trip a node, replies in order."""
        return await self._store.gather(commands, may_lag=may_lag)

    async def read(self, *questions: "Read[Any]") -> list[Any]:
        """The answers to questions about any partitions; see Store.ask."""
        return await self._store.read(*questions)

    async def write_each(self, commands: Sequence[Command]) -> list[Reply]:
        """Commands on keys of one partition each; see Store.write_each."""
        return await self._store.write_each(commands)


def partition_of_pair(one: int, other: int, count: int) -> int:
    """The partition of an unordered pair: crc32("min:max") mod count."""
    return partitions_of_pairs(one, (other,), count)[0]


def partitions_of_pairs(one: int, others: Iterable[int], count: int) -> list[int]:
    """The partitions of many pairs that share an id. Not kept: a look into a large table costs as much.

    As for each "min:max"; a checksum goes on from where the common beginning has brought it.
    """
    start, end = crc32(b"%d:" % one), b":%d" % one
    return [(crc32(b"%d" % each, start) if each >= one else crc32(b"%d%b" % (each, end))) % count for each in others]
