"""Redis Cluster: 16,384 slots on masters. Slots may move and masters may fail while the site runs.

The store keeps its own slot map (CLUSTER SLOTS). It groups commands by master and sends one round trip per master. This
is as fast as one server; the cluster pipeline of redis-py reaches 0.6 of that rate. A cluster node follows MOVED and
ASK, and waits after TRYAGAIN and CLUSTERDOWN, so that callers never see them.
"""

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from itertools import chain, islice
from typing import Any

from socialsite.batches import group_by
from socialsite.store.address import Address
from socialsite.store.commands import Command, Reply, routing_key
from socialsite.store.errors import ClusterRedirection, StoreError, StoreUnavailable
from socialsite.store.node import SUCCESS_REPLY_TYPES, ConnectionAuthorizer, Node, SentCommands
from socialsite.store.node_lookup import KeyBuilder, NodeGroups, NodeLookupCache, OwnerId
from socialsite.store.replicas import ClusterReplica, Replicas
from socialsite.store.replies import exec_results
from socialsite.store.shared_task import SharedTask
from socialsite.store.slots import SLOT_COUNT, slot_of_tag

MAX_REDIRECTIONS = 60
SLOT_MOVE_WAIT_S = 0.05
"""The delay between two tries while a slot moves. After MAX_REDIRECTIONS tries (3 s) the command fails."""
SLOT_MOVE_TIMEOUT = "a slot of the cluster did not settle in time"
MIN_REFRESH_INTERVAL_S = 0.1
REPLICA_REFRESH_INTERVAL_S = 5.0
"""The interval at which the slot map is read while replicas are used, to find replicas that joined or left."""
MAX_WAIT_TAGS = 10_000
"""The maximum number of tags that are tried to find one in the slots of a master."""
NO_NODE_ANSWERS = "no node of the cluster answers: "


class Cluster:
    """All masters of a cluster. The slot map is read by `open`, and again after a redirection or a lost master.

    If `use_replicas` is true, reads that may lag are sent to replicas of the masters (replicas.py).
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
        self._refresh_task = SharedTask(self._refresh)
        self._refreshed_at = float("-inf")
        self._is_closed = False
        self.connection_gate: ConnectionAuthorizer | None = None

    @property
    def known_nodes(self) -> tuple[Node, ...]:
        """All nodes that this cluster has returned since it was opened."""
        return tuple(self._nodes_by_address.values())

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The masters that own slots now, in the order of their slots."""
        return tuple(dict.fromkeys(node for node in self._slots if node is not None))

    def node_for(self, tag: str) -> "ClusterNode":
        node = self._slots[slot_of_tag(tag)]
        if node is None:
            raise StoreUnavailable(f"no master of the cluster holds slot {slot_of_tag(tag)} (CLUSTERDOWN)")
        return node

    def has_tag(self, node: Node, tag: str) -> bool:
        return self._slots[slot_of_tag(tag)] is node

    @property
    def node_count(self) -> int:
        return self._node_count

    def group_by_node(self, owners: Sequence[OwnerId], key_of: KeyBuilder) -> NodeGroups[OwnerId]:
        return self._lookup_cache.group_by_node(owners, key_of)

    async def open(self) -> None:
        """Read the slot map. Raises StoreUnavailable if no address answers or a slot has no master."""
        await self.refresh()
        missing = sum(node is None for node in self._slots)
        if missing:
            raise StoreUnavailable(
                f"{missing} of {SLOT_COUNT} slots of the cluster have no master: finish its creation, or set "
                "cluster-require-full-coverage and repair it, before starting the site"
            )

    async def refresh(self) -> None:
        """Read the slot map again. Concurrent callers share one read."""
        elapsed_s = asyncio.get_running_loop().time() - self._refreshed_at
        await self._refresh_task.join(max(0.0, MIN_REFRESH_INTERVAL_S - elapsed_s))

    def schedule_refresh(self) -> None:
        """Read the slot map in the background, after a master failed or redirected a command."""
        if not self._is_closed:
            self._refresh_task.start(MIN_REFRESH_INTERVAL_S)

    def refresh_stale_replicas(self) -> None:
        if asyncio.get_running_loop().time() - self._refreshed_at > REPLICA_REFRESH_INTERVAL_S:
            self.schedule_refresh()

    async def close(self) -> None:
        self._is_closed = True
        await self._refresh_task.cancel()
        for node in (*self._replicas_by_address.values(), *self._nodes_by_address.values()):
            await node.close()

    def node_at(self, host: str, port: int) -> "ClusterNode":
        """Return the node of an address, always the same one. Raises StoreUnavailable after `close`."""
        node = self._nodes_by_address.get((host, port))
        if node is None:
            if self._is_closed:
                raise StoreUnavailable("the cluster was closed, so no connection may be opened")
            node = self._nodes_by_address[host, port] = ClusterNode(self._seeds[0].with_host(host, port), self)
            node.connection_gate = self.connection_gate
        return node

    async def _refresh(self, delay_s: float) -> None:
        if delay_s:
            await asyncio.sleep(delay_s)
        failure: StoreError | None = None
        candidates = [*self.nodes, *(self.node_at(seed.host, seed.port) for seed in self._seeds)]
        for node in dict.fromkeys(candidates):
            try:
                reply = await Node.execute(node, "CLUSTER", "SLOTS")
            except StoreError as error:
                failure = error
                continue
            self._apply_slots(reply, node.address.host)
            self._refreshed_at = asyncio.get_running_loop().time()
            return
        raise StoreUnavailable(f"{NO_NODE_ANSWERS}{str(failure).removeprefix(NO_NODE_ANSWERS)}")

    def _apply_slots(self, reply: Reply, queried_host: str) -> None:
        slots: list[ClusterNode | None] = [None] * SLOT_COUNT
        for first, last, master, *replicas in reply:
            node = self.node_at(*_member_address(master, queried_host))
            slots[first : last + 1] = [node] * (last - first + 1)
            if self._use_replicas:
                node.replicas = Replicas(
                    self._replica_at(*_member_address(replica, queried_host), node) for replica in replicas
                )
        if slots != self._slots:
            self._lookup_cache.clear()
            self._node_count = len({id(node) for node in slots if node is not None})
        self._slots = slots

    def _replica_at(self, host: str, port: int, master: "ClusterNode") -> ClusterReplica:
        """Return the replica of an address, always the same one, with its current master."""
        replica = self._replicas_by_address.get((host, port))
        if replica is None:
            address = self._seeds[0].with_host(host, port)
            replica = self._replicas_by_address[host, port] = ClusterReplica(address, master)
        replica.set_master(master)
        return replica


