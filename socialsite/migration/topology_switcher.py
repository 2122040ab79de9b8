"""A store arranged as the map says: opens the topologies, puts a relay before them while something moves.

Each arrangement has fresh connections, named after the move it knows of, and the nodes of the one before
forward to it: so nothing can be sent under an old map once the old names are cut.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field

from socialsite.migration.connection_gate import ConnectionGate
from socialsite.migration.fencing import client_name
from socialsite.migration.forwarding_node import ForwardingNode
from socialsite.migration.in_flight import InFlight
from socialsite.migration.migration_router import MigratingTopology, MigrationRouter
from socialsite.migration.record import THIS_STORE, PlacementMap
from socialsite.store.node import Node
from socialsite.store.store import Store, Topology
from socialsite.store.topology.cluster import Cluster
from socialsite.store.topology.twemproxy import Twemproxy

TopologyFactory = Callable[[str], Topology]


@dataclass(slots=True)
class ActiveTopology:
    """Topologies by URL, all guarded by one guard; with a relay while something moves."""

    gate: ConnectionGate
    topologies: dict[str, Topology]
    component_urls: dict[str, str] = field(default_factory=dict)
    home_url: str = THIS_STORE
    router: MigrationRouter | None = None
    migration_id: str = ""

    def nodes(self) -> list[Node]:
        found = dict.fromkeys(node for place in self.topologies.values() for node in all_nodes(place))
        return [*found, *([self.router] if self.router else [])]


class TopologySwitcher:
    """Arranges one store. `topology_of` makes a topology of a URL, which may take its time."""

    def __init__(
        self, process: str, topology_of: TopologyFactory, require_lease: Callable[[], Awaitable[None]]
    ) -> None:
        self._process = process
        self._create_topology = topology_of
        self._require_lease = require_lease
        self._store: Store | None = None
        self.active: ActiveTopology = ActiveTopology(self._create_gate(), {})

    def set_store(self, store: Store, home: str, placed: dict[str, str]) -> None:
        """The store as it was opened, by the environment; its topologies have the first guard already."""
        self._store = store
        self.active.home_url = home
        self.active.component_urls = {name: url for name, url in placed.items() if url != home}
        self.active.topologies = {str(n): place for n, place in enumerate(store.topologies)}

    def set_first_gate(self, topology: Topology) -> None:
        set_gate(topology, self.active.gate)

    def is_current(self, record: PlacementMap, home: str) -> bool:
        """Whether the store is arranged like this already, but for the states of slices."""
        now = self.active
        if now.gate.is_closed or now.migration_id != (record.move.id if record.move else ""):
            return False
        return record.move is not None or (home, urls_away_from_home(record.placed, home)) == (
            now.home_url,
            now.component_urls,
        )

    def set_slice_states(self, record: PlacementMap) -> InFlight | None:
        """Take over the states of slices of the move that is on."""
        if record.move is None or self.active.router is None:
            return None
        return self.active.router.set_slice_states(record.move.slices)

    async def switch(self, record: PlacementMap, home: str) -> ActiveTopology:
        """Arrange the store anew and return what it was; the caller buries that. Raises StoreError."""
        assert self._store is not None
        placed = urls_away_from_home(record.placed, home)
        guard = self._create_gate(record.move.id if record.move else "")
        urls = {home, *placed.values()}
        if record.move is not None:
            urls |= {url or home for path in record.move.paths.values() for url in (path.source, path.target)}
        fresh = ActiveTopology(guard, await self._open_topologies(urls, guard), placed, home)
        self._store.partition_layouts = record.current_layouts
        if record.move is None:
            default = fresh.topologies[home]
            self._store.set_topologies(default, {name: fresh.topologies[url] for name, url in placed.items()})
        else:
            fresh.migration_id = record.move.id
            fresh.router = _create_router(record, fresh)
            self._store.set_topologies(MigratingTopology(fresh.router, list(fresh.topologies.values())), {})
        before, self.active = self.active, fresh
        if fresh.router is not None and before.router is not None and before.migration_id == fresh.migration_id:
            fresh.router.touched_keys = before.router.touched_keys
        before.gate.close()
        for node in before.nodes():
            if node is not before.router:
                node.replaced_by = ForwardingNode(self._store, node.address)
        return before

    async def close_when_idle(self, before: ActiveTopology) -> None:
        """Returns when nothing is under way in an arrangement that was replaced, and closes it."""
        assert self._store is not None
        try:
            if before.router is not None:
                await before.router.replace_with(ForwardingNode(self._store, before.router.address)).wait_until_idle()
            nodes = [node for node in before.nodes() if node is not before.router]
            await asyncio.gather(*(node.drain() for node in nodes), return_exceptions=True)
        finally:  # also where the store is closed meanwhile: nobody else knows of it any more
            for topology in before.topologies.values():
                await topology.close()
        # What was given up may still lie in a server's buffer: the mover cuts every connection that bears
        # the name of no move, or another's, before it begins (Places.cut_all_but).

    def _create_gate(self, move_id: str = "") -> ConnectionGate:
        return ConnectionGate(client_name(self._process, move_id), self._require_lease)

    async def _open_topologies(self, urls: Iterable[str], guard: ConnectionGate) -> dict[str, Topology]:
        opened: dict[str, Topology] = {}
        try:
            for url in urls:
                opened[url] = await asyncio.to_thread(self._create_topology, url)
                set_gate(opened[url], guard)
                await opened[url].open()
        except BaseException:
            for topology in opened.values():
                await topology.close()
            raise
        return opened


def _create_router(record: PlacementMap, fresh: ActiveTopology) -> MigrationRouter:
    move = record.move
    assert move is not None
    default = fresh.topologies[fresh.home_url]
    standing = {name: fresh.topologies[url] for name, url in fresh.component_urls.items()}
    paths = {
        name: (
            fresh.topologies[path.source or fresh.home_url],
            fresh.topologies[path.target or fresh.home_url],
        )
        for name, path in move.paths.items()
    }
    address = default.nodes[0].address
    tracked, reshape = move.tracked, move.reshape
    return MigrationRouter(address, default, standing, paths, move.slices, track_writes=tracked, repartition=reshape)


def urls_away_from_home(placed: dict[str, str], home: str) -> dict[str, str]:
    """Components that do not stand at home, and where they do."""
    return {name: url for name, url in placed.items() if url not in (THIS_STORE, home)}


def all_nodes(topology: Topology) -> Iterable[Node]:
    """All nodes a topology may have handed out."""
    known = topology.known_nodes if isinstance(topology, Cluster) else ()
    return dict.fromkeys((*known, *topology.nodes))


def set_gate(topology: Topology, guard: ConnectionGate) -> None:
    """Before its first connection. A proxy carries no names: what stands behind one cannot be moved."""
    if isinstance(topology, Twemproxy):
        return
    if isinstance(topology, Cluster):
        topology.connection_gate = guard  # for the nodes it comes to know
    for node in all_nodes(topology):
        node.connection_gate = guard
