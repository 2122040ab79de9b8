"""The store: every component's place, and reads over several of them at once.

One store belongs to one event loop. It knows no application; where a key lives is the topology's answer.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import chain, repeat
from typing import Any, Protocol

from socialsite.store.connections import KeyDataShardedConnection, KeyShardedConnection, PartitionLayout
from socialsite.store.errors import StoreUnavailable
from socialsite.store.key import Key
from socialsite.store.node import Node, Reply
from socialsite.store.node_lookup import KeyBuilder, NodeGroups, OwnerId
from socialsite.store.read import PendingReply, Read, Result, combine_commands, parse_replies
from socialsite.store.scripts import Command, routing_key
from socialsite.store.topology.standalone import Standalone

WRITES_PER_ROUND_TRIP = 200  # scripts in one round trip: about 10 ms of the server at most


class Topology(Protocol):
    """How the nodes of a component stand."""

    @property
    def nodes(self) -> Sequence[Node]:
        """The servers that hold the data now: what operators' commands (INFO, SCAN, TIME) are sent to."""
        ...

    def node_for(self, tag: str) -> Node:
        """The node of a tag. Raises LookupError where nobody owns it, never a default."""
        ...

    @property
    def node_count(self) -> int:
        """Over how many nodes `group` spreads owners."""
        ...

    def group_by_node(self, owners: Sequence[OwnerId], key_of: KeyBuilder) -> NodeGroups[OwnerId]:
        """Owners of keys by the node that holds them; an owner's key is `key_of(owner)`."""
        ...

    async def open(self) -> None:
        """Look at the servers before the first use. Raises StoreUnavailable, InvalidStoreUrl."""
        ...

    async def close(self) -> None: ...


class TopologyFollower(Protocol):
    """Keeps a store arranged while its data moves (moving/keeper.py)."""

    @property
    def migration_state(self) -> tuple[int, bool]:
        """The epoch of the map, and whether anything moves."""
        ...

    async def close(self) -> None: ...