class ClusterNode(Node):
    """A master of a cluster. It follows redirections, so callers see the replies of one server."""

    def __init__(self, address: Address, cluster: Cluster) -> None:
        super().__init__(address)
        self._cluster = cluster

    async def execute_all(self, commands: Iterable[Command]) -> list[Reply]:
        if self.replaced_by is not None:
            return await self.replaced_by.execute_all(commands)
        commands = commands if isinstance(commands, Sequence) else list(commands)
        return await self._complete(commands, self._send_commands(commands))

    async def await_replies(self, sent: SentCommands) -> list[Reply]:
        return await self._complete(sent.commands, self._receive(sent))

    async def _complete(self, commands: Sequence[Command], pending_replies: Awaitable[list[Reply]]) -> list[Reply]:
        """Return the replies after all redirections. Raises the first error reply."""
        try:
            replies = await pending_replies
        except StoreUnavailable:
            self._cluster.schedule_refresh()
            raise
        if not SUCCESS_REPLY_TYPES.issuperset(map(type, replies)):  # faster than a loop in Python
            await self._follow_redirections(commands, replies)
        return await self._handle_error_replies(commands, replies)

    def _wait_tags(self) -> Iterable[str]:
        tags = (f"m{number}" for number in range(MAX_WAIT_TAGS))
        own = islice((tag for tag in tags if self._cluster.has_tag(self, tag)), MAX_REDIRECTIONS)
        return chain((next(own, "m0"),), own)

    def pick_reader(self) -> Node:
        if self.replicas is not None:
            self._cluster.refresh_stale_replicas()
        return super().pick_reader()

    async def transaction(self, commands: Sequence[Command]) -> list[Reply]:
        """Run MULTI/EXEC on the node of the slot. Wait while the slot moves."""
        if self.replaced_by is not None:
            return await self.replaced_by.transaction(commands)
        block: list[Command] = [("MULTI",), *commands, ("EXEC",)]
        node: ClusterNode = self
        for _ in range(MAX_REDIRECTIONS):
            replies = await node._send_commands(block)
            redirections = [reply for reply in replies if isinstance(reply, ClusterRedirection)]
            if not redirections:
                return exec_results(await node._handle_error_replies(block, replies))
            await self._refresh_map(redirections[:1])
            node, asking = self._redirect_target(redirections[0], commands[0])
            block = [("ASKING",), *block[-len(commands) - 2 :]] if asking else block[-len(commands) - 2 :]
        raise StoreUnavailable(SLOT_MOVE_TIMEOUT)

    async def write_all(self, commands: Sequence[Command], replicas: int) -> list[Reply]:
        """Run commands on keys of one tag. After a redirection, all commands are sent to the new node."""
        node = self
        for _ in range(MAX_REDIRECTIONS):
            try:
                return await Node.write_all(node, commands, replicas)
            except ClusterRedirection as redirection:
                await self._refresh_map([redirection])
                node, asking = self._redirect_target(redirection, commands[0])
                if asking:  # the slot is divided between two nodes: wait until its move ends
                    await asyncio.sleep(SLOT_MOVE_WAIT_S)
                    node = self
            except StoreUnavailable:
                self._cluster.schedule_refresh()
                raise
        raise StoreUnavailable(SLOT_MOVE_TIMEOUT)

    async def blocking(self, *command: Any, timeout_s: float) -> Reply:
        """Run a blocking command. If redirected, read the slot map and raise ClusterRedirection; the caller retries."""
        try:
            return await super().blocking(*command, timeout_s=timeout_s)
        except ClusterRedirection as redirection:
            await self._refresh_map([redirection])
            raise
        except StoreUnavailable:
            self._cluster.schedule_refresh()
            raise

    async def send_encoded(self, payload: bytes, replies: int, *, required_replicas: int = 0) -> list[Reply]:
        """Send encoded commands. If a reply is a redirection, the caller repeats that command by `execute_all`."""
        try:
            return await super().send_encoded(payload, replies, required_replicas=required_replicas)
        except StoreUnavailable:
            self._cluster.schedule_refresh()
            raise

    async def _follow_redirections(self, commands: Sequence[Command], replies: list[Reply]) -> None:
        """Replace each redirection in `replies` by the reply of the right node."""
        commands = list(commands)
        for _ in range(MAX_REDIRECTIONS):
            positions = [n for n, reply in enumerate(replies) if isinstance(reply, ClusterRedirection)]
            if not positions:
                return
            await self._refresh_map([replies[n] for n in positions])
            groups = group_by(positions, lambda n: self._redirect_target(replies[n], commands[n]))
            for (node, asking), group in groups.items():
                new_replies = await node._send_with_asking([commands[n] for n in group], asking=asking)
                for n, reply in zip(group, new_replies, strict=True):
                    replies[n] = reply
        raise StoreUnavailable(SLOT_MOVE_TIMEOUT)

    async def _refresh_map(self, redirections: Sequence[ClusterRedirection]) -> None:
        """Read the slot map once for all redirections: a failover may redirect thousands of commands."""
        kinds = {redirection.kind for redirection in redirections}
        if kinds - {"MOVED", "ASK"}:
            await asyncio.sleep(SLOT_MOVE_WAIT_S)
        if kinds != {"ASK"}:
            await self._cluster.refresh()

    def _redirect_target(self, redirection: ClusterRedirection, command: Command) -> "tuple[ClusterNode, bool]":
        """Return the node to send a command to, and whether it needs ASKING. An empty host means this node's host."""
        if redirection.kind in ("MOVED", "ASK"):
            node = self._cluster.node_at(redirection.host or self.address.host, redirection.port)
            return node, redirection.kind == "ASK"
        return self._cluster.node_for(routing_key(command).tag), False

    async def _send_with_asking(self, commands: Sequence[Command], *, asking: bool) -> list[Reply]:
        if not asking:
            return await self._send_commands(commands)
        replies = await self._send_commands([part for command in commands for part in (("ASKING",), command)])
        return replies[1::2]


def _member_address(member: Sequence[Any], queried_host: str) -> tuple[str, int]:
    """Return host and port of a member in the reply of CLUSTER SLOTS.

    A missing host is `queried_host`, which sent the reply. "?" is the host of a server that does not know its name.
    """
    host = (member[0] or b"").decode()
    if host == "?":
        raise StoreUnavailable(
            f'the server at port {member[1]} of the cluster has no name ("?"): set its cluster-announce-hostname, or '
            "`cluster-preferred-endpoint-type ip`"
        )
    return host or queried_host, int(member[1])
