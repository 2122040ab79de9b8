"""One Redis server for all keys, with optional replicas for reads that may lag."""

from collections.abc import Sequence

from socialsite.concurrency import run_together
from socialsite.store.address import Address
from socialsite.store.node import Node
from socialsite.store.node_lookup import KeyBuilder, NodeGroups, OwnerId
from socialsite.store.replicas import ReplicaNode, Replicas


class OneNodeTopology:
    """A topology that sends the commands of every tag to one node: a server, a proxy or a router."""

    node_count = 1

    def __init__(self, node: Node) -> None:
        self._node = node

    def node_for(self, tag: str) -> Node:
        return self._node

    def group_by_node(self, owners: Sequence[OwnerId], key_of: KeyBuilder) -> NodeGroups[OwnerId]:
        return [(self._node, owners)]


class Standalone(OneNodeTopology):
    def __init__(self, url: str, replicas: Sequence[Address] = ()) -> None:
        super().__init__(Node(Address.parse(url)))
        self._replicas = tuple(ReplicaNode(address, self._node) for address in replicas)
        self._node.replicas = Replicas(self._replicas) if replicas else None

    @property
    def nodes(self) -> tuple[Node, ...]:
        return (self._node,)

    async def open(self) -> None:
        """Check the replicas; the first command connects to the server. Raises NotAReplica."""
        await run_together(*(replica.check_role() for replica in self._replicas))

    async def close(self) -> None:
        for node in (*self._replicas, self._node):
            await node.close()
