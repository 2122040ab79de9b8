"""The store: components on their topologies, and reads and writes over several nodes.

A store belongs to one event loop. It knows no application; the topology chooses the node of a key.
"""

import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol

from socialsite.batches import batches
from socialsite.concurrency import run_together
from socialsite.store.commands import Command, Reply, routing_key
from socialsite.store.components import REPLICA_CONFIRMED_COMPONENTS
from socialsite.store.errors import StoreUnavailable, WrongType
from socialsite.store.key import Key
from socialsite.store.key_families import INSTALLATION, key_family
from socialsite.store.node import Node
from socialsite.store.node_lookup import KeyBuilder, NodeGroups, OwnerId
from socialsite.store.pair_partitions import PartitionLayout, partition_of_pair
from socialsite.store.read import RAISE, PendingReply, Read, Result, combine_commands, parse_replies
from socialsite.store.topology.standalone import Standalone

partition_name: Callable[[str, str], Key] = key_family("<component>:{<partition>}:partition", "none",
    "never written: a name to find the node of a partition", role=INSTALLATION)  # fmt: skip

log = logging.getLogger(__name__)

MAX_WRITES_PER_ROUND_TRIP = 200
"""The maximum number of scripts in one round trip. A server runs 200 scripts in at most 10 ms."""


class Topology(Protocol):
    """The nodes of one or more components."""

    @property
    def nodes(self) -> Sequence[Node]:
        """The servers that hold the data now, for administrative commands (INFO, SCAN, TIME)."""

    def node_for(self, tag: str) -> Node:
        """Return the node of a tag. Raises LookupError if no node owns the tag; there is no default node."""

    @property
    def node_count(self) -> int:
        """The number of nodes over which `group_by_node` distributes owners."""

    def group_by_node(self, owners: Sequence[OwnerId], key_of: KeyBuilder) -> NodeGroups[OwnerId]:
        """Group owners by the node of their key `key_of(owner)`."""

    async def open(self) -> None:
        """Check the servers before the first command. Raises StoreUnavailable, InvalidStoreUrl."""

    async def close(self) -> None: ...


class TopologyFollower(Protocol):
    """Switches the topologies of a store during a migration (migration/migration_follower.py)."""

    @property
    def migration_state(self) -> tuple[int, bool]:
        """The epoch of the placement map, and whether a migration is running."""

    async def close(self) -> None: ...


