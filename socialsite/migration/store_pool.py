"""The stores of a move as the mover reaches them: by connections of its own, while it holds the lock."""

import asyncio
from collections.abc import Collection, Iterable
from functools import partial

from socialsite.migration.connection_gate import ConnectionGate
from socialsite.migration.errors import MigrationRefused, MigratorReplaced
from socialsite.migration.fencing import SITE_NAME_PREFIX as SITE
from socialsite.migration.fencing import kill_clients
from socialsite.migration.placement_registry import LOCK_MS, PlacementRegistry
from socialsite.migration.topology_switcher import TopologyFactory, set_gate
from socialsite.store.node import Node
from socialsite.store.replies import parse_info
from socialsite.store.store import Store, Topology

MIGRATOR_NAME_PREFIX = "mover-"
LOCK_POLL_INTERVAL_S = 0.1
LOCK_RENEWAL_INTERVAL_S = LOCK_MS / 1000 / 4
LOCK_VALID_S = LOCK_MS / 1000 - 0.5


class MigrationLock:
    """The lock of the mover on one board, renewed until `release`."""

    def __init__(self, board: PlacementRegistry, token: str) -> None:
        self._registry = board
        self.token = token
        self._valid_until = float("-inf")
        self._renew_task: asyncio.Task[None] | None = None

    async def acquire(self) -> None:
        """Waits for the end of a lock whose mover died. Raises MigrationRefused where it is alive."""
        left_ms = 0
        while True:
            asked_at = asyncio.get_running_loop().time()
            if await self._registry.acquire_lock(self.token):
                break
            before, left_ms = left_ms, await self._registry.lock_ttl_ms()
            if before and left_ms > before:
                raise MigrationRefused("another repartition is at work: wait for its end, or stop it first")
            await asyncio.sleep(LOCK_POLL_INTERVAL_S)
        self._valid_until = asked_at + LOCK_VALID_S
        self._renew_task = asyncio.create_task(self._renew_forever())

    async def require_held(self) -> None:
        if asyncio.get_running_loop().time() >= self._valid_until:
            raise MigratorReplaced

    async def release(self) -> None:
        if self._renew_task is not None:
            self._renew_task.cancel()
            await asyncio.gather(self._renew_task, return_exceptions=True)
            await self._registry.release_lock(self.token)

    async def _renew_forever(self) -> None:
        while True:
            await asyncio.sleep(LOCK_RENEWAL_INTERVAL_S)
            asked_at = asyncio.get_running_loop().time()
            if not await self._registry.acquire_lock(self.token):
                self._valid_until = float("-inf")
                return
            self._valid_until = asked_at + LOCK_VALID_S


class StorePool:
    """Stores by URL, opened once each. `home` is the URL of the board; `replicas`: as REQUIRE_REPLICAS."""

    def __init__(
        self,
        home: str,
        topology_of: TopologyFactory,
        guard: ConnectionGate | None = None,
        *,
        replicas: int = 0,
    ) -> None:
        self.home_url = home
        self._required_replicas = replicas
        self._create_topology = topology_of
        self._gate = guard
        self._topologies: dict[str, Topology] = {}
        self._stores: dict[str, Store] = {}

    async def open(self, url: str) -> Topology:
        """ "" is the home."""
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
        """The board of a store that was opened."""
        return PlacementRegistry(self.topology(url), self._required_replicas)

    async def wait_until_durable(self, url: str) -> None:
        """Returns once what was written there is in the files, and on replicas if it has to be.

        The source is deleted for it. Raises Unconfirmed, StoreUnavailable.
        """
        nodes = self.topology(url).nodes
        await asyncio.gather(*(node.wait_for_aof() for node in nodes))
        if self._required_replicas:
            await asyncio.gather(*(node.pipeline_with_wait([("PING",)], self._required_replicas) for node in nodes))

    def nodes(self) -> list[Node]:
        return [node for topology in self._topologies.values() for node in topology.nodes]

    async def kill_clients_of(self, names: Iterable[str]) -> None:
        """Cut connections whose names begin so, on all servers."""
        beginnings = tuple(names)
        await kill_clients(self.nodes(), lambda id, name: name.startswith(beginnings))

    async def kill_clients_outside(self, move_id: str) -> None:
        """Cut what a process of the site has open from before it knew of a move."""
        await kill_clients(self.nodes(), lambda id, name: name.startswith(SITE) and not name.endswith(f".{move_id}"))

    async def kill_other_migrators(self) -> None:
        for node in self.nodes():
            own = await node.read_client_ids()
            await kill_clients([node], partial(_is_other_migrator, own))

    async def close(self) -> None:
        for topology in self._topologies.values():
            await topology.close()


def _is_other_migrator(own: Collection[int], id: int, name: str) -> bool:
    return name.startswith(MIGRATOR_NAME_PREFIX) and id not in own


async def read_server_ids(topology: Topology) -> frozenset[str]:
    """Which servers these are, by whatever URL: their run ids, with the number of the database."""
    found = set()
    for node in topology.nodes:
        facts = parse_info(await node.execute("INFO", "server"))
        found.add(f"{facts['run_id']}/{node.address.db}")
    return frozenset(found)
