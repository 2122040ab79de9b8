"""A master of a Redis Cluster: DONE, ASK, TRYAGAIN and CLUSTERDOWN are followed here.

So repositories never meet them. Which master a slot lies on is known to the map (cluster.py).
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from socialsite.store.connection import Address
from socialsite.store.errors import ClusterRedirection, StoreUnavailable
from socialsite.store.key import Key
from socialsite.store.node import SUCCESS_REPLY_TYPES, Node, Reply
from socialsite.store.scripts import Command
from socialsite.store.transactions import exec_results

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
