"""The only node of a store during a migration. It sends every command to the server that has its slice.

Readers of a slice use the source until the reads are switched, then the target. Writers wait briefly until the slice
is done. Commands in flight are counted, so that the process can report when no command of an older map remains.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from socialsite.concurrency import run_together
from socialsite.migration.command_keys import find_key, find_keys, first_key, with_block_ms
from socialsite.migration.placement_map import DONE, READS_SWITCHED, WRITES_BLOCKED, Repartition, slice_of
from socialsite.store.address import Address
from socialsite.store.commands import Command, Reply, is_write
from socialsite.store.errors import ClusterRedirection, PartitionLayoutChanged, StoreUnavailable
from socialsite.store.key import Key
from socialsite.store.node import Node
from socialsite.store.store import Topology
from socialsite.store.topology.standalone import OneNodeTopology

WRITER_WAIT_S = 4.0
"""The maximum time that a writer waits for its slice. It is less than the deadline of a request."""
MAX_BLOCK_MS = 50
"""The maximum wait of a blocking command. A slice cannot be switched while the command is in flight."""

SendGroup = Callable[[Node, Sequence[int]], Awaitable[None]]
"""Sends the commands at these positions to a node and stores their replies."""


class InFlight:
    """The commands that were sent in one state of the map, counted by slice."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self._completed = asyncio.Event()
        self.nodes_to_drain: set[Node] = set()
        """Nodes from which a reply is pending although its caller was cancelled."""
        self.has_lost_replies = False
        """Whether a reply was lost with its connection. The server may still execute the command."""

    @contextlib.contextmanager
    def track(self, slices: Collection[int], node: Node) -> Iterator[None]:
        self._counts.update(slices)
        try:
            yield
        except asyncio.CancelledError:
            self.nodes_to_drain.add(node)
            raise
        except StoreUnavailable as error:
            self.has_lost_replies |= type(error) is StoreUnavailable  # a subclass means that a server replied
            raise
        finally:
            self._counts.subtract(slices)
            self._completed.set()

    async def wait_until_idle(self, slices: Collection[int] | None = None) -> None:
        """Wait until no command on these slices is in flight. If `slices` is None, wait for all slices."""
        while self.is_busy(slices):
            self._completed.clear()
            await self._completed.wait()

    def is_busy(self, slices: Collection[int] | None = None) -> bool:
        counts = self._counts
        return any(counts[number] > 0 for number in (counts if slices is None else slices))


class TagGroup(NamedTuple):
    """The commands of one call on one tag. They stay in order, so one waiting write delays all of them."""

    key: Key | None
    positions: list[int]


def group_by_tag(commands: Sequence[Command]) -> list[TagGroup]:
    """Group commands by component and tag, in the order of first appearance. Commands without a key form a group."""
    groups: dict[tuple[str, str] | None, TagGroup] = {}
    for position, command in enumerate(commands):
        key = find_key(command)
        name = None if key is None else (key.component, key.tag)
        if name not in groups:
            groups[name] = TagGroup(key, [])
        groups[name].positions.append(position)
    return list(groups.values())


class NodeGroup(NamedTuple):
    """The slices and positions of commands that a node can execute now."""

    node: Node
    slices: set[int]
    positions: list[int]


