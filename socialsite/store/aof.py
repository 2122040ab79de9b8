"""What is acknowledged stands in the append-only files, so that a killed server comes back with it.

Redis writes to its file before it answers; but with `appendfsync everysec` not while an fsync is going on:
then it keeps its writes to itself, for two seconds at most (`flushAppendOnlyFile` in aof.c), and kill -9
takes what it had answered meanwhile. So whoever acknowledges first asks the servers that had a part in it.
A server without an append-only file promises nothing, and is not waited for. A server whose connection was
lost since it answered may be another by now, or the same without what it held: looking there proves nothing.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple

from socialsite.store.errors import NotDurable, StoreError
from socialsite.store.replies import parse_info

if TYPE_CHECKING:
    from socialsite.store.node import Node

TouchedNodes = dict["Node", int]
"""Nodes that answered, with how many connections they had lost before."""
AOF_WRITE_TIMEOUT_S = 3.0
"""Redis puts a write off for two seconds; after that it is the disk that takes no more."""
AOF_POLL_INTERVAL_S = 0.01
TOUCHED_NODES: ContextVar["TouchedNodes | None"] = ContextVar("answered", default=None)
"""Where the nodes that answer something are noted: those of one request, or of one job."""


class AofState(NamedTuple):
    """Of a server's append-only file. `held`: bytes that are answered for but not written yet."""

    is_enabled: bool
    base_size: int
    current_size: int
    unwritten_bytes: int
    is_fsync_pending: bool
    has_write_failed: bool

    @property
    def has_unwritten_data(self) -> bool:
        """Without an fsync in the way everything is written before the reply that said so leaves."""
        return self.is_enabled and self.unwritten_bytes > 0 and (self.is_fsync_pending or self.has_write_failed)


ALL_WRITTEN = AofState(
    is_enabled=True,
    base_size=0,
    current_size=0,
    unwritten_bytes=0,
    is_fsync_pending=False,
    has_write_failed=False,
)
NOTHING_UNWRITTEN_LINES = (b"\r\naof_buffer_length:0\r\n", b"\r\naof_enabled:0\r\n")


@contextmanager
def track_nodes() -> Iterator[TouchedNodes]:
    """The nodes that answer something in here, also to tasks that begin in here."""
    nodes: TouchedNodes = {}
    token = TOUCHED_NODES.set(nodes)
    try:
        yield nodes
    finally:
        TOUCHED_NODES.reset(token)


@asynccontextmanager
async def wait_for_aof_at_exit() -> AsyncIterator[None]:
    """Ends once what is written in here is in the files. Raises Unconfirmed, StoreUnavailable."""
    with track_nodes() as nodes:
        yield
    await wait_for_aof(nodes)


async def track_node(node: "Node", answer: Awaitable[list[Any]]) -> list[Any]:
    """The replies of a node. One that gave none, or only refused, has nothing that could be acknowledged."""
    losses = node.disconnect_count
    replies = await answer
    if (answered := TOUCHED_NODES.get()) is not None and node not in answered and has_success_reply(replies):
        answered[node] = losses
    return replies


def has_success_reply(replies: Sequence[Any]) -> bool:
    return not all(isinstance(reply, StoreError) for reply in replies)


async def wait_for_aof(nodes: Mapping["Node", int], *, unchecked_nodes: "Collection[Node]" = ()) -> None:
    """Returns once what these nodes answered is in their files. Raises Unconfirmed, StoreUnavailable.

    `unchecked_nodes`: those that are not looked at, and yet have to be the same as when they answered.
    """
    looked_at = [node for node in nodes if node not in unchecked_nodes]
    if len(looked_at) == 1:  # without a task of its own
        await looked_at[0].wait_for_aof()
    else:
        await asyncio.gather(*(node.wait_for_aof() for node in looked_at))
    for node, losses in nodes.items():
        if node.replaced_by is None and node.disconnect_count != losses:
            raise NotDurable(f"the connection to {node} was lost after it had answered")


async def wait_for_node_aof(node: "Node") -> None:
    """As `wait_for_aof`, for one server."""
    state = first = await read_aof_state(node)
    until = time.monotonic() + AOF_WRITE_TIMEOUT_S
    while state.has_unwritten_data:
        if state.base_size != first.base_size or state.current_size < first.current_size:  # the file was rewritten
            first = state
        if state.current_size - first.current_size >= first.unwritten_bytes:
            return
        if time.monotonic() > until:
            raise NotDurable(f"{node} could not write to its append-only file in time")
        await asyncio.sleep(AOF_POLL_INTERVAL_S)
        state = await read_aof_state(node)


async def read_aof_state(node: "Node") -> AofState:
    reply: bytes = await node.execute("INFO", "persistence")
    if any(line in reply for line in NOTHING_UNWRITTEN_LINES):  # nearly always, and sooner seen than all lines are read
        return ALL_WRITTEN
    facts = parse_info(reply)
    return AofState(
        is_enabled=facts.get("aof_enabled") == "1",
        base_size=int(facts.get("aof_base_size", 0)),
        current_size=int(facts.get("aof_current_size", 0)),
        unwritten_bytes=int(facts.get("aof_buffer_length", 0)),
        is_fsync_pending=facts.get("aof_pending_bio_fsync", "0") != "0",
        has_write_failed=facts.get("aof_last_write_status", "ok") != "ok",
    )
