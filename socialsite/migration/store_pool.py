"""The stores of a migration. The migrator uses separate connections, which require its lock."""

import asyncio
from collections.abc import Collection, Iterable
from functools import partial

from socialsite.concurrency import run_together
from socialsite.migration.connection_gate import SITE_NAME_PREFIX, ConnectionGate, kill_clients
from socialsite.migration.placement_map import fence_key
from socialsite.migration.placement_registry import PlacementRegistry
from socialsite.migration.topology_switcher import TopologyFactory, set_gate
from socialsite.store.node import Node
from socialsite.store.replies import parse_info
from socialsite.store.store import Store, Topology
from socialsite.store.topology.cluster import Cluster

MIGRATOR_NAME_PREFIX = "mover-"


class StorePool:
    """Stores by URL, each opened once. `home_url` is the URL of the registry. The URL "" means the same store."""

    def __init__(
        self,
        home_url: str,
        create_topology: TopologyFactory,
        gate: ConnectionGate | None = None,
        *,
        required_replicas: int = 0,
    ) -> None:
        self.home_url = home_url
        self._required_replicas = required_replicas
        self._create_topology = create_topology
        self._gate = gate
        self._topologies: dict[str, Topology] = {}
        self._stores: dict[str, Store] = {}

    async def open(self, url: str) -> Topology:
        """Open the topology of a URL unless it is open. Raises InvalidStoreUrl, StoreUnavailable."""
        url = url or self.home_url
        if url not in self._topologies:
            topology = await asyncio.to_thread(self._create_topology, url)
            if self._gate is not None:
                set_gate(topology, self._gate)
            self._topologies[url] = topology
            await topology.open()
            self._stores[url] = Store(topology)
        return self._topologies[url]

    def topology(self, url: str) -> Topology:
        return self._topologies[url or self.home_url]

    def store(self, url: str) -> Store:
        return self._stores[url or self.home_url]

    def registry(self, url: str) -> PlacementRegistry:
        return PlacementRegistry(self.topology(url), self._required_replicas)

    async def wait_until_durable(self, url: str) -> None:
        """Return when all writes of the store are in the append-only files and on the required replicas.

        The migrator waits for this before it deletes the source. Raises NotDurable, StoreUnavailable.
        """
        nodes = self.topology(url).nodes
        await run_together(*(node.wait_for_aof() for node in nodes))
        if self._required_replicas:
            await run_together(*(node.write_all([("PING",)], self._required_replicas) for node in nodes))

    def nodes(self) -> list[Node]:
        return [node for topology in self._topologies.values() for node in topology.nodes]

    async def kill_clients_of(self, name_prefixes: Iterable[str]) -> None:
        prefixes = tuple(name_prefixes)
        await kill_clients(self.nodes(), lambda id, name: name.startswith(prefixes))

    async def kill_clients_outside(self, migration_id: str, epoch: int) -> None:
        """Kill the connections that processes opened before they knew of the migration.

        The fence is written first, so that a process without a lease opens no new connection (process_lease.py).
        """
        for topology in self._topologies.values():
            if not isinstance(topology, Cluster):  # a key of a cluster is on one of its servers only
                for node in topology.nodes:
                    await node.execute("SET", fence_key(), epoch)
        suffix = f".{migration_id}"
        await kill_clients(
            self.nodes(), lambda id, name: name.startswith(SITE_NAME_PREFIX) and not name.endswith(suffix)
        )

    async def kill_other_migrators(self) -> None:
        for node in self.nodes():
            own_ids = await node.read_client_ids()
            await kill_clients([node], partial(_is_other_migrator, own_ids))

    async def close(self) -> None:
        for topology in self._topologies.values():
            await topology.close()


def _is_other_migrator(own_ids: Collection[int], id: int, name: str) -> bool:
    return name.startswith(MIGRATOR_NAME_PREFIX) and id not in own_ids


async def read_server_ids(topology: Topology) -> frozenset[str]:
    """Return the run id and database number of each server. They do not depend on the URL."""
    ids = set()
    for node in topology.nodes:
        fields = parse_info(await node.execute("INFO", "server"))
        ids.add(f"{fields['run_id']}/{node.address.db}")
    return frozenset(ids)