class Store:
    """Components on topologies (`REDIS_URL` and `REDIS_<COMPONENT>_URL`)."""

    def __init__(
        self, default: Topology, component_topologies: dict[str, Topology] | None = None, *, require_replicas: int = 0
    ) -> None:
        self.require_replicas = require_replicas
        self.on_topology_change: set[Callable[[], None]] = set()
        """Functions that are called when keys may have moved to other nodes."""
        self.topology_follower: TopologyFollower | None = None
        self.site_id: str | None = None
        """The id that all servers had at the start (site_marks.py)."""
        self.partition_layouts: dict[str, PartitionLayout] = {}
        """Layouts of the components that were repartitioned."""
        self.set_topologies(default, component_topologies or {})

    def set_topologies(self, default: Topology, component_topologies: dict[str, Topology]) -> None:
        """Use other topologies from now on. The caller closes the previous ones."""
        self._default = default
        self._component_topologies = component_topologies
        self.topologies = tuple({id(each): each for each in (default, *component_topologies.values())}.values())
        is_single = len(self.topologies) == 1 and isinstance(default, Standalone)
        self._only_node: Node | None = default.nodes[0] if is_single else None
        self.notify_topology_change()

    def notify_topology_change(self) -> None:
        for callback in tuple(self.on_topology_change):
            callback()

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes that hold data now."""
        return tuple(dict.fromkeys(node for topology in self.topologies for node in topology.nodes))

    def component(self, name: str) -> "KeyShardedConnection":
        return KeyShardedConnection(self, name)

    def partitioned_component(self, name: str, partitions: int) -> "KeyDataShardedConnection":
        return KeyDataShardedConnection(self, name, partitions)

    def topology(self, component: str) -> Topology:
        return self._component_topologies.get(component, self._default)

    def node(self, key: Key) -> Node:
        if self._only_node is not None:
            return self._only_node
        return self.topology(key.component).node_for(key.tag)

    def serving_node(self, channel: Key) -> Node:
        """Return the server that delivers the messages of a channel.

        It may change when `on_topology_change` is called.
        """
        return self.node(channel).serving_node(channel)

    async def execute_all(self, commands: Iterable[Command], *, may_lag: bool = False) -> list[Reply]:
        """Run commands on any keys in one concurrent round trip per node; return the replies in order.

        If `may_lag` is true, a replica may answer, with data that is up to one second old. Then all commands must be
        reads.
        """
        if self._only_node is not None:
            return await (self._only_node.pick_reader() if may_lag else self._only_node).execute_all(commands)
        if isinstance(commands, (list, tuple)) and len(commands) == 1 and not may_lag:
            return await self.node(routing_key(commands[0])).execute_all(commands)
        return await self._execute_by_node([(commands, may_lag)])

    async def _execute_by_node(self, parts: Iterable[tuple[Iterable[Command], bool]]) -> list[Reply]:
        """Run commands. Each part has commands, and whether a replica may answer them."""
        topologies, default = self._component_topologies, self._default
        nodes: list[Node] = []  # node of each command
        readers: dict[Node, Node] = {}  # one choice per node, so that all commands of a caller see the same data
        groups: defaultdict[Node, list[Command]] = defaultdict(list)
        for commands, may_lag in parts:
            for command in commands:
                key = routing_key(command)
                node = topologies.get(key.component, default).node_for(key.tag)
                nodes.append(_pick_reader(node, readers) if may_lag else node)
                groups[nodes[-1]].append(command)
        if len(groups) == 1:
            return await nodes[0].execute_all(groups[nodes[0]])
        replies = dict(zip(groups, map(iter, await _send_to_nodes(list(groups.items()))), strict=True))
        return [next(replies[node]) for node in nodes]

    async def read(self, *reads: Read[Any]) -> list[Any]:
        """Run all reads in one round trip per node; return their results in order."""
        try:
            return parse_replies(reads, await self._read_together(reads))
        except WrongType:
            if all(read.wrong_type_reply is RAISE for read in reads):
                raise
        replies = (self._reply_alone(command, read.wrong_type_reply) for read in reads for command in read.commands)
        return parse_replies(reads, await run_together(*replies))

    async def _read_together(self, reads: Sequence[Read[Any]]) -> list[Reply]:
        commands = combine_commands(reads)
        any_may_lag = any(read.may_lag for read in reads)
        if any_may_lag and (self._only_node is None or self._only_node.replicas is not None):
            return await self._execute_by_node((read.commands, read.may_lag) for read in reads)
        return await self.execute_all(commands)

    async def _reply_alone(self, command: Command, wrong_type_reply: Reply) -> Reply:
        """Run one command. If its key has a wrong type, return `wrong_type_reply`, or raise WrongType for RAISE."""
        try:
            return (await self.execute_all([command]))[0]
        except WrongType:
            if wrong_type_reply is RAISE:
                raise
            log.error("the value of %s has a wrong type: run `audit --repair`", routing_key(command))
            return wrong_type_reply

    def send_now(self, read: Read[Result]) -> Awaitable[Result]:
        """Send a read now; await the return value for its result.

        If several nodes have the data, or if no connection is open, the read is sent when it is awaited.
        """
        if self._only_node is not None and read.commands and not read.may_lag:
            sent = self._only_node.send_now(read.commands)
            if sent is not None:
                return PendingReply(read, self._only_node, sent)
        return read if read.store is not None else Read(read.commands, read.parse, self, read.may_lag)

    async def execute(self, *command: Any) -> Reply:
        """Run one command on the node of its first key, and return its reply."""
        return await self.node(routing_key(command)).execute(*command)

    async def write(self, *command: Any) -> Reply:
        """Run one command; return its reply after the required number of replicas has the write.

        Raises NotDurable if too few replicas confirm in time. Then the caller may repeat the write, so writes have to
        be idempotent.
        """
        if not self.require_replicas:
            return await self.execute(*command)
        (reply,) = await self.node(routing_key(command)).write_all([command], self.require_replicas)
        return reply

    async def write_all(self, commands: Sequence[Command]) -> list[Reply]:
        """Run commands on any keys, as `write` does for one. Commands of one tag keep their order."""
        replies: list[Reply] = []
        for batch in batches(commands, MAX_WRITES_PER_ROUND_TRIP):
            replies += await (self._write_batch(batch) if self.require_replicas else self.execute_all(batch))
        return replies

    async def _write_batch(self, commands: Sequence[Command]) -> list[Reply]:
        by_tag: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for position, command in enumerate(commands):
            key = routing_key(command)
            by_tag[key.component, key.tag].append(position)
        groups = [[commands[position] for position in positions] for positions in by_tag.values()]
        nodes = [self.node(routing_key(group[0])) for group in groups]
        written = await run_together(
            *(node.write_all(group, self.require_replicas) for node, group in zip(nodes, groups, strict=True))
        )
        replies = dict(zip(chain.from_iterable(by_tag.values()), chain.from_iterable(written), strict=True))
        return [replies[position] for position in range(len(commands))]

    async def confirm(self, nodes: Iterable[object]) -> None:
        """Wait until replicas have the earlier writes on these nodes, also those of others. Raises NotDurable."""
        if self.require_replicas:
            topologies = (self.topology(component) for component in REPLICA_CONFIRMED_COMPONENTS)
            confirmed = {node for topology in topologies for node in topology.nodes}.intersection(nodes)
            await run_together(*(node.write_all([("PING",)], self.require_replicas) for node in confirmed))

    def node_count(self, component: str) -> int:
        return self.topology(component).node_count

    def group_by_node(self, component: str, owners: Sequence[OwnerId], key_of: KeyBuilder) -> NodeGroups[OwnerId]:
        """Group owners by the node of their key `key_of(owner)`, for batches of thousands."""
        return self.topology(component).group_by_node(owners, key_of) if owners else []

    async def now_ms(self) -> int:
        """Return Redis TIME in Unix milliseconds, from the first server of component `accounts` that answers.

        The same server is used as long as it answers, so that the clocks of two servers do not alternate. The command
        is sent to the server itself, not to a proxy.
        """
        failure = StoreUnavailable("no server of the accounts answered with its time")
        for node in self.topology("accounts").nodes:
            try:
                seconds, micros = await node.execute("TIME")
            except StoreUnavailable as error:
                failure = error
            else:
                return int(seconds) * 1000 + int(micros) // 1000
        raise failure

    async def close(self) -> None:
        if self.topology_follower is not None:
            await self.topology_follower.close()
        for topology in self.topologies:
            await topology.close()


def _pick_reader(node: Node, readers: dict[Node, Node]) -> Node:
    if node.replicas is None:
        return node
    return readers.get(node) or readers.setdefault(node, node.pick_reader())


async def _send_to_nodes(groups: Sequence[tuple[Node, Sequence[Command]]]) -> list[list[Reply]]:
    """Send the commands of each node in one round trip, at the same time. A task for each node would cost more."""
    sent = [node.send_now(commands) for node, commands in groups]
    if None in sent:  # a node has to connect first
        pairs = zip(groups, sent, strict=True)
        return await run_together(
            *(node.await_replies(each) if each else node.execute_all(commands) for (node, commands), each in pairs)
        )
    return [await node.await_replies(each) for (node, _), each in zip(groups, sent, strict=True) if each]


class KeyShardedConnection:
    """Look up the node of a key of one component: `timelines[key]`.

    Source: Redis in Action, section 10.3.3, listing 10.11.
    """

    def __init__(self, store: Store, component: str) -> None:
        self._store = store
        self.component = component
        self.write, self.write_all, self.execute_all = store.write, store.write_all, store.execute_all

    def __getitem__(self, key: Key) -> Node:
        if key.component != self.component:
            raise KeyError(f"{key} is not a key of {self.component}")
        return self._store.node(key)

    async def execute(self, *command: Any) -> Reply:
        return await self[routing_key(command)].execute(*command)


@dataclass(frozen=True, slots=True)
class Partition:
    """One numbered part of a component's data (docs/reference/architecture.md)."""

    number: int
    node: Node
    tag: str


