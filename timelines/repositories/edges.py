"""Pair edges (source, target, at_ms): each side in a ZSET, both in the pair's partition (listing 10.13).

Follows and list membership are such edges. Both sides share a tag, so every change is one script and the
sides are never unequal; counts are sizes, never stored.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import TypeVar

from socialsite.store.connections import KeyDataShardedConnection, partition_of
from socialsite.store.key import Key
from socialsite.store.scripts import Command, Script, load
from timelines.domain.follow import FIRST_PASS
from timelines.repositories.edge_side import EdgeSide, KeyOfSide

ADD_EDGES = load("add_edges.lua", __package__)
REMOVE_EDGES = load("remove_edges.lua", __package__)
EDGES_PER_SCRIPT = 500  # about 3 ms of the server
SCRIPTS_PER_ROUND = 8  # so that nobody's time-out passes behind an import

Edge = tuple[int, int, int]  # source, target, at_ms (Unix ms)
Pair = tuple[int, int]  # source, target
Change = tuple[int, int, tuple[int, ...], tuple[int, ...]]  # source, target, values for the key of each

Item = TypeVar("Item")


class PairEdges:
    """Edges of one kind; `outgoing` is the side of the sources, `incoming` that of the targets."""

    def __init__(self, pairs: KeyDataShardedConnection, *, outgoing: KeyOfSide, incoming: KeyOfSide) -> None:
        self._pairs = pairs
        self._keys = outgoing, incoming
        self.outgoing = EdgeSide(pairs, outgoing)
        self.incoming = EdgeSide(pairs, incoming)

    async def add(self, source: int, target: int, at_ms: int) -> bool:
        """False where the edge stood already: it keeps its time."""
        return await self.add_many([(source, target, at_ms)]) == 1

    async def remove(self, source: int, target: int) -> bool:
        return await self.remove_many([(source, target)]) == 1

    async def add_many(self, edges: Iterable[Edge]) -> int:
        """How many were new. A crash between leaves whole edges only; repeating it finishes the rest."""
        return await self._change(
            ADD_EDGES, ((source, target, (at_ms, target), (at_ms, source)) for source, target, at_ms in edges)
        )

    async def remove_many(self, pairs: Iterable[Pair]) -> int:
        """How many were there."""
        return await self._change(
            REMOVE_EDGES, ((source, target, (target,), (source,)) for source, target in pairs)
        )

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

    async def _change(self, script: Script, changes: Iterable[Change]) -> int:
        """Scripts of one partition each, several a round trip."""
        groups: dict[int, list[Change]] = {}
        for change in changes:
            groups.setdefault(partition_of(change[0], change[1], self._pairs.count), []).append(change)
        scripts = (
            self._command(script, f"p{number}", chunk)
            for number, group in groups.items()
            for chunk in _chunks(group, EDGES_PER_SCRIPT)
        )
        # Two lanes: while the server works on the scripts of one, the next ones are put together.
        return sum(await asyncio.gather(self._run(scripts), self._run(scripts)))

    async def _run(self, scripts: Iterator[Command]) -> int:
        """A lane of `_change`: some of the scripts left in one round trip, until none is left."""
        changed = 0
        while some := list(islice(scripts, SCRIPTS_PER_ROUND)):
            changed += sum(await self._pairs.gather(some))
        return changed

    def _command(self, script: Script, tag: str, changes: Sequence[Change]) -> Command:
        """One script for edges of one partition; those that share a key are written to it together."""
        outgoing: dict[int, list[int]] = {}
        incoming: dict[int, list[int]] = {}
        for source, target, of_source, of_target in changes:
            outgoing.setdefault(source, []).extend(of_source)
            incoming.setdefault(target, []).extend(of_target)
        of_outgoing, of_incoming = self._keys
        keys: list[Key] = [of_outgoing(tag, source) for source in outgoing]
        keys.extend(of_incoming(tag, target) for target in incoming)
        args = [len(outgoing)]
        for values in chain(outgoing.values(), incoming.values()):
            args.append(len(values))
            args.extend(values)
        return script.command(keys, args)


def _chunks(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
