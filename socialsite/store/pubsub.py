"""Listening to channels of one node, over a connection of its own.

Sharded pub/sub (SSUBSCRIBE, Redis 7) everywhere: a channel is placed like a key, on a cluster only its own
node carries its messages, and a single server treats it like the plain kind. Pub/sub forgets: whatever was
published while the connection was away is lost, so `receive` ends with GAP. Opening another is the owner's
matter, who looks where the channels live by then.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Final

from socialsite.store.connection import NOTHING, PipelinedConnection
from socialsite.store.errors import StoreError, StoreUnavailable
from socialsite.store.key import Key
from socialsite.store.node import Node, Reply, encode

PING_EVERY_S = 5.0
"""A half-open connection is found within this and REPLY_TIMEOUT_S."""
INBOX_CAP = 1_000
"""Messages held unread; beyond it the socket is not read, and the server's own buffer limit decides."""

GAP: Final = None


class Inbox(PipelinedConnection):
    """A connection whose pushed messages wait in order, apart from the replies that were asked for."""

    def __init__(self, name: str, on_lost: Callable[[PipelinedConnection], None]) -> None:
        super().__init__(name, on_lost)
        self.messages: deque[bytes] = deque()
        self.changed = asyncio.Event()

    async def subscribe(self, channels: Sequence[Key]) -> None:
        """Listen to the channels; one command each, because a cluster takes one slot a command."""
        payload = b"".join(encode(("SSUBSCRIBE", channel)) for channel in channels)
        for reply in await self.send(payload, len(channels)):
            if isinstance(reply, StoreError):
                raise reply

    async def ping(self) -> None:
        await self.send(encode(("PING",)), 1)

    def take(self) -> bytes:
        message = self.messages.popleft()
        if len(self.messages) == INBOX_CAP // 2 and self._transport is not None:
            self._transport.resume_reading()
        return message

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        while (reply := self._reader.gets()) is not NOTHING:
            self._sort_in(reply)
        if len(self.messages) > INBOX_CAP and self._transport is not None:
            self._transport.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.changed.set()

    def _sort_in(self, reply: Reply) -> None:
        kind = reply[0] if isinstance(reply, list) else None
        if kind == b"smessage":
            self.messages.append(reply[2])
            self.changed.set()
        elif kind == b"sunsubscribe":  # the slot moves to another node: its messages would pass us by
            self.close()
            self.changed.set()
        elif self._requests:
            self._answer(reply)

    def _answer(self, reply: Reply) -> None:
        request = self._requests[0]
        request.replies.append(reply)
        if len(request.replies) == request.expected:
            self._requests.popleft()
            if not request.done.done():
                request.done.set_result(request.replies)


class Subscription:
    """Channels of one process on one node. `open`, then `receive` until it says GAP, then `close`."""

    def __init__(self, node: Node, channels: Sequence[Key]) -> None:
        self._node = node
        self._channels = tuple(channels)
        self._inbox: Inbox | None = None

    async def open(self) -> None:
        """Listen. When this returns, no later message is missed. Raises StoreUnavailable."""
        inbox = await Inbox.open(await self._node.locate(), lambda lost: None)
        with ExitStack() as undoing:
            undoing.callback(inbox.close)
            await inbox.subscribe(self._channels)
            undoing.pop_all()
        self._inbox = inbox

    def carries(self, node: Node, channels: Sequence[Key]) -> bool:
        """Whether it is open there, for just these."""
        is_open = self._inbox is not None and self._inbox.is_open
        return is_open and self._node is node and self._channels == tuple(channels)

    async def receive(self) -> bytes | None:
        """The next message; GAP when the connection was lost or closed, now and ever after."""
        inbox = self._inbox
        while inbox is not None and not inbox.messages:
            if not inbox.is_open:
                return GAP
            await self._wait(inbox)
        return GAP if inbox is None else inbox.take()

    def close(self) -> None:
        if self._inbox is not None:
            self._inbox.close()
            self._inbox = None

    async def _wait(self, inbox: Inbox) -> None:
        inbox.changed.clear()
        try:
            async with asyncio.timeout(PING_EVERY_S):
                await inbox.changed.wait()
        except TimeoutError:
            try:
                await inbox.ping()
            except StoreUnavailable:
                inbox.close()