class KeyDataShardedConnection:
    """Look up the partition of a pair of ids of one component: `follows[a, b]` is `follows[b, a]`.

    Both sides of a follow are in one partition, so one script changes both. Source: Redis in Action, section 10.3.3,
    listing 10.13.
    """

    def __init__(self, store: Store, component: str, count: int) -> None:
        """`count` is the number of partitions until the component is repartitioned."""
        if count < 1:
            raise ValueError("a component needs at least one partition")
        self._store = store
        self.component = component
        self._initial_layout = PartitionLayout("p", count)

    @property
    def layout(self) -> PartitionLayout:
        return self._store.partition_layouts.get(self.component, self._initial_layout)

    @property
    def count(self) -> int:
        return self.layout.count

    def __getitem__(self, pair: tuple[int, int]) -> Partition:
        return self.partition(partition_of_pair(*pair, self.count))

    def partition(self, number: int) -> Partition:
        tag = self.layout.tag_of(number)
        return Partition(number, self._store.node(partition_name(self.component, tag)), tag)

    async def execute_all(self, commands: Iterable[Command], *, may_lag: bool = False) -> list[Reply]:
        return await self._store.execute_all(commands, may_lag=may_lag)

    async def read(self, *reads: Read[Any]) -> list[Any]:
        return await self._store.read(*reads)

    async def write_all(self, commands: Sequence[Command]) -> list[Reply]:
        return await self._store.write_all(commands)


class Repository:
    """The base of repositories. Each component that they use has its own name: `self._timelines`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._accounts, self._sessions = store.component("accounts"), store.component("sessions")
        self._posts, self._timelines = store.component("posts"), store.component("timelines")
        self._jobs, self._series = store.component("jobs"), store.component("series")