class Store:
    """Components placed on topologies (`REDIS_URL` and `REDIS_<COMPONENT>_URL`)."""

    def __init__(
        self, default: Topology, placed: dict[str, Topology] | None = None, *, require_replicas: int = 0
    ) -> None:
        self.require_replicas = require_replicas
        self.on_topology_change: set[Callable[[], None]] = set()
        """Called when keys may have changed their nodes (the hub's channels follow them)."""
        self.topology_follower: TopologyFollower | None = None
        self.partition_layouts: dict[str, PartitionLayout] = {}
        """Components whose edges were cut anew since their birth."""
        self.set_topologies(default, placed or {})

    def set_topologies(self, default: Topology, placed: dict[str, Topology]) -> None:
        """From now on the components stand like this. Closing what they stood on is the caller's."""
        self._default = default
        self._component_topologies = placed
        self.topologies = tuple({id(place): place for place in (default, *placed.values())}.values())
        one = len(self.topologies) == 1 and isinstance(default, Standalone)
        self._only_node: Node | None = default.nodes[0] if one else None
        self.notify_topology_change()

    def notify_topology_change(self) -> None:
        for watcher in tuple(self.on_topology_change):
            watcher()

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Every node that holds data now."""
        return tuple(dict.fromkeys(node for place in self.topologies for node in place.nodes))

    def component(self, name: str) -> KeyShardedConnection:
        return KeyShardedConnection(self, name)

    def partitioned_component(self, name: str, partitions: int) -> KeyDataShardedConnection:
        return KeyDataShardedConnection(self, name, partitions)

    def topology(self, component: str) -> Topology:
        return self._component_topologies.get(component, self._default)

    def node(self, key: Key) -> Node:
        if self._only_node is not None:
            return self._only_node
        return self.topology(key.component).node_for(key.tag)

    def serving_node(self, channel: Key) -> Node:
        """The server that carries a channel; it may be another once `on_topology_change` were called."""
        return self.node(channel).serving_node(channel)

    async def gather(self, commands: Iterable[Command], *, may_lag: bool = False) -> list[Reply]:
        """Commands on any keys: grouped by node, one round trip each, all nodes at once, replies in order.

        `may_lag`: they only read, and an answer that is a second old will do (Node.reader).
        """
        if self._only_node is not None:
            return await (self._only_node.pick_reader() if may_lag else self._only_node).pipeline(commands)
        commands = list(commands)
        return await self._gather_by_node(commands, repeat(may_lag, len(commands)))

    async def _gather_by_node(self, commands: Sequence[Command], may_lag: Iterable[bool]) -> list[Reply]:
        by_node: dict[Node, list[int]] = {}
        readers: dict[Node, Node] = {}  # one choice for all that a caller reads of a node
        for position, (command, lags) in enumerate(zip(commands, may_lag, strict=True)):
            node = self._only_node or self.node(routing_key(command))
            if lags and node.replicas is not None:
                chosen = readers.get(node)
                if chosen is None:
                    chosen = readers[node] = node.pick_reader()
                node = chosen
            if node in by_node:
                by_node[node].append(position)
            else:
                by_node[node] = [position]
        groups = list(by_node.items())
        if len(groups) == 1:
            return await groups[0][0].pipeline(commands)
        answers = await asyncio.gather(
            *(node.pipeline([commands[position] for position in positions]) for node, positions in groups)
        )
        replies: list[Reply] = [None] * len(commands)
        for (_, positions), answer in zip(groups, answers, strict=True):
            for position, reply in zip(positions, answer, strict=True):
                replies[position] = reply
        return replies

    async def read(self, *questions: Read[Any]) -> list[Any]:
        """The answers to all questions, in one round trip a node."""
        commands = combine_commands(questions)
        lags = any(question.may_lag for question in questions)
        if lags and (self._only_node is None or self._only_node.replicas is not None):
            places = (repeat(question.may_lag, len(question.commands)) for question in questions)
            replies = await self._gather_by_node(list(commands), chain.from_iterable(places))
        else:
            replies = await self.gather(commands)
        return parse_replies(questions, replies)

    def send_now(self, read: Read[Result]) -> Awaitable[Result]:
        """Send a read without scripts at once; await the return value for its result.

        The read is sent when it is awaited if several nodes have the data or no connection is open.
        """
        if self._only_node is not None and read.commands and not read.may_lag:
            replies = self._only_node.send_now(read.commands)
            if replies is not None:
                return PendingReply(read, self._only_node, replies)
        return read if read.store is not None else Read(read.commands, read.parse, self, read.may_lag)

    async def write(self, key: Key, *commands: Command) -> list[Reply]:
        """Commands on keys of one tag, answered once as many replicas as required have them.

        Raises Unconfirmed where they do not in time; repeating the write has to be safe.
        """
        node = self.node(key)
        if not self.require_replicas:
            return await node.pipeline(commands)
        return await node.pipeline_with_wait(commands, self.require_replicas)

    async def write_each(self, commands: Sequence[Command]) -> list[Reply]:
        """As `write`, for commands of many tags; where replicas have to confirm, each waits for itself."""
        replies: list[Reply] = []
        for start in range(0, len(commands), WRITES_PER_ROUND_TRIP):
            some = commands[start : start + WRITES_PER_ROUND_TRIP]
            if self.require_replicas:
                confirmed = await asyncio.gather(*(self.write(routing_key(each), each) for each in some))
                replies += [reply for (reply,) in confirmed]
            else:
                replies += await self.gather(some)
        return replies

    def node_count(self, component: str) -> int:
        """Over how many nodes a pass over many owners is spread."""
        return self.topology(component).node_count

    def group_by_node(self, component: str, owners: Sequence[OwnerId], key_of: KeyBuilder) -> NodeGroups[OwnerId]:
        """Owners of keys by the node that holds them, for passes over thousands."""
        return self.topology(component).group_by_node(owners, key_of) if owners else []

    async def now_ms(self) -> int:
        """Redis TIME in Unix milliseconds, of the first server of the accounts that answers.

        Always the same one while it lives, so that two clocks do not take turns. Asked of the server itself
        where a proxy stands before it.
        """
        refusal = StoreUnavailable("no server of the accounts tells the time")
        for node in self.topology("accounts").nodes:
            try:
                seconds, micros = await node.execute("TIME")
            except StoreUnavailable as error:
                refusal = error
            else:
                return int(seconds) * 1000 + int(micros) // 1000
        raise refusal

    async def close(self) -> None:
        if self.topology_follower is not None:
            await self.topology_follower.close()
        for place in self.topologies:
            await place.close()
