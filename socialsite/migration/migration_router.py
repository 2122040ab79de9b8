"""The one node of a store while something moves: every command goes where its slice is at this moment.

Readers of a slice under way read the source until it turned over, then the target; writers wait, a little,
until the slice has moved. What is under way is counted, so that the process can say when nothing is any more.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from socialsite.migration.blocking_commands import (
    decode_commands,
    find_keys,
    first_key,
    is_write,
    with_block_ms,
)
from socialsite.migration.forwarding_node import encode_commands
from socialsite.migration.in_flight import InFlight
from socialsite.migration.record import DONE, READS_SWITCHED, WRITES_BLOCKED, Repartition, slice_of
from socialsite.migration.tag_groups import TagGroup, group_by_tag
from socialsite.store.address import Address
from socialsite.store.commands import Command, Reply
from socialsite.store.errors import PartitionLayoutChanged, StoreUnavailable
from socialsite.store.key import Key
from socialsite.store.node import Node
from socialsite.store.node_lookup import KeyBuilder, NodeGroups, OwnerId
from socialsite.store.store import Topology

WRITER_WAIT_S = 4.0
"""A writer waits so long for its slice; below the deadline of a request."""
MAX_BLOCK_MS = 50
"""Waiting reads are this short meanwhile: a slice cannot turn over before they end."""


class MigrationRouter(Node):
    """Routes by key. `standing`: components not at `default`; `paths`: those on the move, (from, to)."""

    def __init__(
        self,
        address: Address,
        default: Topology,
        component_topologies: Mapping[str, Topology],
        paths: Mapping[str, tuple[Topology, Topology]],
        slices: bytes,
        *,
        track_writes: bool,
        repartition: Repartition | None = None,
    ) -> None:
        super().__init__(address)
        self._default = default
        self._component_topologies = component_topologies
        self._routes = paths
        self.slice_states = slices
        self._in_flight = InFlight()
        self._state_changed = asyncio.Event()
        self._track_writes = track_writes
        self._repartition = repartition
        self.touched_keys: dict[int, set[str]] = {}

    def set_slice_states(self, slices: bytes) -> InFlight:
        """From now on these are the states. Returns what is under way under the old ones."""
        before, self._in_flight = self._in_flight, InFlight()
        self.slice_states = slices
        self._wake_waiters()
        return before

    def replace_with(self, successor: Node) -> InFlight:
        """Nothing moves any more: who waits here, and who comes, goes to `successor`."""
        self.replaced_by = successor
        self._wake_waiters()
        return self._in_flight

    def serving_node(self, key: Key) -> Node:
        """The node that answers readers of a key now."""
        node = self._choose_node(key, writes=False)
        assert node is not None
        return node

    # Node

    async def pipeline(self, commands: Iterable[Command]) -> list[Reply]:
        commands = list(commands)
        replies: list[Reply] = [None] * len(commands)

        async def send(node: Node, places: Sequence[int]) -> None:
            answers = await node.pipeline([commands[place] for place in places])
            for place, answer in zip(places, answers, strict=True):
                replies[place] = answer

        await self._send_by_tag(commands, send)
        return replies

    async def send_encoded(self, payload: bytes, replies: int, *, required_replicas: int = 0) -> list[Reply]:
        commands = decode_commands(payload)
        answers: list[Reply] = [None] * len(commands)

        async def send(node: Node, places: Sequence[int]) -> None:
            part = encode_commands(commands[place] for place in places)
            for place, answer in zip(
                places,
                await node.send_encoded(part, len(places), required_replicas=required_replicas),
                strict=True,
            ):
                answers[place] = answer

        await self._send_by_tag(commands, send)
        return answers

    async def transaction(self, commands: Sequence[Command]) -> list[Reply]:
        results: list[Reply] = await self._send_together(commands, lambda node: node.transaction(commands))
        return results

    async def pipeline_with_wait(self, commands: Sequence[Command], replicas: int) -> list[Reply]:
        replies: list[Reply] = await self._send_together(commands, lambda node: node.confirmed(commands, replicas))
        return replies

    async def blocking(self, *command: Any, timeout_s: float) -> Reply:
        shorter = with_block_ms(command, MAX_BLOCK_MS)
        return await self._send_together((command,), lambda node: node.blocking(*shorter, timeout_s=timeout_s))

    async def resolve_address(self) -> Address:
        raise StoreUnavailable("the data is moving: ask for the carrier of the channel")

    # Inside

    async def _send_by_tag(self, commands: Sequence[Command], send: Any) -> None:
        left = group_by_tag(commands)
        until = asyncio.get_running_loop().time() + WRITER_WAIT_S
        while left:
            if self.replaced_by is not None:
                await send(self.replaced_by, [place for bundle in left for place in bundle.positions])
                return
            ready, left = self._split_ready(commands, left)
            await asyncio.gather(*(self._send_tracked(node, slices, send, places) for node, slices, places in ready))
            if left:
                await self._wait_for_change(until)

    async def _send_together(self, commands: Sequence[Command], call: Any) -> Reply:
        """Commands on one tag that go together, as writes."""
        until = asyncio.get_running_loop().time() + WRITER_WAIT_S
        key = first_key(commands)
        while self.replaced_by is None:
            node = self._choose_node(key, writes=True)
            if node is not None:
                self._record_writes(key, commands)
                return await self._send_tracked(node, self._slices_of(key), call)
            await self._wait_for_change(until)
        return await call(self.replaced_by)

    async def _send_tracked(self, node: Node, slices: set[int], call: Any, *args: Any) -> Any:
        with self._in_flight.track(slices, node):
            return await call(node, *args)

    def _split_ready(
        self, commands: Sequence[Command], left: Sequence[TagGroup]
    ) -> tuple[list[tuple[Node, set[int], list[int]]], list[TagGroup]]:
        """((node, its slices, places of its commands) that can go now, what has to wait)"""
        ready: dict[int, tuple[Node, set[int], list[int]]] = {}
        waiting = []
        for bundle in left:
            writes = any(is_write(commands[place]) for place in bundle.positions)
            node = self._choose_node(bundle.key, writes=writes)
            if node is None:
                waiting.append(bundle)
                continue
            if writes:
                self._record_writes(bundle.key, (commands[place] for place in bundle.positions))
            _, slices, places = ready.setdefault(id(node), (node, set(), []))
            slices |= self._slices_of(bundle.key)
            places.extend(bundle.positions)
        return list(ready.values()), waiting

    def _choose_node(self, key: Key | None, *, writes: bool) -> Node | None:
        """None: it has to wait."""
        if key is None:
            return self._default.nodes[0]
        path = self._routes.get(key.component)
        if path is None:
            return self._component_topologies.get(key.component, self._default).node_for(key.tag)
        state = self.slice_states[slice_of(key.tag, len(self.slice_states))]
        if writes and state in (WRITES_BLOCKED, READS_SWITCHED):
            return None
        if writes and self._repartition is not None:
            _require_current_layout(key, self._repartition, state)
        return path[state >= READS_SWITCHED].node_for(key.tag)

    def _slices_of(self, key: Key | None) -> set[int]:
        if key is None or key.component not in self._routes:
            return set()
        return {slice_of(key.tag, len(self.slice_states))}

    def _record_writes(self, key: Key | None, commands: Iterable[Command]) -> None:
        """Remember which keys of the source were written: one that is new is not in the mover's list."""
        if not self._track_writes or key is None or key.component not in self._routes:
            return
        number = slice_of(key.tag, len(self.slice_states))
        if self.slice_states[number] != DONE:
            touched = self.touched_keys.setdefault(number, set())
            touched.update(str(each) for command in commands for each in find_keys(command))

    async def _wait_for_change(self, until: float) -> None:
        """Wait for the next state of the map. Raises StoreUnavailable at `until`."""
        event = self._state_changed
        try:
            async with asyncio.timeout_at(until):
                await event.wait()
        except TimeoutError:
            raise StoreUnavailable("a part of the data is moving and took too long: try again") from None

    def _wake_waiters(self) -> None:
        event, self._state_changed = self._state_changed, asyncio.Event()
        event.set()


def _require_current_layout(key: Key, reshape: Repartition, state: int) -> None:
    """Raises PartitionLayoutChanged where a writer's key is of partitions that are not, or not any more, the edges'.

    It may have waited since before they turned over; or since they had, and turned back as the mover died.
    """
    stale = reshape.source if state == DONE else reshape.target
    if stale.contains_tag(key.tag):
        raise PartitionLayoutChanged(f"the partitions {stale.prefix}… were cut anew")


class MigratingTopology:
    """The topology of a store while something moves: every tag on the relay."""

    def __init__(self, relay: MigrationRouter, topologies: Sequence[Topology]) -> None:
        self.router = relay
        self._topologies = topologies

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All servers that take part, each once."""
        return tuple(dict.fromkeys(node for place in self._topologies for node in place.nodes))

    def node_for(self, tag: str) -> Node:
        return self.router

    @property
    def node_count(self) -> int:
        return 1

    def group_by_node(self, owners: Sequence[OwnerId], key_of: KeyBuilder) -> NodeGroups[OwnerId]:
        return [(self.router, owners)]

    async def open(self) -> None: ...

    async def close(self) -> None:
        for topology in self._topologies:
            await topology.close()
