"""One server holds everything: embedded, or a Redis somebody runs."""

from socialsite.store.connection import Address
from socialsite.store.node import Node


class Single:
    """Every tag on one node."""

    def __init__(self, url: str) -> None:
        self._node = Node(Address.parse(url))

    @property
    def nodes(self) -> tuple[Node, ...]:
        return (self._node,)

    def node_for(self, tag: str) -> Node:
        return self._node

    async def open(self) -> None:
        """Nothing to look at: the first command connects."""

    async def close(self) -> None:
        await self._node.close()
