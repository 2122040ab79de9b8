"""Redis Cluster: 16,384 slots on masters that may change places while the site serves.

The map of slots is ours (CLUSTER SLOTS); commands are grouped by master and sent in one round trip each,
measured at the rate of a single server, against 0.6 of it for redis-py's own cluster pipeline.
Here is the map; what a master redirects is followed in cluster_node.py.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from socialsite.store.connection import Address
from socialsite.store.errors import StoreError, StoreUnavailable
from socialsite.store.node import ConnectionAuthorizer, Node, Reply
from socialsite.store.node_lookup import KeyBuilder, NodeGroups, NodeLookupCache, OwnerId
from socialsite.store.partition.slots import SLOT_COUNT, slot_of_tag
from socialsite.store.replicas import ClusterReplica, Replicas
from socialsite.store.topology.cluster_node import ClusterNode

MIN_REFRESH_INTERVAL_S = 0.1
NO_NODE_ANSWERS = "no node of the cluster answers: "
REPLICA_REFRESH_INTERVAL_S = 5.0
"""While they are read from: those that joined or left since the map was read."""


class Cluster:
    """Slots on masters. `open` reads the map; a redirection or a lost master has it read again.

    `use_replicas`: what may lag is read from the masters' replicas (replicas.py).
    """

    def __init__(self, seeds: Sequence[Address], *, use_replicas: bool = False) -> None:
        if not seeds:
            raise ValueError("a cluster needs at least one address to begin with")
        self._seeds = tuple(seeds)
        self._use_replicas = use_replicas
        self._replicas_by_address: dict[tuple[str, int], ClusterReplica] = {}
        self._nodes_by_address: dict[tuple[str, int], ClusterNode] = {}
        self._slots: list[ClusterNode | None] = [None] * SLOT_COUNT
        self._lookup_cache = NodeLookupCache(self.node_for)
        self._node_count = 1
        self._refresh_task: asyncio.Task[None] | None = None
        self._refreshed_at = float("-inf")
        self._is_closed = False
        self.connection_gate: ConnectionAuthorizer | None = None

    @property
    def known_nodes(self) -> tuple[Node, ...]:
        """Every node this cluster ever handed out."""
        return tuple(self._nodes_by_address.values())

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The masters that hold slots now, in the order of their slots."""
        return tuple(dict.fromkeys(node for node in self._slots if node is not None))

    def node_for(self, tag: str) -> ClusterNode:
        node = self._slots[slot_of_tag(tag)]
        if node is None:
            raise StoreUnavailable(f"no master of the cluster holds slot {slot_of_tag(tag)} (CLUSTERDOWN)")
        return node

    @property
    def node_count(self) -> int:
        return self._node_count

    def group_by_node(self, owners: Sequence[OwnerId], key_of: KeyBuilder) -> NodeGroups[OwnerId]:
        return self._lookup_cache.group_by_node(owners, key_of)

    async def open(self) -> None:
        """Read the map for the first time. Raises StoreUnavailable where no address answers."""
        await self.refresh()
        missing = sum(node is None for node in self._slots)
        if missing:
            raise StoreUnavailable(
                f"{missing} of {SLOT_COUNT} slots of the cluster have no master: finish its creation, or set "
                "cluster-require-full-coverage and mend it, before starting the site"
            )

    async def refresh(self) -> None:
        """Read the map again; callers that come together share one reading."""
        if self._refresh_task is None or self._refresh_task.done():
            since = asyncio.get_running_loop().time() - self._refreshed_at
            self._refresh_task = asyncio.create_task(self._refresh(max(0.0, MIN_REFRESH_INTERVAL_S - since)))
        await asyncio.shield(self._refresh_task)

    def refresh_stale_replicas(self) -> None:
        if asyncio.get_running_loop().time() - self._refreshed_at > REPLICA_REFRESH_INTERVAL_S:
            self.schedule_refresh()

    def schedule_refresh(self) -> None:
        """Somebody met a dead or a wrong master; the next to come shall find the right one."""
        if not self._is_closed and (self._refresh_task is None or self._refresh_task.done()):
            self._refresh_task = asyncio.create_task(self._refresh(MIN_REFRESH_INTERVAL_S))
            self._refresh_task.add_done_callback(_ignore_exception)

    async def close(self) -> None:
        self._is_closed = True
        if self._refresh_task is not None:
            self._refresh_task.cancel()
            await asyncio.gather(self._refresh_task, return_exceptions=True)
        for node in (*self._replicas_by_address.values(), *self._nodes_by_address.values()):
            await node.close()

    def node_at(self, host: str, port: int) -> ClusterNode:
        """The node of an address, the same one for as long as the store lives. Raises StoreUnavailable."""
        node = self._nodes_by_address.get((host, port))
        if node is None:
            if self._is_closed:
                raise StoreUnavailable("the cluster was closed: nobody would close what is opened there")
            node = self._nodes_by_address[host, port] = ClusterNode(self._seeds[0].with_host(host, port), self)
            node.connection_gate = self.connection_gate
        return node

    async def _refresh(self, wait_s: float) -> None:
        if wait_s:
            await asyncio.sleep(wait_s)
        failure: StoreError | None = None
        asked = [*self.nodes, *(self.node_at(seed.host, seed.port) for seed in self._seeds)]
        for node in dict.fromkeys(asked):
            try:
                reply = await Node.execute(node, "CLUSTER", "SLOTS")
            except StoreError as error:
                failure = error
                continue
            self._apply_slots(reply)
            self._refreshed_at = asyncio.get_running_loop().time()
            return
        raise StoreUnavailable(f"{NO_NODE_ANSWERS}{str(failure).removeprefix(NO_NODE_ANSWERS)}")

    def _apply_slots(self, reply: Reply) -> None:
        slots: list[ClusterNode | None] = [None] * SLOT_COUNT
        for first, last, master, *replicas in reply:
            node = self.node_at(*_member_address(master))
            slots[first : last + 1] = [node] * (last - first + 1)
            if self._use_replicas:
                node.replicas = Replicas(self._replica_at(*_member_address(each), node) for each in replicas)
        if slots != self._slots:
            self._lookup_cache.clear()
            self._node_count = len({id(node) for node in slots if node is not None})
        self._slots = slots

    def _replica_at(self, host: str, port: int, master: ClusterNode) -> ClusterReplica:
        """The same one for as long as the store lives, whomever it follows."""
        replica = self._replicas_by_address.get((host, port))
        if replica is None:
            replica = self._replicas_by_address[host, port] = ClusterReplica(
                self._seeds[0].with_host(host, port), master
            )
        replica.set_master(master)
        return replica


def _member_address(member: Sequence[Any]) -> tuple[str, int]:
    """Of a member of the cluster, as CLUSTER SLOTS names it."""
    return member[0].decode(), int(member[1])


def _ignore_exception(task: "asyncio.Task[None]") -> None:
    """A refresh nobody waited for may fail; the next one who needs it is told."""
    if not task.cancelled():
        task.exception()
