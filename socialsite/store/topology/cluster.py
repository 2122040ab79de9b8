"""Redis Cluster: 16,384 slots on masters that may change places while the site serves.

The map of slots is ours (CLUSTER SLOTS); commands are grouped by master and sent in one round trip each,
measured at the rate of a single server, against 0.6 of it for redis-py's own cluster pipeline.
MOVED, ASK, TRYAGAIN and CLUSTERDOWN are followed here, so that repositories never meet them.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

from socialsite.store.connection import Address
from socialsite.store.errors import Redirected, StoreError, StoreUnavailable
from socialsite.store.key import Key
from socialsite.store.node import Admission, Node, Reply, results_of
from socialsite.store.owners import Groups, KeyOf, OwnersByNode
from socialsite.store.partition.slots import SLOTS, slot_of_tag
from socialsite.store.replicas import ClusterReplica, Replicas
from socialsite.store.scripts import Command

MOST_REDIRECTIONS = 60
UNSETTLED_WAIT_S = 0.05
"""Between two looks at a slot that is on its way; with MOST_REDIRECTIONS this is the deadline, 3 s."""
REFRESH_AT_MOST_EVERY_S = 0.1
NOBODY = "no node of the cluster answers: "
LOOK_FOR_REPLICAS_EVERY_S = 5.0
"""While they are read from: those that joined or left since the map was read."""


class Cluster:
    """Slots on masters. `open` reads the map; a redirection or a lost master has it read again.

    `reads_replicas`: what may lag is read from the masters' replicas (replicas.py).
    """

    def __init__(self, seeds: Sequence[Address], *, reads_replicas: bool = False) -> None:
        if not seeds:
            raise ValueError("a cluster needs at least one address to begin with")
        self._seeds = tuple(seeds)
        self._reads_replicas = reads_replicas
        self._replicas: dict[tuple[str, int], ClusterReplica] = {}
        self._known: dict[tuple[str, int], ClusterNode] = {}
        self._slots: list[ClusterNode | None] = [None] * SLOTS
        self._owners = OwnersByNode(self.node_for)
        self._width = 1
        self._refreshing: asyncio.Task[None] | None = None
        self._refreshed_at = float("-inf")
        self.guard: Admission | None = None

    @property
    def known(self) -> tuple[Node, ...]:
        """Every node this cluster ever handed out."""
        return tuple(self._known.values())

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The masters that hold slots now, in the order of their slots."""
        return tuple(dict.fromkeys(node for node in self._slots if node is not None))

    def node_for(self, tag: str) -> Node:
        node = self._slots[slot_of_tag(tag)]
        if node is None:
            raise StoreUnavailable(f"no master of the cluster holds slot {slot_of_tag(tag)} (CLUSTERDOWN)")
        return node

    @property
    def width(self) -> int:
        return self._width

    def group(self, owners: Sequence[int], key_of: KeyOf) -> Groups:
        return self._owners.group(owners, key_of)

    async def open(self) -> None:
        """Read the map for the first time. Raises StoreUnavailable where no address answers."""
        await self.refresh()
        missing = sum(node is None for node in self._slots)
        if missing:
            raise StoreUnavailable(
                f"{missing} of {SLOTS} slots of the cluster have no master: finish its creation, or set "
                "cluster-require-full-coverage and mend it, before starting the site"
            )

    async def refresh(self) -> None:
        """Read the map again; callers that come together share one reading."""
        if self._refreshing is None or self._refreshing.done():
            since = asyncio.get_running_loop().time() - self._refreshed_at
            self._refreshing = asyncio.create_task(self._refresh(max(0.0, REFRESH_AT_MOST_EVERY_S - since)))
        await asyncio.shield(self._refreshing)

    def look_for_replicas(self) -> None:
        if asyncio.get_running_loop().time() - self._refreshed_at > LOOK_FOR_REPLICAS_EVERY_S:
            self.refresh_soon()

    def refresh_soon(self) -> None:
        """Somebody met a dead or a wrong master; the next to come shall find the right one."""
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = asyncio.create_task(self._refresh(REFRESH_AT_MOST_EVERY_S))
            self._refreshing.add_done_callback(_seen)

    async def close(self) -> None:
        if self._refreshing is not None:
            self._refreshing.cancel()
            await asyncio.gather(self._refreshing, return_exceptions=True)
        for node in (*self._replicas.values(), *self._known.values()):
            await node.close()

    def node_at(self, host: str, port: int) -> "ClusterNode":
        """The node of an address, the same one for as long as the store lives."""
        node = self._known.get((host, port))
        if node is None:
            node = self._known[host, port] = ClusterNode(self._seeds[0].at(host, port), self)
            node.guard = self.guard
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
            self._learn(reply)
            self._refreshed_at = asyncio.get_running_loop().time()
            return
        raise StoreUnavailable(f"{NOBODY}{str(failure).removeprefix(NOBODY)}")

    def _learn(self, reply: Reply) -> None:
        slots: list[ClusterNode | None] = [None] * SLOTS
        for first, last, master, *replicas in reply:
            node = self.node_at(*_place(master))
            slots[first : last + 1] = [node] * (last - first + 1)
            if self._reads_replicas:
                node.replicas = Replicas(self._replica_at(*_place(each), node) for each in replicas)
        if slots != self._slots:
            self._owners.forget()
            self._width = len({id(node) for node in slots if node is not None})
        self._slots = slots

    def _replica_at(self, host: str, port: int, master: "ClusterNode") -> ClusterReplica:
        """The same one for as long as the store lives, whomever it follows."""
        replica = self._replicas.get((host, port))
        if replica is None:
            replica = self._replicas[host, port] = ClusterReplica(self._seeds[0].at(host, port), master)
        replica.follow(master)
        return replica


