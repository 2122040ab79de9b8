"""A node that forwards commands. It replaces a node whose data was migrated, for callers that still use that node."""

from collections.abc import Iterable, Sequence
from typing import Any

from socialsite.migration.command_keys import first_key
from socialsite.store.address import Address
from socialsite.store.commands import Command, Reply
from socialsite.store.errors import ClusterRedirection, StoreUnavailable
from socialsite.store.key import Key
from socialsite.store.node import Node
from socialsite.store.store import Store


class ForwardingNode(Node):
    """Sends every command to the current node of its key. `address` is the address of the replaced node."""

    def __init__(self, store: Store, address: Address) -> None:
        super().__init__(address)
        self._store = store

    async def execute_all(self, commands: Iterable[Command]) -> list[Reply]:
        commands = list(commands)
        if all(first_key((command,)) for command in commands):
            return await self._store.execute_all(commands)
        return await self._node_of(commands).execute_all(commands)

    async def transaction(self, commands: Sequence[Command]) -> list[Reply]:
        return await self._node_of(commands).transaction(commands)

    async def write_all(self, commands: Sequence[Command], replicas: int) -> list[Reply]:
        return await self._node_of(commands).write_all(commands, replicas)

    async def blocking(self, *command: Any, timeout_s: float) -> Reply:
        return await self._node_of((command,)).blocking(*command, timeout_s=timeout_s)

    async def send_encoded(self, payload: bytes, replies: int, *, required_replicas: int = 0) -> list[Reply]:
        """Redirect every command, because its key is not known here. The caller repeats it as a command."""
        return [ClusterRedirection("TRYAGAIN")] * replies

    def serving_node(self, key: Key) -> Node:
        return self._store.serving_node(key)

    async def resolve_address(self) -> Address:
        raise StoreUnavailable(f"the data at {self.address} was moved to another server")

    def _node_of(self, commands: Sequence[Command]) -> Node:
        key = first_key(commands)
        return self._store.nodes[0] if key is None else self._store.node(key)
