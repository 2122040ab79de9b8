"""Pair edges (source, target, at_ms): each side in a ZSET, both in the pair's partition (listing 10.13).

Follows and list membership are such edges. Both sides share a tag, so every change is one script and the
sides are never unequal; counts are sizes, never stored.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from socialsite.store.commands import Command, Script, load_script
from socialsite.store.errors import PartitionLayoutChanged
from socialsite.store.key import Key
from socialsite.store.pair_partitions import PartitionLayout, partition_of_pair
from socialsite.store.store import KeyDataShardedConnection
from timelines.graph.edge_list import EdgeList
from timelines.graph.encoded_commands import KeyOfSide
from timelines.graph.follow import FIRST_PASS

ADD_EDGES = load_script("add_edges.lua", __package__)
REMOVE_EDGES = load_script("remove_edges.lua", __package__)
EDGES_PER_SCRIPT = 250  # about 1 ms of the server
TURNS_MOST = 3  # times that partitions turn over, or back, while a change waits for them
SCRIPTS_PER_ROUND = 16  # so that nobody's time-out passes behind an import

Edge = tuple[int, int, int]  # source, target, at_ms (Unix ms)
Pair = tuple[int, int]  # source, target
ArgsOf = Callable[[list[Edge], int], list[int]]  # (edges of one key, place of the other id) -> its arguments

Item = TypeVar("Item")


class PairEdges:
    """Edges of one kind; `outgoing` is the side of the sources, `incoming` that of the targets."""

    def __init__(self, pairs: KeyDataShardedConnection, *, outgoing: KeyOfSide, incoming: KeyOfSide) -> None:
        self._pairs = pairs
        self._keys = outgoing, incoming
        self.outgoing = EdgeList(pairs, outgoing)
        self.incoming = EdgeList(pairs, incoming)

    async def add(self, source: int, target: int, at_ms: int) -> bool:
        """False where the edge stood already: it keeps its time."""
        return await self.add_many([(source, target, at_ms)]) == 1

    async def remove(self, source: int, target: int) -> bool:
        return await self.remove_many([(source, target)]) == 1

    async def add_many(self, edges: Iterable[Edge]) -> int:
        """How many were new. A crash between leaves whole edges only; repeating it finishes the rest."""
        return await self._change(ADD_EDGES, edges, _add_args)

    async def remove_many(self, pairs: Iterable[Pair]) -> int:
        """How many were there."""
        return await self._change(REMOVE_EDGES, ((*pair, 0) for pair in pairs), _remove_args)

    async def has(self, source: int, target: int) -> bool:
        partition = self._pairs[source, target]
        key = self._keys[0](partition.tag, source)
        return await partition.node.execute("ZSCORE", key, target) is not None

    async def remove_all(self, id: int, limit: int) -> int:
        """Remove up to `limit` edges of an id, on either side; how many were met, 0 when none is left."""
        targets = (await self.outgoing.next_pass(id, FIRST_PASS, limit)).ids
        await self.remove_many((id, target) for target in targets)
        if len(targets) == limit:
            return limit
        sources = (await self.incoming.next_pass(id, FIRST_PASS, limit - len(targets))).ids
        await self.remove_many((source, id) for source in sources)
        return len(targets) + len(sources)

    async def _change(self, script: Script, edges: Iterable[Edge], args_of: ArgsOf) -> int:
        """Done again where the edges were cut anew meanwhile: what was done already changes nothing."""
        edges = list(edges)
        for _ in range(TURNS_MOST):
            with contextlib.suppress(PartitionLayoutChanged):
                return await self._change_under(self._pairs.layout, script, edges, args_of)
        return await self._change_under(self._pairs.layout, script, edges, args_of)

    async def _change_under(
        self, layout: PartitionLayout, script: Script, edges: Sequence[Edge], args_of: ArgsOf
    ) -> int:
        """Scripts of one partition each, several a round trip."""
        groups: dict[int, list[Edge]] = {}
        for edge in edges:
            groups.setdefault(partition_of_pair(edge[0], edge[1], layout.count), []).append(edge)
        scripts = (
            self._command(script, layout.tag_of(number), chunk, args_of)
            for number, group in groups.items()
            for chunk in _chunks(group, EDGES_PER_SCRIPT)
        )
        # Two lanes: while the server works on the scripts of one, the next ones are put together.
        return sum(await asyncio.gather(self._run(scripts), self._run(scripts)))

    async def _run(self, scripts: Iterator[Command]) -> int:
        """A lane of `_change`: some of the scripts left in one round trip, until none is left."""
        changed = 0
        while some := list(islice(scripts, SCRIPTS_PER_ROUND)):
            changed += sum(await self._pairs.write_each(some))
        return changed

    def _command(self, script: Script, tag: str, edges: Sequence[Edge], args_of: ArgsOf) -> Command:
        """One script for edges of one partition; those that share a key are written to it together."""
        outgoing: dict[int, list[Edge]] = {}
        incoming: dict[int, list[Edge]] = {}
        for edge in edges:
            outgoing.setdefault(edge[0], []).append(edge)
            incoming.setdefault(edge[1], []).append(edge)
        of_outgoing, of_incoming = self._keys
        keys: list[Key] = [of_outgoing(tag, source) for source in outgoing]
        keys += [of_incoming(tag, target) for target in incoming]
        args = [len(outgoing)]
        for shared in outgoing.values():
            args += args_of(shared, 1)
        for shared in incoming.values():
            args += args_of(shared, 0)
        return script.command(keys, args)


def _add_args(edges: list[Edge], member: int) -> list[int]:
    """For one key of add_edges.lua; `member` is the place of the other id in an edge."""
    if len(edges) == 1:  # most of an import: a pair of accounts shares its partition with few others
        edge = edges[0]
        return [2, edge[2], edge[member]]
    return [2 * len(edges), *(value for edge in edges for value in (edge[2], edge[member]))]


def _remove_args(edges: list[Edge], member: int) -> list[int]:
    """For one key of remove_edges.lua."""
    return [len(edges), *(edge[member] for edge in edges)]


def _chunks(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
