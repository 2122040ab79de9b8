"""Nodes that stand for others: what was meant for a server goes where its keys are now."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from socialsite.migration.blocking_commands import decode_commands, first_key
from socialsite.store.address import Address
from socialsite.store.commands import Command, Reply, encode
from socialsite.store.errors import StoreUnavailable
from socialsite.store.key import Key
from socialsite.store.node import Node

if TYPE_CHECKING:
    from socialsite.store.store import Store


class ForwardingNode(Node):
    """In the place of a node whose data went elsewhere, for callers that still hold it."""

    def __init__(self, store: "Store", address: Address) -> None:
        super().__init__(address)
        self._store = store

    async def pipeline(self, commands: Iterable[Command]) -> list[Reply]:
        commands = list(commands)
        if all(first_key((command,)) for command in commands):
            return await self._store.gather(commands)
        return await self._node_of(commands).pipeline(commands)

    async def transaction(self, commands: Sequence[Command]) -> list[Reply]:
        return await self._node_of(commands).transaction(commands)

    async def pipeline_with_wait(self, commands: Sequence[Command], replicas: int) -> list[Reply]:
        return await self._node_of(commands).pipeline_with_wait(commands, replicas)

    async def blocking(self, *command: Any, timeout_s: float) -> Reply:
        return await self._node_of((command,)).blocking(*command, timeout_s=timeout_s)

    async def send_encoded(self, payload: bytes, replies: int, *, required_replicas: int = 0) -> list[Reply]:
        commands = decode_commands(payload)
        groups: dict[int, tuple[Node, list[int]]] = {}
        for place, command in enumerate(commands):
            node = self._node_of((command,))
            groups.setdefault(id(node), (node, []))[1].append(place)
        return await send_to_nodes(list(groups.values()), commands, required_replicas)

    def serving_node(self, key: Key) -> Node:
        return self._store.serving_node(key)

    async def resolve_address(self) -> Address:
        raise StoreUnavailable(f"what stood at {self.address} went elsewhere")

    def _node_of(self, commands: Sequence[Command]) -> Node:
        key = first_key(commands)
        return self._store.topology("accounts").nodes[0] if key is None else self._store.node(key)


async def send_to_nodes(
    groups: Sequence[tuple[Node, Sequence[int]]], commands: Sequence[Command], confirm: int
) -> list[Reply]:
    """Encoded commands to several nodes at once, replies in order; error replies stand in the list."""
    answers = await asyncio.gather(
        *(
            node.send_encoded(
                encode_commands(commands[place] for place in places), len(places), required_replicas=confirm
            )
            for node, places in groups
        )
    )
    replies: list[Reply] = [None] * len(commands)
    for (_, places), answer in zip(groups, answers, strict=True):
        for place, reply in zip(places, answer, strict=True):
            replies[place] = reply
    return replies


def encode_commands(commands: Iterable[Command]) -> bytes:
    return b"".join(encode(command) for command in commands)
