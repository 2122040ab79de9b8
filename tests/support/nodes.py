"""Nodes that record their commands, a topology of one node, and keys for it."""

from collections.abc import Iterable, Sequence

from socialsite.store import Command, Key, Node, Reply
from socialsite.store.address import Address


def numbered_key(number: int) -> Key:
    """Return a key whose tag is the number."""
    return Key("posts", tag=str(number), name="post")


class SingleNodeTopology:
    """A topology of one node: `Store(SingleNodeTopology(node))`."""

    node_count = 1

    def __init__(self, node: Node) -> None:
        self._node = node

    @property
    def nodes(self) -> Sequence[Node]:
        return (self._node,)

    def node_for(self, tag: str) -> Node:
        return self._node

    def group_by_node(self, owners: Sequence[int], key_of: object) -> list[tuple[Node, Sequence[int]]]:
        return [(self._node, owners)]

    async def open(self) -> None:
        pass

    async def close(self) -> None:
        await self._node.close()


class CountingNode(Node):
    """A node that records how many commands each round trip carried."""

    def __init__(self, url: str) -> None:
        super().__init__(Address.parse(url))
        self.trips: list[int] = []

    async def pipeline(self, commands: Iterable[Command]) -> list[Reply]:
        commands = list(commands)
        if commands:
            self.trips.append(len(commands))
        return await super().pipeline(commands)
