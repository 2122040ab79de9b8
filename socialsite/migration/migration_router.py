"""The one node of a store while something moves: every command goes where its slice is at this moment.

Readers of a slice under way read the source until it turned over, then the target; writers wait, a little,
until the slice has moved. What is under way is counted, so that the process can say when nothing is any more.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from socialsite.migration.blocking_commands import decoded, hurried, is_write, keys_in, routing_key
from socialsite.migration.forwarding_node import encoded
from socialsite.migration.in_flight import Traffic
from socialsite.migration.record import FROZEN, MOVED, TURNED, Reshape, slice_of
from socialsite.migration.tag_groups import Bundle, bundles
from socialsite.store.connection import Address
from socialsite.store.errors import LayoutChanged, StoreUnavailable
from socialsite.store.key import Key
from socialsite.store.node import Node, Reply
from socialsite.store.node_lookup import Groups, KeyOf, OwnerId
from socialsite.store.scripts import Command
from socialsite.store.store import Topology

WAIT_S = 4.0
"""A writer waits so long for its slice; below the deadline of a request."""
BLOCK_MS = 50
"""Waiting reads are this short meanwhile: a slice cannot turn over before they end."""


class Relay(Node):
    """Routes by key. `standing`: components not at `default`; `paths`: those on the move, (from, to)."""

    def __init__(
        self,
        address: Address,
        default: Topology,
        standing: Mapping[str, Topology],
        paths: Mapping[str, tuple[Topology, Topology]],
        slices: bytes,
        *,
        tracked: bool,
        reshape: Reshape | None = None,
    ) -> None:
        super().__init__(address)
        self._default = default
        self._standing = standing
        self._paths = paths
        self.slices = slices
        self._traffic = Traffic()
        self._turning = asyncio.Event()
        self._tracked = tracked
        self._reshape = reshape
        self.touched: dict[int, set[str]] = {}

    def turn(self, slices: bytes) -> Traffic:
        """From now on these are the states. Returns what is under way under the old ones."""
        before, self._traffic = self._traffic, Traffic()
        self.slices = slices
        self._wake()
        return before

    def retire(self, successor: Node) -> Traffic:
        """Nothing moves any more: who waits here, and who comes, goes to `successor`."""
        self.successor = successor
        self._wake()
        return self._traffic

    def carrier(self, key: Key) -> Node:
        """The node that answers readers of a key now."""
        node = self._node(key, writes=False)
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

        await self._each_where_it_is(commands, send)
        return replies

    async def send_encoded(self, payload: bytes, replies: int, *, confirm: int = 0) -> list[Reply]:
        commands = decoded(payload)
        answers: list[Reply] = [None] * len(commands)

        async def send(node: Node, places: Sequence[int]) -> None:
            part = encoded(commands[place] for place in places)
            for place, answer in zip(
                places, await node.send_encoded(part, len(places), confirm=confirm), strict=True
            ):
                answers[place] = answer

        await self._each_where_it_is(commands, send)
        return answers

    async def transaction(self, commands: Sequence[Command]) -> list[Reply]:
        results: list[Reply] = await self._whole(commands, lambda node: node.transaction(commands))
        return results

    async def confirmed(self, commands: Sequence[Command], replicas: int) -> list[Reply]:
        replies: list[Reply] = await self._whole(commands, lambda node: node.confirmed(commands, replicas))
        return replies

    async def blocking(self, *command: Any, timeout_s: float) -> Reply:
        shorter = hurried(command, BLOCK_MS)
        return await self._whole((command,), lambda node: node.blocking(*shorter, timeout_s=timeout_s))

    async def locate(self) -> Address:
        raise StoreUnavailable("the data is moving: ask for the carrier of the channel")

    # Inside

    async def _each_where_it_is(self, commands: Sequence[Command], send: Any) -> None:
        left = bundles(commands)
        until = asyncio.get_running_loop().time() + WAIT_S
        while left:
            if self.successor is not None:
                await send(self.successor, [place for bundle in left for place in bundle.places])
                return
            ready, left = self._sorted(commands, left)
            await asyncio.gather(
                *(self._counted(node, slices, send, places) for node, slices, places in ready)
            )
            if left:
                await self._turned(until)

    async def _whole(self, commands: Sequence[Command], call: Any) -> Reply:
        """Commands on one tag that go together, as writes."""
        until = asyncio.get_running_loop().time() + WAIT_S
        key = routing_key(commands)
        while self.successor is None:
            node = self._node(key, writes=True)
            if node is not None:
                self._note(key, commands)
                return await self._counted(node, self._slice(key), call)
            await self._turned(until)
        return await call(self.successor)

    async def _counted(self, node: Node, slices: set[int], call: Any, *args: Any) -> Any:
        with self._traffic.sending(slices, node):
            return await call(node, *args)

    def _sorted(
        self, commands: Sequence[Command], left: Sequence[Bundle]
    ) -> tuple[list[tuple[Node, set[int], list[int]]], list[Bundle]]:
        """((node, its slices, places of its commands) that can go now, what has to wait)"""
        ready: dict[int, tuple[Node, set[int], list[int]]] = {}
        waiting = []
        for bundle in left:
            writes = any(is_write(commands[place]) for place in bundle.places)
            node = self._node(bundle.key, writes=writes)
            if node is None:
                waiting.append(bundle)
                continue
            if writes:
                self._note(bundle.key, (commands[place] for place in bundle.places))
            _, slices, places = ready.setdefault(id(node), (node, set(), []))
            slices |= self._slice(bundle.key)
            places.extend(bundle.places)
        return list(ready.values()), waiting

    def _node(self, key: Key | None, *, writes: bool) -> Node | None:
        """None: it has to wait."""
        if key is None:
            return self._default.nodes[0]
        path = self._paths.get(key.component)
        if path is None:
            return self._standing.get(key.component, self._default).node_for(key.tag)
        state = self.slices[slice_of(key.tag, len(self.slices))]
        if writes and state in (FROZEN, TURNED):
            return None
        if writes and self._reshape is not None:
            _require_current(key, self._reshape, state)
        return path[state >= TURNED].node_for(key.tag)

    def _slice(self, key: Key | None) -> set[int]:
        if key is None or key.component not in self._paths:
            return set()
        return {slice_of(key.tag, len(self.slices))}

    def _note(self, key: Key | None, commands: Iterable[Command]) -> None:
        """Remember which keys of the source were written: one that is new is not in the mover's list."""
        if not self._tracked or key is None or key.component not in self._paths:
            return
        number = slice_of(key.tag, len(self.slices))
        if self.slices[number] != MOVED:
            touched = self.touched.setdefault(number, set())
            touched.update(str(each) for command in commands for each in keys_in(command))

    async def _turned(self, until: float) -> None:
        """Wait for the next state of the map. Raises StoreUnavailable at `until`."""
        event = self._turning
        try:
            async with asyncio.timeout_at(until):
                await event.wait()
        except TimeoutError:
            raise StoreUnavailable("a part of the data is moving and took too long: try again") from None

    def _wake(self) -> None:
        event, self._turning = self._turning, asyncio.Event()
        event.set()


def _require_current(key: Key, reshape: Reshape, state: int) -> None:
    """Raises LayoutChanged where a writer's key is of partitions that are not, or not any more, the edges'.

    It may have waited since before they turned over; or since they had, and turned back as the mover died.
    """
    stale = reshape.source if state == MOVED else reshape.target
    if stale.holds(key.tag):
        raise LayoutChanged(f"the partitions {stale.letter}… were cut anew")


class Moving:
    """The topology of a store while something moves: every tag on the relay."""

    def __init__(self, relay: Relay, topologies: Sequence[Topology]) -> None:
        self.relay = relay
        self._topologies = topologies

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All servers that take part, each once."""
        return tuple(dict.fromkeys(node for place in self._topologies for node in place.nodes))

    def node_for(self, tag: str) -> Node:
        return self.relay

    @property
    def width(self) -> int:
        return 1

    def group(self, owners: Sequence[OwnerId], key_of: KeyOf) -> Groups[OwnerId]:
        return [(self.relay, owners)]

    async def open(self) -> None: ...

    async def close(self) -> None:
        for topology in self._topologies:
            await topology.close()