class ClusterNode(Node):
    """A master. What it redirects is followed, so a caller sees replies as of one server."""

    def __init__(self, address: Address, cluster: Cluster) -> None:
        super().__init__(address)
        self._cluster = cluster

    async def pipeline(self, commands: Iterable[Command]) -> list[Reply]:
        if self.successor is not None:
            return await self.successor.pipeline(commands)
        commands = commands if isinstance(commands, (list, tuple)) else list(commands)
        try:
            replies = await self._raw(commands)
        except StoreUnavailable:
            self._cluster.refresh_soon()
            raise
        if any(isinstance(reply, Redirected) for reply in replies):
            await self._follow(commands, replies)
        return await self._mended(commands, replies)

    def reader(self) -> Node:
        if self.replicas is not None:
            self._cluster.look_for_replicas()
        return super().reader()

    async def transaction(self, commands: Sequence[Command]) -> list[Reply]:
        """The whole transaction goes where its slot is; a slot on its way is waited for."""
        if self.successor is not None:
            return await self.successor.transaction(commands)
        block: list[Command] = [("MULTI",), *commands, ("EXEC",)]
        target: ClusterNode = self
        for _ in range(MOST_REDIRECTIONS):
            replies = await target._raw(block)
            redirections = [reply for reply in replies if isinstance(reply, Redirected)]
            if not redirections:
                return results_of(await target._mended(block, replies))
            await self._await_map(redirections[:1])
            target, asking = self._next(redirections[0], commands[0])
            block = [("ASKING",), *block[-len(commands) - 2 :]] if asking else block[-len(commands) - 2 :]
        raise StoreUnavailable("a slot of the cluster did not settle in time")

    async def confirmed(self, commands: Sequence[Command], replicas: int) -> list[Reply]:
        """All commands have keys of one tag; a redirected write is made again, whole, where its slot is."""
        node = self
        for _ in range(MOST_REDIRECTIONS):
            try:
                return await Node.confirmed(node, commands, replicas)
            except Redirected as redirection:
                await self._await_map([redirection])
                node, asking = self._next(redirection, commands[0])
                if asking:  # half of the slot is there, half here: wait until it is whole again
                    await asyncio.sleep(UNSETTLED_WAIT_S)
                    node = self
            except StoreUnavailable:
                self._cluster.refresh_soon()
                raise
        raise StoreUnavailable("a slot of the cluster did not settle in time")

    async def blocking(self, *command: Any, timeout_s: float) -> Reply:
        """Who waits is told that the slot went elsewhere, and asks again: by then the map is right."""
        try:
            return await super().blocking(*command, timeout_s=timeout_s)
        except Redirected as redirection:
            await self._await_map([redirection])
            raise
        except StoreUnavailable:
            self._cluster.refresh_soon()
            raise

    async def send_encoded(self, payload: bytes, replies: int, *, confirm: int = 0) -> list[Reply]:
        try:
            answers = await super().send_encoded(payload, replies, confirm=confirm)
        except StoreUnavailable:
            self._cluster.refresh_soon()
            raise
        if Redirected in map(type, answers):  # thousands of them: a loop in C
            await self._cluster.refresh()
        return answers

    async def _follow(self, commands: Sequence[Command], replies: list[Reply]) -> None:
        """Put the answers of the right nodes in the place of redirections, in their order."""
        for _ in range(MOST_REDIRECTIONS):
            left = [n for n, reply in enumerate(replies) if isinstance(reply, Redirected)]
            if not left:
                return
            await self._await_map([replies[position] for position in left])
            batches: dict[tuple[int, bool], tuple[ClusterNode, list[int]]] = {}
            for position in left:
                node, asking = self._next(replies[position], commands[position])
                batches.setdefault((id(node), asking), (node, []))[1].append(position)
            for (_, asking), (node, positions) in batches.items():
                answers = await node._asked([commands[n] for n in positions], asking=asking)
                for position, answer in zip(positions, answers, strict=True):
                    replies[position] = answer
        raise StoreUnavailable("a slot of the cluster did not settle in time")

    async def _await_map(self, redirections: Sequence[Redirected]) -> None:
        """One look at the map for all of them: a slot that failed over redirects thousands of commands."""
        kinds = {redirection.kind for redirection in redirections}
        if kinds - {"MOVED", "ASK"}:
            await asyncio.sleep(UNSETTLED_WAIT_S)
        if kinds != {"ASK"}:
            await self._cluster.refresh()

    def _next(self, redirection: Redirected, command: Command) -> "tuple[ClusterNode, bool]":
        """Where to go with a redirected command, and whether as one who only asks."""
        if redirection.kind in ("MOVED", "ASK"):
            return self._cluster.node_at(*self._where(redirection)), redirection.kind == "ASK"
        node = self._cluster.node_for(_tag_of(command))
        assert isinstance(node, ClusterNode)
        return node, False

    def _where(self, redirection: Redirected) -> tuple[str, int]:
        """An empty host means the node that answered."""
        return redirection.host or self.address.host, redirection.port

    async def _asked(self, commands: Sequence[Command], *, asking: bool) -> list[Reply]:
        if not asking:
            return await self._raw(commands)
        replies = await self._raw([part for command in commands for part in (("ASKING",), command)])
        return replies[1::2]


def _tag_of(command: Command) -> str:
    key: Any = next((part for part in command if isinstance(part, Key)), None)
    if key is None:
        raise LookupError(f"{command[0]} names no key, so no node can be chosen for it")
    return str(key.tag)


def _place(member: Sequence[Any]) -> tuple[str, int]:
    """Of a member of the cluster, as CLUSTER SLOTS names it."""
    return member[0].decode(), int(member[1])


def _seen(task: "asyncio.Task[None]") -> None:
    """A refresh nobody waited for may fail; the next one who needs it is told."""
    if not task.cancelled():
        task.exception()
