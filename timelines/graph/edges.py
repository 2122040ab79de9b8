"""Pair edges (source, target, at_ms). Each edge is in a ZSET of its source and in a ZSET of its target.

Follows and list memberships are such edges. Both sides have the tag of the pair's partition, so that one script changes
both and they are always equal. Counts are the sizes of the sets. See Redis in Action, section 10.3, listing 10.13.
"""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Generic, TypeVar

from socialsite.concurrency import run_together
from socialsite.store import Command, Key, KeyDataShardedConnection, Read, Script, load_script
from socialsite.store.errors import PartitionLayoutChanged
from socialsite.store.pair_partitions import PartitionLayout, partitions_of_pairs
from timelines.graph.edge_list import EdgeList
from timelines.graph.follow import FIRST_PASS
from timelines.keys import EdgeKey

ADD_EDGES = load_script("add_edges.lua", __package__)
REMOVE_EDGES = load_script("remove_edges.lua", __package__)
EDGES_PER_SCRIPT = 250
"""A script of this size keeps the server busy for about 1 ms."""
CONCURRENT_SCRIPTS = 4
"""This is low enough that commands of other clients do not time out behind an import."""
MAX_LAYOUT_CHANGES = 3
"""The maximum number of times that a change is repeated because the partition layout changed."""

Edge = tuple[int, int, int]
"""A tuple of source, target and at_ms (Unix ms)."""
Pair = tuple[int, int]
"""A tuple of source and target."""

Item = TypeVar("Item")
Source = TypeVar("Source", bound=int)
Target = TypeVar("Target", bound=int)


class PairEdges(Generic[Source, Target]):
    """Edges of one kind. `outgoing` has the targets of each source, `incoming` the sources of each target."""

    def __init__(self, pairs: KeyDataShardedConnection, *, outgoing: EdgeKey, incoming: EdgeKey) -> None:
        self._pairs = pairs
        self._keys = outgoing, incoming
        self.outgoing = EdgeList[Target](pairs, outgoing)
        self.incoming = EdgeList[Source](pairs, incoming)

    async def add(self, source: int, target: int, at_ms: int) -> bool:
        """Add an edge, and return whether it is new. An existing edge keeps its time."""
        return await self.add_many([(source, target, at_ms)]) == 1

    async def remove(self, source: int, target: int) -> bool:
        return await self.remove_many([(source, target)]) == 1

    async def add_many(self, edges: Iterable[Edge]) -> int:
        """Add edges, and return how many are new.

        After a crash only whole edges exist, and a repetition adds the rest.
        """
        return await self._change(ADD_EDGES, edges)

    async def remove_many(self, pairs: Iterable[Pair]) -> int:
        """Remove edges, and return how many existed."""
        return await self._change(REMOVE_EDGES, ((*pair, 0) for pair in pairs))

    def has(self, source: int, target: Target) -> Read[bool]:
        return self.outgoing.time_of(source, target).map(lambda at_ms: at_ms is not None)

    async def remove_all(self, id: int, limit: int) -> int:
        """Remove up to `limit` edges of an id on either side.

        Return how many were read; 0 means that no edge is left.
        """
        targets = (await self.outgoing.next_pass(id, FIRST_PASS, limit)).ids
        await self.remove_many((id, target) for target in targets)
        if len(targets) == limit:
            return limit
        sources = (await self.incoming.next_pass(id, FIRST_PASS, limit - len(targets))).ids
        await self.remove_many((source, id) for source in sources)
        return len(targets) + len(sources)

    async def _change(self, script: Script, edges: Iterable[Edge]) -> int:
        """Run the script, and repeat it if the layout changed meanwhile. A repeated change has no effect."""
        edges = list(edges)
        for _ in range(MAX_LAYOUT_CHANGES):
            with contextlib.suppress(PartitionLayoutChanged):
                return await self._change_under(self._pairs.layout, script, edges)
        return await self._change_under(self._pairs.layout, script, edges)

    async def _change_under(self, layout: PartitionLayout, script: Script, edges: Sequence[Edge]) -> int:
        """Change edges under one layout. Each script changes up to EDGES_PER_SCRIPT edges of one partition."""
        groups: dict[int, list[Edge]] = {}
        for source, own in groupby(edges, itemgetter(0)):
            own_edges = list(own)
            numbers = partitions_of_pairs(source, [edge[1] for edge in own_edges], layout.count)
            for number, edge in zip(numbers, own_edges, strict=True):
                groups.setdefault(number, []).append(edge)
        scripts = (
            self._command(script, layout.tag_of(number), chunk)
            for number, group in groups.items()
            for chunk in _chunks(group, EDGES_PER_SCRIPT)
        )
        # Tasks share the scripts: the client encodes a script of one while the server runs scripts of the others.
        return sum(await run_together(*(self._run(scripts) for _ in range(CONCURRENT_SCRIPTS))))

    async def _run(self, scripts: Iterator[Command]) -> int:
        """Run all scripts, one after another. Return how many edges changed."""
        changed = 0
        for script in scripts:
            changed += sum(await self._pairs.write_all([script]))
        return changed

    def _command(self, script: Script, tag: str, edges: Sequence[Edge]) -> Command:
        """Return the script call for edges of one partition. An import makes thousands of these calls."""
        outgoing, incoming = (key(tag, 0) for key in self._keys)
        keys: list[Key] = []
        arguments: list[int] = []
        for source, target, at_ms in edges:
            keys += (outgoing.with_last_part(source), incoming.with_last_part(target))
            arguments += (at_ms, target, source)
        return script.command(keys, arguments)


def _chunks(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
