"""A master of a Redis Cluster: DONE, ASK, TRYAGAIN and CLUSTERDOWN are followed here.

So repositories never meet them. Which master a slot lies on is known to the map (cluster.py).
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from socialsite.store.address import Address
from socialsite.store.commands import Command, Reply
from socialsite.store.errors import ClusterRedirection, StoreError, StoreUnavailable
from socialsite.store.key import Key
from socialsite.store.node import SUCCESS_REPLY_TYPES, ConnectionAuthorizer, Node
from socialsite.store.node_lookup import KeyBuilder, NodeGroups, NodeLookupCache, OwnerId
from socialsite.store.replicas import ClusterReplica, Replicas
from socialsite.store.replies import exec_results
from socialsite.store.slots import SLOT_COUNT, slot_of_tag

MAX_REDIRECTIONS = 60
SLOT_MOVE_WAIT_S = 0.05
"""Between two looks at a slot that is on its way; with MAX_REDIRECTIONS this is the deadline, 3 s."""
SLOT_MOVE_TIMEOUT = "a slot of the cluster did not settle in time"


class SlotMap(Protocol):
    """What a master asks of the cluster that it belongs to."""

    def node_for(self, tag: str) -> "ClusterNode": ...

    def node_at(self, host: str, port: int) -> "ClusterNode": ...

    async def refresh(self) -> None: ...

    def schedule_refresh(self) -> None: ...

    def refresh_stale_replicas(self) -> None: ...


class ClusterNode(Node):
    """A master. What it redirects is followed, so a caller sees replies as of one server."""

    def __init__(self, address: Address, cluster: SlotMap) -> None:
        super().__init__(address)
        self._cluster = cluster

    async def pipeline(self, commands: Iterable[Command]) -> list[Reply]:
        if self.replaced_by is not None:
            return await self.replaced_by.pipeline(commands)
        commands = commands if isinstance(commands, (list, tuple)) else list(commands)
        try:
            replies = await self._send_commands(commands)
        except StoreUnavailable:
            self._cluster.schedule_refresh()
            raise
        if not SUCCESS_REPLY_TYPES.issuperset(map(type, replies)):  # a loop in C
            await self._follow_redirections(commands, replies)
        return await self._handle_error_replies(commands, replies)

    def pick_reader(self) -> Node:
        if self.replicas is not None:
            self._cluster.refresh_stale_replicas()
        return super().pick_reader()

    async def transaction(self, commands: Sequence[Command]) -> list[Reply]:
        """The whole transaction goes where its slot is; a slot on its way is waited for."""
        if self.replaced_by is not None:
            return await self.replaced_by.transaction(commands)
        block: list[Command] = [("MULTI",), *commands, ("EXEC",)]
        target: ClusterNode = self
        for _ in range(MAX_REDIRECTIONS):
            replies = await target._send_commands(block)
            redirections = [reply for reply in replies if isinstance(reply, ClusterRedirection)]
            if not redirections:
                return exec_results(await target._handle_error_replies(block, replies))
            await self._refresh_map(redirections[:1])
            target, asking = self._redirect_target(redirections[0], commands[0])
            block = [("ASKING",), *block[-len(commands) - 2 :]] if asking else block[-len(commands) - 2 :]
        raise StoreUnavailable(SLOT_MOVE_TIMEOUT)

    async def pipeline_with_wait(self, commands: Sequence[Command], replicas: int) -> list[Reply]:
        """All commands have keys of one tag; a redirected write is made again, whole, where its slot is."""
        node = self
        for _ in range(MAX_REDIRECTIONS):
            try:
                return await Node.pipeline_with_wait(node, commands, replicas)
            except ClusterRedirection as redirection:
                await self._refresh_map([redirection])
                node, asking = self._redirect_target(redirection, commands[0])
                if asking:  # half of the slot is there, half here: wait until it is whole again
                    await asyncio.sleep(SLOT_MOVE_WAIT_S)
                    node = self
            except StoreUnavailable:
                self._cluster.schedule_refresh()
                raise
        raise StoreUnavailable(SLOT_MOVE_TIMEOUT)

    async def blocking(self, *command: Any, timeout_s: float) -> Reply:
        """Who waits is told that the slot went elsewhere, and asks again: by then the map is right."""
        try:
            return await super().blocking(*command, timeout_s=timeout_s)
        except ClusterRedirection as redirection:
            await self._refresh_map([redirection])
            raise
        except StoreUnavailable:
            self._cluster.schedule_refresh()
            raise

    async def send_encoded(self, payload: bytes, replies: int, *, required_replicas: int = 0) -> list[Reply]:
        """Redirections stand in the list; who asks again as commands is led on, and the map is read anew."""
        try:
            return await super().send_encoded(payload, replies, required_replicas=required_replicas)
        except StoreUnavailable:
            self._cluster.schedule_refresh()
            raise

    async def _follow_redirections(self, commands: Sequence[Command], replies: list[Reply]) -> None:
        """Put the answers of the right nodes in the place of redirections, in their order."""
        for _ in range(MAX_REDIRECTIONS):
            left = [n for n, reply in enumerate(replies) if isinstance(reply, ClusterRedirection)]
            if not left:
                return
            await self._refresh_map([replies[position] for position in left])
            batches: dict[tuple[int, bool], tuple[ClusterNode, list[int]]] = {}
            for position in left:
                node, asking = self._redirect_target(replies[position], commands[position])
                batches.setdefault((id(node), asking), (node, []))[1].append(position)
            for (_, asking), (node, positions) in batches.items():
                answers = await node._send_with_asking([commands[n] for n in positions], asking=asking)
                for position, answer in zip(positions, answers, strict=True):
                    replies[position] = answer
        raise StoreUnavailable(SLOT_MOVE_TIMEOUT)

    async def _refresh_map(self, redirections: Sequence[ClusterRedirection]) -> None:
        """One look at the map for all of them: a slot that failed over redirects thousands of commands."""
        kinds = {redirection.kind for redirection in redirections}
        if kinds - {"MOVED", "ASK"}:
            await asyncio.sleep(SLOT_MOVE_WAIT_S)
        if kinds != {"ASK"}:
            await self._cluster.refresh()

    def _redirect_target(self, redirection: ClusterRedirection, command: Command) -> "tuple[ClusterNode, bool]":
        """Where to go with a redirected command, and whether as one who only asks."""
        if redirection.kind in ("MOVED", "ASK"):
            return self._cluster.node_at(*self._redirect_address(redirection)), redirection.kind == "ASK"
        return self._cluster.node_for(_tag_of(command)), False

    def _redirect_address(self, redirection: ClusterRedirection) -> tuple[str, int]:
        """An empty host means the node that answered."""
        return redirection.host or self.address.host, redirection.port

    async def _send_with_asking(self, commands: Sequence[Command], *, asking: bool) -> list[Reply]:
        if not asking:
            return await self._send_commands(commands)
        replies = await self._send_commands([part for command in commands for part in (("ASKING",), command)])
        return replies[1::2]


def _tag_of(command: Command) -> str:
    key: Any = next((part for part in command if isinstance(part, Key)), None)
    if key is None:
        raise LookupError(f"{command[0]} names no key, so no node can be chosen for it")
    return str(key.tag)


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


# MERGED-DOC """Redis Cluster: 16,384 slots on masters that may change places while the site serves.
#
# The map of slots is ours (CLUSTER SLOTS); commands are grouped by master and sent in one round trip each,
# measured at the rate of a single server, against 0.6 of it for redis-py's own cluster pipeline.
# Here is the map; what a master redirects is followed in cluster_node.py.
# """
