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

from socialsite.store.errors import StoreError, Unconfirmed
from socialsite.store.info import facts_of

if TYPE_CHECKING:
    from socialsite.store.node import Node

Noted = dict["Node", int]
"""Nodes that answered, with how many connections they had lost before."""
WITHIN_S = 3.0
"""Redis puts a write off for two seconds; after that it is the disk that takes no more."""
LOOK_EVERY_S = 0.01
ANSWERED: ContextVar["Noted | None"] = ContextVar("answered", default=None)
"""Where the nodes that answer something are noted: those of one request, or of one job."""


class FileState(NamedTuple):
    """Of a server's append-only file. `held`: bytes that are answered for but not written yet."""

    is_kept: bool
    base: int
    size: int
    held: int
    is_syncing: bool
    has_failed: bool

    @property
    def is_behind(self) -> bool:
        """Without an fsync in the way everything is written before the reply that said so leaves."""
        return self.is_kept and self.held > 0 and (self.is_syncing or self.has_failed)


ALL_WRITTEN = FileState(is_kept=True, base=0, size=0, held=0, is_syncing=False, has_failed=False)
NOTHING_HELD = (b"\r\naof_buffer_length:0\r\n", b"\r\naof_enabled:0\r\n")


@contextmanager
def noting_nodes() -> Iterator[Noted]:
    """The nodes that answer something in here, also to tasks that begin in here."""
    nodes: Noted = {}
    token = ANSWERED.set(nodes)
    try:
        yield nodes
    finally:
        ANSWERED.reset(token)


@asynccontextmanager
async def until_written_out() -> AsyncIterator[None]:
    """Ends once what is written in here is in the files. Raises Unconfirmed, StoreUnavailable."""
    with noting_nodes() as nodes:
        yield
    await written_out(nodes)


async def noted(node: "Node", answer: Awaitable[list[Any]]) -> list[Any]:
    """The replies of a node. One that gave none, or only refused, has nothing that could be acknowledged."""
    losses = node.losses
    replies = await answer
    if (answered := ANSWERED.get()) is not None and node not in answered and is_answer(replies):
        answered[node] = losses
    return replies


def is_answer(replies: Sequence[Any]) -> bool:
    return not all(isinstance(reply, StoreError) for reply in replies)


async def written_out(nodes: Mapping["Node", int], *, besides: "Collection[Node]" = ()) -> None:
    """Returns once what these nodes answered is in their files. Raises Unconfirmed, StoreUnavailable.

    `besides`: those that are not looked at, and yet have to be the same as when they answered.
    """
    looked_at = [node for node in nodes if node not in besides]
    if len(looked_at) == 1:  # without a task of its own
        await looked_at[0].written_out()
    else:
        await asyncio.gather(*(node.written_out() for node in looked_at))
    for node, losses in nodes.items():
        if node.successor is None and node.losses != losses:
            raise Unconfirmed(f"the connection to {node} was lost after it had answered")


async def wait_until_written(node: "Node") -> None:
    """As `written_out`, for one server."""
    state = first = await look(node)
    until = time.monotonic() + WITHIN_S
    while state.is_behind:
        if state.base != first.base or state.size < first.size:  # the file was rewritten
            first = state
        if state.size - first.size >= first.held:
            return
        if time.monotonic() > until:
            raise Unconfirmed(f"{node} could not write to its append-only file in time")
        await asyncio.sleep(LOOK_EVERY_S)
        state = await look(node)


async def look(node: "Node") -> FileState:
    reply: bytes = await node.execute("INFO", "persistence")
    if any(line in reply for line in NOTHING_HELD):  # nearly always, and sooner seen than all lines are read
        return ALL_WRITTEN
    facts = facts_of(reply)
    return FileState(
        is_kept=facts.get("aof_enabled") == "1",
        base=int(facts.get("aof_base_size", 0)),
        size=int(facts.get("aof_current_size", 0)),
        held=int(facts.get("aof_buffer_length", 0)),
        is_syncing=facts.get("aof_pending_bio_fsync", "0") != "0",
        has_failed=facts.get("aof_last_write_status", "ok") != "ok",
    )
