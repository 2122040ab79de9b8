"""Switch a store to the topologies of a placement map, with a router in front of them during a migration.

Each active topology opens new connections, whose names contain the id of the migration. The nodes of the previous
topology forward to it. So no command can be sent under an old map after the connections with old names are killed.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field

from socialsite.migration.connection_gate import ConnectionGate, client_name
from socialsite.migration.forwarding_node import ForwardingNode
from socialsite.migration.migration_router import MigratingTopology, MigrationRouter
from socialsite.migration.placement_map import THIS_STORE, PlacementMap
from socialsite.store.connection import PipelinedConnection
from socialsite.store.node import Node
from socialsite.store.store import Store, Topology
from socialsite.store.topology.cluster import Cluster
from socialsite.store.topology.twemproxy import Twemproxy

TopologyFactory = Callable[[str], Topology]
"""Creates the topology of a URL; may block."""


@dataclass(slots=True)
class ActiveTopology:
    """Topologies by URL with one common gate, and a router during a migration."""

    gate: ConnectionGate
    topologies: dict[str, Topology]
    component_urls: dict[str, str] = field(default_factory=dict)
    home_url: str = THIS_STORE
    router: MigrationRouter | None = None
    migration_id: str = ""

    def server_nodes(self) -> list[Node]:
        """Return the nodes of all servers, without the router."""
        return list(dict.fromkeys(node for topology in self.topologies.values() for node in all_nodes(topology)))


class TopologySwitcher:
    def __init__(
        self,
        process_id: str,
        create_topology: TopologyFactory,
        require_lease: Callable[[], Awaitable[None]],
        may_read: Callable[[PipelinedConnection], Awaitable[bool]],
    ) -> None:
        self._process_id = process_id
        self._create_topology = create_topology
        self._require_lease = require_lease
        self._may_read = may_read
        self._store: Store | None = None
        self.active: ActiveTopology = ActiveTopology(self._create_gate(), {})

    def set_store(self, store: Store, home_url: str, component_urls: dict[str, str]) -> None:
        """Set the store, which uses the configured URLs. `set_first_gate` was called for each of its topologies."""
        self._store = store
        self.active.home_url = home_url
        self.active.component_urls = urls_away_from_home(component_urls, home_url)
        self.active.topologies = {str(number): topology for number, topology in enumerate(store.topologies)}

    def set_first_gate(self, topology: Topology) -> None:
        set_gate(topology, self.active.gate)

    def is_current(self, placement_map: PlacementMap, home_url: str) -> bool:
        """Return whether the active topology matches the map, apart from slice states."""
        active, migration = self.active, placement_map.migration
        if active.gate.is_closed or active.migration_id != (migration.id if migration else ""):
            return False
        component_urls = urls_away_from_home(placement_map.component_urls, home_url)
        return migration is not None or (home_url, component_urls) == (active.home_url, active.component_urls)

    async def switch(self, placement_map: PlacementMap, home_url: str) -> ActiveTopology:
        """Open the topologies of the map and use them. Raises StoreError.

        Returns the previous topology; the caller passes it to `close_when_idle`.
        """
        assert self._store is not None
        migration = placement_map.migration
        component_urls = urls_away_from_home(placement_map.component_urls, home_url)
        gate = self._create_gate(migration.id if migration else "")
        urls = {home_url, *component_urls.values()}
        if migration is not None:
            urls |= {url or home_url for route in migration.routes.values() for url in (route.source, route.target)}
        following = ActiveTopology(gate, await self._open_topologies(urls, gate), component_urls, home_url)
        self._store.partition_layouts = placement_map.current_layouts
        if migration is None:
            component_topologies = {name: following.topologies[url] for name, url in component_urls.items()}
            self._store.set_topologies(following.topologies[home_url], component_topologies)
        else:
            following.migration_id = migration.id
            following.router = _create_router(placement_map, following)
            self._store.set_topologies(MigratingTopology(following.router, list(following.topologies.values())), {})
        previous, self.active = self.active, following
        if (
            following.router is not None
            and previous.router is not None
            and previous.migration_id == following.migration_id
        ):
            following.router.touched_keys = previous.router.touched_keys
        previous.gate.close()
        for node in previous.server_nodes():
            node.replaced_by = ForwardingNode(self._store, node.address)
        return previous

    async def close_when_idle(self, previous: ActiveTopology) -> None:
        """Close a replaced topology when no command on it is in flight."""
        assert self._store is not None
        try:
            if previous.router is not None:
                successor = ForwardingNode(self._store, previous.router.address)
                await previous.router.replace_with(successor).wait_until_idle()
            await asyncio.gather(*(node.drain() for node in previous.server_nodes()), return_exceptions=True)
        finally:  # even if the store is closed meanwhile, because nothing else refers to these topologies
            for topology in previous.topologies.values():
                await topology.close()
        # A server may still have unread commands of cancelled callers in its buffer. Before it starts, the migrator
        # kills every connection whose name has no migration or another one (StorePool.kill_clients_outside).

    def _create_gate(self, migration_id: str = "") -> ConnectionGate:
        name = client_name(self._process_id, migration_id)
        return ConnectionGate(name, self._require_lease, self._may_read)

    async def _open_topologies(self, urls: Iterable[str], gate: ConnectionGate) -> dict[str, Topology]:
        topologies: dict[str, Topology] = {}
        try:
            for url in urls:
                topologies[url] = await asyncio.to_thread(self._create_topology, url)
                set_gate(topologies[url], gate)
                await topologies[url].open()
        except BaseException:
            for topology in topologies.values():
                await topology.close()
            raise
        return topologies


def _create_router(placement_map: PlacementMap, following: ActiveTopology) -> MigrationRouter:
    migration, home_url = placement_map.migration, following.home_url
    assert migration is not None
    default = following.topologies[home_url]
    routes = {
        name: (following.topologies[route.source or home_url], following.topologies[route.target or home_url])
        for name, route in migration.routes.items()
    }
    return MigrationRouter(
        default.nodes[0].address,
        default,
        {name: following.topologies[url] for name, url in following.component_urls.items()},
        routes,
        migration.slice_states,
        track_writes=migration.track_writes,
        repartition=migration.repartition,
    )


def urls_away_from_home(component_urls: dict[str, str], home_url: str) -> dict[str, str]:
    """Return the URLs of the components that are not in the home store."""
    return {name: url for name, url in component_urls.items() if url not in (THIS_STORE, home_url)}


def all_nodes(topology: Topology) -> Iterable[Node]:
    """Return all nodes that a topology may have returned to callers."""
    nodes = topology.known_nodes if isinstance(topology, Cluster) else ()
    return dict.fromkeys((*nodes, *topology.nodes))


def set_gate(topology: Topology, gate: ConnectionGate) -> None:
    """Set the gate of a topology before its first connection.

    The gate needs CLIENT names, which Twemproxy does not forward.
    """
    if isinstance(topology, Twemproxy):
        return
    if isinstance(topology, Cluster):
        topology.connection_gate = gate  # for nodes that the cluster discovers later
    for node in all_nodes(topology):
        node.connection_gate = gate
