"""A store arranged as the map says: opens the topologies, puts a relay before them while something moves.

Each arrangement has fresh connections, named after the move it knows of, and the nodes of the one before
forward to it: so nothing can be sent under an old map once the old names are cut.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field

from socialsite.migration.connection_gate import Guard
from socialsite.migration.fencing import name_of
from socialsite.migration.forwarding_node import Forward
from socialsite.migration.in_flight import Traffic
from socialsite.migration.migration_router import Moving, Relay
from socialsite.migration.record import HERE, Placement
from socialsite.store.node import Node
from socialsite.store.store import Store, Topology
from socialsite.store.topology.cluster import Cluster
from socialsite.store.topology.twemproxy import Proxy

TopologyOf = Callable[[str], Topology]


@dataclass(slots=True)
class Arrangement:
    """Topologies by URL, all guarded by one guard; with a relay while something moves."""

    guard: Guard
    topologies: dict[str, Topology]
    placed: dict[str, str] = field(default_factory=dict)
    home: str = HERE
    relay: Relay | None = None
    move_id: str = ""

    def nodes(self) -> list[Node]:
        found = dict.fromkeys(node for place in self.topologies.values() for node in everybody(place))
        return [*found, *([self.relay] if self.relay else [])]


class Arranger:
    """Arranges one store. `topology_of` makes a topology of a URL, which may take its time."""

    def __init__(
        self, process: str, topology_of: TopologyOf, require_lease: Callable[[], Awaitable[None]]
    ) -> None:
        self._process = process
        self._topology_of = topology_of
        self._require_lease = require_lease
        self._store: Store | None = None
        self.now: Arrangement = Arrangement(self._guard(), {})

    def begin(self, store: Store, home: str, placed: dict[str, str]) -> None:
        """The store as it was opened, by the environment; its topologies have the first guard already."""
        self._store = store
        self.now.home = home
        self.now.placed = {name: url for name, url in placed.items() if url != home}
        self.now.topologies = {str(n): place for n, place in enumerate(store.topologies)}

    def guard_first(self, topology: Topology) -> None:
        put_guard(topology, self.now.guard)

    def stands(self, record: Placement, home: str) -> bool:
        """Whether the store is arranged like this already, but for the states of slices."""
        now = self.now
        if now.guard.is_closed or now.move_id != (record.move.id if record.move else ""):
            return False
        return record.move is not None or (home, resolved(record.placed, home)) == (now.home, now.placed)

    def turn(self, record: Placement) -> Traffic | None:
        """Take over the states of slices of the move that is on."""
        if record.move is None or self.now.relay is None:
            return None
        return self.now.relay.turn(record.move.slices)

    async def rebuild(self, record: Placement, home: str) -> Arrangement:
        """Arrange the store anew and return what it was; the caller buries that. Raises StoreError."""
        assert self._store is not None
        placed = resolved(record.placed, home)
        guard = self._guard(record.move.id if record.move else "")
        urls = {home, *placed.values()}
        if record.move is not None:
            urls |= {url or home for path in record.move.paths.values() for url in (path.source, path.target)}
        fresh = Arrangement(guard, await self._open(urls, guard), placed, home)
        self._store.layouts = record.layouts_now
        if record.move is None:
            default = fresh.topologies[home]
            self._store.rearrange(default, {name: fresh.topologies[url] for name, url in placed.items()})
        else:
            fresh.move_id = record.move.id
            fresh.relay = _relay(record, fresh)
            self._store.rearrange(Moving(fresh.relay, list(fresh.topologies.values())), {})
        before, self.now = self.now, fresh
        if fresh.relay is not None and before.relay is not None and before.move_id == fresh.move_id:
            fresh.relay.touched = before.relay.touched
        before.guard.close()
        for node in before.nodes():
            if node is not before.relay:
                node.successor = Forward(self._store, node.address)
        return before

    async def bury(self, before: Arrangement) -> None:
        """Returns when nothing is under way in an arrangement that was replaced, and closes it."""
        assert self._store is not None
        try:
            if before.relay is not None:
                await before.relay.retire(Forward(self._store, before.relay.address)).ended()
            nodes = [node for node in before.nodes() if node is not before.relay]
            await asyncio.gather(*(node.settle() for node in nodes), return_exceptions=True)
        finally:  # also where the store is closed meanwhile: nobody else knows of it any more
            for topology in before.topologies.values():
                await topology.close()
        # What was given up may still lie in a server's buffer: the mover cuts every connection that bears
        # the name of no move, or another's, before it begins (Places.cut_all_but).

    def _guard(self, move_id: str = "") -> Guard:
        return Guard(name_of(self._process, move_id), self._require_lease)

    async def _open(self, urls: Iterable[str], guard: Guard) -> dict[str, Topology]:
        opened: dict[str, Topology] = {}
        try:
            for url in urls:
                opened[url] = await asyncio.to_thread(self._topology_of, url)
                put_guard(opened[url], guard)
                await opened[url].open()
        except BaseException:
            for topology in opened.values():
                await topology.close()
            raise
        return opened


def _relay(record: Placement, fresh: Arrangement) -> Relay:
    move = record.move
    assert move is not None
    default = fresh.topologies[fresh.home]
    standing = {name: fresh.topologies[url] for name, url in fresh.placed.items()}
    paths = {
        name: (fresh.topologies[path.source or fresh.home], fresh.topologies[path.target or fresh.home])
        for name, path in move.paths.items()
    }
    address = default.nodes[0].address
    tracked, reshape = move.tracked, move.reshape
    return Relay(address, default, standing, paths, move.slices, tracked=tracked, reshape=reshape)


def resolved(placed: dict[str, str], home: str) -> dict[str, str]:
    """Components that do not stand at home, and where they do."""
    return {name: url for name, url in placed.items() if url not in (HERE, home)}


def everybody(topology: Topology) -> Iterable[Node]:
    """All nodes a topology may have handed out."""
    known = topology.known if isinstance(topology, Cluster) else ()
    return dict.fromkeys((*known, *topology.nodes))


def put_guard(topology: Topology, guard: Guard) -> None:
    """Before its first connection. A proxy carries no names: what stands behind one cannot be moved."""
    if isinstance(topology, Proxy):
        return
    if isinstance(topology, Cluster):
        topology.guard = guard  # for the nodes it comes to know
    for node in everybody(topology):
        node.guard = guard