class MigrationRouter(Node):
    """Routes commands by key. `routes` maps each migrated component to its source and target topology.

    `component_topologies` maps each other component that is not in the `default` topology to its topology.
    """

    def __init__(
        self,
        address: Address,
        default: Topology,
        component_topologies: Mapping[str, Topology],
        routes: Mapping[str, tuple[Topology, Topology]],
        slice_states: bytes,
        *,
        track_writes: bool,
        repartition: Repartition | None = None,
    ) -> None:
        super().__init__(address)
        self._default = default
        self._component_topologies = component_topologies
        self._routes = routes
        self.slice_states = slice_states
        self._in_flight = InFlight()
        self._state_changed = asyncio.Event()
        self._track_writes = track_writes
        self._repartition = repartition
        self.touched_keys: dict[int, set[str]] = {}

    def set_slice_states(self, slice_states: bytes) -> InFlight:
        """Use new states from now on. Return the commands in flight, which were sent in the old states."""
        before, self._in_flight = self._in_flight, InFlight()
        self.slice_states = slice_states
        self._wake_waiters()
        return before

    def replace_with(self, successor: Node) -> InFlight:
        """Send waiting and further commands to `successor`. Return the commands in flight."""
        self.replaced_by = successor
        self._wake_waiters()
        return self._in_flight

    def serving_node(self, key: Key) -> Node:
        """Return the node from which readers read a key now."""
        node = self._choose_node(key, writes=False)
        assert node is not None
        return node

    # Node

    async def execute_all(self, commands: Iterable[Command]) -> list[Reply]:
        commands = list(commands)
        replies: list[Reply] = [None] * len(commands)

        async def send(node: Node, positions: Sequence[int]) -> None:
            answers = await node.execute_all([commands[position] for position in positions])
            for position, answer in zip(positions, answers, strict=True):
                replies[position] = answer

        await self._send_by_tag(commands, send)
        return replies

    async def send_encoded(self, payload: bytes, replies: int, *, required_replicas: int = 0) -> list[Reply]:
        """Redirect every command, because its key is not known here. The caller repeats it as a command."""
        return [ClusterRedirection("TRYAGAIN")] * replies

    async def transaction(self, commands: Sequence[Command]) -> list[Reply]:
        replies: list[Reply] = await self._send_together(commands, lambda node: node.transaction(commands))
        return replies

    async def write_all(self, commands: Sequence[Command], replicas: int) -> list[Reply]:
        replies: list[Reply] = await self._send_together(commands, lambda node: node.write_all(commands, replicas))
        return replies

    async def blocking(self, *command: Any, timeout_s: float) -> Reply:
        shorter = with_block_ms(command, MAX_BLOCK_MS)
        return await self._send_together((command,), lambda node: node.blocking(*shorter, timeout_s=timeout_s))

    async def resolve_address(self) -> Address:
        raise StoreUnavailable("the data is moving: find the node of the channel again")

    # Private methods

    async def _send_by_tag(self, commands: Sequence[Command], send: SendGroup) -> None:
        """Send each group as soon as its slice allows it."""
        waiting = group_by_tag(commands)
        deadline = asyncio.get_running_loop().time() + WRITER_WAIT_S
        while waiting:
            if self.replaced_by is not None:
                await send(self.replaced_by, [position for group in waiting for position in group.positions])
                return
            ready, waiting = self._split_ready(commands, waiting)
            await run_together(*(self._send_tracked(group, send) for group in ready))
            if waiting:
                await self._wait_for_change(deadline)

    async def _send_tracked(self, group: NodeGroup, send: SendGroup) -> None:
        with self._in_flight.track(group.slices, group.node):
            await send(group.node, group.positions)

    async def _send_together(self, commands: Sequence[Command], call: Callable[[Node], Awaitable[Reply]]) -> Reply:
        """Send commands on one tag in one call, as writes."""
        deadline = asyncio.get_running_loop().time() + WRITER_WAIT_S
        key = first_key(commands)
        while self.replaced_by is None:
            node = self._choose_node(key, writes=True)
            if node is not None:
                self._record_writes(key, commands)
                with self._in_flight.track(self._slices_of(key), node):
                    return await call(node)
            await self._wait_for_change(deadline)
        return await call(self.replaced_by)

    def _split_ready(
        self, commands: Sequence[Command], groups: Sequence[TagGroup]
    ) -> tuple[list[NodeGroup], list[TagGroup]]:
        """Return the groups that can be sent now, by node, and the groups that must wait."""
        ready: dict[int, NodeGroup] = {}
        waiting = []
        for group in groups:
            writes = any(is_write(commands[position]) for position in group.positions)
            node = self._choose_node(group.key, writes=writes)
            if node is None:
                waiting.append(group)
                continue
            if writes:
                self._record_writes(group.key, (commands[position] for position in group.positions))
            node_group = ready.setdefault(id(node), NodeGroup(node, set(), []))
            node_group.slices.update(self._slices_of(group.key))
            node_group.positions.extend(group.positions)
        return list(ready.values()), waiting

    def _choose_node(self, key: Key | None, *, writes: bool) -> Node | None:
        """Return the node for a key, or None if a writer must wait."""
        if key is None:
            return self._default.nodes[0]
        route = self._routes.get(key.component)
        if route is None:
            return self._component_topologies.get(key.component, self._default).node_for(key.tag)
        state = self.slice_states[slice_of(key.tag, len(self.slice_states))]
        if writes and state in (WRITES_BLOCKED, READS_SWITCHED):
            return None
        if writes and self._repartition is not None:
            _require_current_layout(key, self._repartition, state)
        return route[state >= READS_SWITCHED].node_for(key.tag)

    def _slices_of(self, key: Key | None) -> set[int]:
        if key is None or key.component not in self._routes:
            return set()
        return {slice_of(key.tag, len(self.slice_states))}

    def _record_writes(self, key: Key | None, commands: Iterable[Command]) -> None:
        """Record the keys that commands write at the source, because the migrator has not listed new keys."""
        if not self._track_writes or key is None or key.component not in self._routes:
            return
        number = slice_of(key.tag, len(self.slice_states))
        if self.slice_states[number] != DONE:
            touched = self.touched_keys.setdefault(number, set())
            touched.update(str(each) for command in commands for each in find_keys(command))

    async def _wait_for_change(self, deadline: float) -> None:
        """Wait for the next state of the map. Raises StoreUnavailable at the deadline."""
        event = self._state_changed
        try:
            async with asyncio.timeout_at(deadline):
                await event.wait()
        except TimeoutError:
            raise StoreUnavailable("a part of the data is moving and took too long: try again") from None

    def _wake_waiters(self) -> None:
        event, self._state_changed = self._state_changed, asyncio.Event()
        event.set()


def _require_current_layout(key: Key, repartition: Repartition, state: int) -> None:
    """Raise PartitionLayoutChanged if a writer's key does not belong to the current layout.

    The layout may have been switched, or a switch may have been rolled back, while the writer waited.
    """
    stale = repartition.source if state == DONE else repartition.target
    if stale.contains_tag(key.tag):
        raise PartitionLayoutChanged(f"the partitions {stale.prefix}… were replaced by a repartition")


class MigratingTopology(OneNodeTopology):
    """The topology of a store during a migration: the router is the node of every tag."""

    def __init__(self, router: MigrationRouter, topologies: Sequence[Topology]) -> None:
        super().__init__(router)
        self.router = router
        self._topologies = topologies

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All servers of all topologies, each once."""
        return tuple(dict.fromkeys(node for topology in self._topologies for node in topology.nodes))

    async def open(self) -> None: ...

    async def close(self) -> None:
        for topology in self._topologies:
            await topology.close()
