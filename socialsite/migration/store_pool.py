"""The stores of a move as the mover reaches them: by connections of its own, while it holds the lock."""

import asyncio
from collections.abc import Collection, Iterable
from functools import partial

from socialsite.migration.connection_gate import Guard
from socialsite.migration.errors import MoveRefused, MoverReplaced
from socialsite.migration.fencing import NAME as SITE
from socialsite.migration.fencing import cut
from socialsite.migration.placement_registry import LOCK_MS, Board
from socialsite.migration.topology_switcher import TopologyOf, put_guard
from socialsite.store.info import facts_of
from socialsite.store.node import Node
from socialsite.store.store import Store, Topology

NAME = "mover-"
LOOK_EVERY_S = 0.1
RENEW_EVERY_S = LOCK_MS / 1000 / 4
VALID_S = LOCK_MS / 1000 - 0.5


class Lock:
    """The lock of the mover on one board, renewed until `release`."""

    def __init__(self, board: Board, token: str) -> None:
        self._board = board
        self.token = token
        self._valid_until = float("-inf")
        self._renewing: asyncio.Task[None] | None = None

    async def take(self) -> None:
        """Waits for the end of a lock whose mover died. Raises MoveRefused where it is alive."""
        left_ms = 0
        while True:
            asked_at = asyncio.get_running_loop().time()
            if await self._board.lock(self.token):
                break
            before, left_ms = left_ms, await self._board.lock_left_ms()
            if before and left_ms > before:
                raise MoveRefused("another repartition is at work: wait for its end, or stop it first")
            await asyncio.sleep(LOOK_EVERY_S)
        self._valid_until = asked_at + VALID_S
        self._renewing = asyncio.create_task(self._renew_for_ever())

    async def require(self) -> None:
        if asyncio.get_running_loop().time() >= self._valid_until:
            raise MoverReplaced

    async def release(self) -> None:
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.gather(self._renewing, return_exceptions=True)
            await self._board.unlock(self.token)

    async def _renew_for_ever(self) -> None:
        while True:
            await asyncio.sleep(RENEW_EVERY_S)
            asked_at = asyncio.get_running_loop().time()
            if not await self._board.lock(self.token):
                self._valid_until = float("-inf")
                return
            self._valid_until = asked_at + VALID_S


class Places:
    """Stores by URL, opened once each. `home` is the URL of the board; `replicas`: as REQUIRE_REPLICAS."""

    def __init__(
        self, home: str, topology_of: TopologyOf, guard: Guard | None = None, *, replicas: int = 0
    ) -> None:
        self.home = home
        self._replicas = replicas
        self._topology_of = topology_of
        self._guard = guard
        self._topologies: dict[str, Topology] = {}
        self._stores: dict[str, Store] = {}

    async def open(self, url: str) -> Topology:
        """ "" is the home."""
        url = url or self.home
        if url not in self._topologies:
            topology = await asyncio.to_thread(self._topology_of, url)
            if self._guard is not None:
                put_guard(topology, self._guard)
            self._topologies[url] = topology
            await topology.open()
            self._stores[url] = Store(topology)
        return self._topologies[url]

    def topology(self, url: str) -> Topology:
        return self._topologies[url or self.home]

    def store(self, url: str) -> Store:
        return self._stores[url or self.home]

    def board(self, url: str) -> Board:
        """The board of a store that was opened."""
        return Board(self.topology(url), self._replicas)

    async def confirm(self, url: str) -> None:
        """Returns once what was written there is in the files, and on replicas if it has to be.

        The source is deleted for it. Raises Unconfirmed, StoreUnavailable.
        """
        nodes = self.topology(url).nodes
        await asyncio.gather(*(node.written_out() for node in nodes))
        if self._replicas:
            await asyncio.gather(*(node.confirmed([("PING",)], self._replicas) for node in nodes))

    def nodes(self) -> list[Node]:
        return [node for topology in self._topologies.values() for node in topology.nodes]

    async def cut(self, names: Iterable[str]) -> None:
        """Cut connections whose names begin so, on all servers."""
        beginnings = tuple(names)
        await cut(self.nodes(), lambda id, name: name.startswith(beginnings))

    async def cut_all_but(self, move_id: str) -> None:
        """Cut what a process of the site has open from before it knew of a move."""
        await cut(self.nodes(), lambda id, name: name.startswith(SITE) and not name.endswith(f".{move_id}"))

    async def cut_other_movers(self) -> None:
        for node in self.nodes():
            own = await node.own_ids()
            await cut([node], partial(_is_another, own))

    async def close(self) -> None:
        for topology in self._topologies.values():
            await topology.close()


def _is_another(own: Collection[int], id: int, name: str) -> bool:
    return name.startswith(NAME) and id not in own


async def identity_of(topology: Topology) -> frozenset[str]:
    """Which servers these are, by whatever URL: their run ids, with the number of the database."""
    found = set()
    for node in topology.nodes:
        facts = facts_of(await node.execute("INFO", "server"))
        found.add(f"{facts['run_id']}/{node.address.db}")
    return frozenset(found)
