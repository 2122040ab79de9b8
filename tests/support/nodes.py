"""Nodes that record their commands, a topology of one node, and commands on the node of their first key."""

import asyncio
from collections.abc import Iterable, Sequence

from socialsite.store import Command, Key, Node, Reply, Script, Store
from socialsite.store.address import Address
from socialsite.store.commands import routing_key

STEPS_TO_HANDLE_REPLIES = 20

"""Turns of the event loop in which tasks handle replies and send their next commands."""


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


class SerialNode(Node):
    """A node that counts serial round trips: commands that are sent at the same time share one.

    Each round trip starts after all tasks have handled the replies of the previous one.
    """

    def __init__(self, url: str) -> None:
        super().__init__(Address.parse(url))
        self.trips = 0
        self._in_flight = 0
        self._next_trip: asyncio.Task[None] | None = None

    async def execute_all(self, commands: Iterable[Command]) -> list[Reply]:
        commands = list(commands)
        if not commands:
            return []
        if self._next_trip is None:
            self._next_trip = asyncio.create_task(self._start_trip())
        await asyncio.shield(self._next_trip)
        self._in_flight += 1
        try:
            return await super().execute_all(commands)
        finally:
            self._in_flight -= 1

    async def _start_trip(self) -> None:
        steps_without_reply = 0
        while steps_without_reply < STEPS_TO_HANDLE_REPLIES:
            steps_without_reply = 0 if self._in_flight else steps_without_reply + 1
            await asyncio.sleep(0)
        self.trips += 1
        self._next_trip = None


class CountingNode(Node):
    """A node that records how many commands each round trip carried."""

    def __init__(self, url: str) -> None:
        super().__init__(Address.parse(url))
        self.trips: list[int] = []

    async def execute_all(self, commands: Iterable[Command]) -> list[Reply]:
        commands = list(commands)
        if commands:
            self.trips.append(len(commands))
        return await super().execute_all(commands)


async def run_script(store: Store, script: Script, place: list[Key], *args: object) -> Reply:
    return await store.node(place[0]).execute(*script.command(place, args))


async def run_command(store: Store, *command: object) -> Reply:
    return await store.node(routing_key(command)).execute(*command)
