"""Wait until acknowledged writes are in the append-only files (AOF), so that a killed server restarts with them.

Redis writes to its AOF before it replies, except with `appendfsync everysec` while an fsync is running. Then it buffers
writes for up to two seconds (`flushAppendOnlyFile` in aof.c), and kill -9 loses them. So a request checks the servers
that it wrote to before it is acknowledged. A server without an AOF is skipped. If the connection to a server was lost
since it replied, the check raises NotDurable: the server may have been replaced or restarted without its buffer.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, Protocol, TypeVar

from socialsite.concurrency import run_together
from socialsite.store.errors import NotDurable, StoreError
from socialsite.store.replies import parse_info

AOF_WRITE_TIMEOUT_S = 3.0
"""Redis delays a write for up to two seconds. A longer delay means that the disk is full or too slow."""
AOF_POLL_INTERVAL_S = 0.01


T = TypeVar("T")


class AofNode(Protocol):
    """The members of a Node that this module uses."""

    @property
    def disconnect_count(self) -> int: ...

    @property
    def replaced_by(self) -> object | None: ...

    async def execute(self, *command: Any) -> Any: ...

    async def wait_for_aof(self) -> None: ...


TouchedNodes = dict[AofNode, int]
"""The nodes that replied, with the disconnect count of each node before its reply."""
TOUCHED_NODES: ContextVar[TouchedNodes | None] = ContextVar("touched_nodes", default=None)
"""The nodes that replied during one request or job."""


class AofState(NamedTuple):
    """The state of a server's append-only file. `unwritten_bytes` counts acknowledged bytes."""

    is_enabled: bool
    base_size: int
    current_size: int
    unwritten_bytes: int
    is_fsync_pending: bool
    has_write_failed: bool

    @property
    def has_unwritten_data(self) -> bool:
        """Whether the file may lack acknowledged writes. Without a running fsync, Redis writes before it replies."""
        return self.is_enabled and self.unwritten_bytes > 0 and (self.is_fsync_pending or self.has_write_failed)


ALL_WRITTEN = AofState(
    is_enabled=True, base_size=0, current_size=0, unwritten_bytes=0, is_fsync_pending=False, has_write_failed=False
)
NOTHING_UNWRITTEN_LINES = (b"\r\naof_buffer_length:0\r\n", b"\r\naof_enabled:0\r\n")


@contextmanager
def track_nodes() -> Iterator[TouchedNodes]:
    """Collect the nodes that reply in this context, or in tasks that are created in this context."""
    nodes: TouchedNodes = {}
    token = TOUCHED_NODES.set(nodes)
    try:
        yield nodes
    finally:
        TOUCHED_NODES.reset(token)


@asynccontextmanager
async def wait_for_aof_at_exit() -> AsyncIterator[None]:
    """Wait at the exit until the writes of this context are in the AOFs. Raises NotDurable, StoreUnavailable."""
    with track_nodes() as nodes:
        yield
    await wait_for_aof(nodes)


async def wait_for_aof_during(reads: Awaitable[T]) -> T:
    """Run `reads`, and wait until all earlier writes of this context are in the AOFs.

    `reads` must not write. At the end of the context only nodes with later replies are checked again. Raises
    NotDurable, StoreUnavailable.
    """
    nodes = TOUCHED_NODES.get()
    if nodes is None:
        return await reads
    checked = dict(nodes)
    result, _ = await run_together(reads, wait_for_aof(checked))
    for node in checked:
        nodes.pop(node, None)
    return result


async def track_node(
    node: AofNode, pending_replies: Awaitable[list[Any]], disconnects_before: int | None = None
) -> list[Any]:
    """Return the replies. Add the node to the touched nodes if at least one reply is not an error.

    `disconnects_before` is the disconnect count when the commands were sent, by default now.
    """
    if disconnects_before is None:
        disconnects_before = node.disconnect_count
    replies = await pending_replies
    if (nodes := TOUCHED_NODES.get()) is not None and node not in nodes and has_success_reply(replies):
        nodes[node] = disconnects_before
    return replies


def has_success_reply(replies: Sequence[Any]) -> bool:
    return not all(isinstance(reply, StoreError) for reply in replies)


async def wait_for_aof(nodes: Mapping[AofNode, int], *, unchecked_nodes: Collection[AofNode] = ()) -> None:
    """Wait until the AOFs of these nodes have all acknowledged writes. Raises NotDurable, StoreUnavailable.

    The AOF of `unchecked_nodes` is not read. But the check fails if one of them was disconnected since it replied.
    """
    nodes_to_check = [node for node in nodes if node not in unchecked_nodes]
    if len(nodes_to_check) == 1:  # avoids the creation of a task
        await nodes_to_check[0].wait_for_aof()
    else:
        await run_together(*(node.wait_for_aof() for node in nodes_to_check))
    for node, disconnects_before in nodes.items():
        if node.replaced_by is None and node.disconnect_count != disconnects_before:
            raise NotDurable(f"the connection to {node} was lost after it had answered")


async def wait_for_node_aof(node: AofNode) -> None:
    """Wait until the AOF of one server has all acknowledged writes. Raises NotDurable, StoreUnavailable."""
    state = first = await read_aof_state(node)
    deadline = time.monotonic() + AOF_WRITE_TIMEOUT_S
    while state.has_unwritten_data:
        if state.base_size != first.base_size or state.current_size < first.current_size:  # the file was rewritten
            first = state
        if state.current_size - first.current_size >= first.unwritten_bytes:
            return
        if time.monotonic() > deadline:
            raise NotDurable(f"{node} could not write to its append-only file in time")
        await asyncio.sleep(AOF_POLL_INTERVAL_S)
        state = await read_aof_state(node)


async def read_aof_state(node: AofNode) -> AofState:
    reply: bytes = await node.execute("INFO", "persistence")
    if any(line in reply for line in NOTHING_UNWRITTEN_LINES):  # the usual case, faster than parsing all lines
        return ALL_WRITTEN
    info = parse_info(reply)
    return AofState(
        is_enabled=info.get("aof_enabled") == "1",
        base_size=int(info.get("aof_base_size", 0)),
        current_size=int(info.get("aof_current_size", 0)),
        unwritten_bytes=int(info.get("aof_buffer_length", 0)),
        is_fsync_pending=info.get("aof_pending_bio_fsync", "0") != "0",
        has_write_failed=info.get("aof_last_write_status", "ok") != "ok",
    )
