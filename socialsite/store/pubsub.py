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

from socialsite.store.commands import Reply, encode
from socialsite.store.connection import NO_COMPLETE_REPLY, PipelinedConnection
from socialsite.store.errors import StoreError, StoreUnavailable
from socialsite.store.key import Key
from socialsite.store.node import Node

PING_INTERVAL_S = 5.0
"""A half-open connection is found within this and REPLY_TIMEOUT_S."""
MAX_UNREAD_MESSAGES = 1_000
"""Messages held unread; beyond it the socket is not read, and the server's own buffer limit decides."""

CONNECTION_LOST: Final = None


class PubSubConnection(PipelinedConnection):
    """A connection whose pushed messages wait in order, apart from the replies that were asked for."""

    def __init__(self, name: str, on_lost: Callable[[PipelinedConnection], None]) -> None:
        super().__init__(name, on_lost)
        self.messages: deque[bytes] = deque()
        self.wake_event = asyncio.Event()

    async def subscribe(self, channels: Sequence[Key]) -> None:
        """Listen to the channels; one command each, because a cluster takes one slot a command."""
        payload = b"".join(encode(("SSUBSCRIBE", channel)) for channel in channels)
        for reply in await self.send(payload, len(channels)):
            if isinstance(reply, StoreError):
                raise reply

    async def ping(self) -> None:
        await self.send(encode(("PING",)), 1)

    def pop_message(self) -> bytes:
        message = self.messages.popleft()
        if len(self.messages) == MAX_UNREAD_MESSAGES // 2 and self._transport is not None:
            self._transport.resume_reading()
        return message

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        while (reply := self._reader.gets()) is not NO_COMPLETE_REPLY:
            self._dispatch_reply(reply)
        if len(self.messages) > MAX_UNREAD_MESSAGES and self._transport is not None:
            self._transport.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.wake_event.set()

    def _dispatch_reply(self, reply: Reply) -> None:
        kind = reply[0] if isinstance(reply, list) else None
        if kind == b"smessage":
            self.messages.append(reply[2])
            self.wake_event.set()
        elif kind == b"sunsubscribe":  # the slot moves to another node: its messages would pass us by
            self.close()
            self.wake_event.set()
        elif self._requests:
            self._complete_request(reply)

    def _complete_request(self, reply: Reply) -> None:
        request = self._requests[0]
        request.replies.append(reply)
        if len(request.replies) == request.expected_replies:
            self._requests.popleft()
            if not request.future.done():
                request.future.set_result(request.replies)


class Subscription:
    """Channels of one process on one node. `open`, then `receive` until it says GAP, then `close`."""

    def __init__(self, node: Node, channels: Sequence[Key]) -> None:
        self._node = node
        self._channels = tuple(channels)
        self._connection: PubSubConnection | None = None

    async def open(self) -> None:
        """Listen. When this returns, no later message is missed. Raises StoreUnavailable."""
        inbox = await PubSubConnection.open(await self._node.resolve_address(), lambda lost: None)
        with ExitStack() as undoing:
            undoing.callback(inbox.close)
            await inbox.subscribe(self._channels)
            undoing.pop_all()
        self._connection = inbox

    def covers(self, node: Node, channels: Sequence[Key]) -> bool:
        """Whether it is open there, for just these."""
        is_open = self._connection is not None and self._connection.is_open
        return is_open and self._node is node and self._channels == tuple(channels)

    async def receive(self) -> bytes | None:
        """The next message; GAP when the connection was lost or closed, now and ever after."""
        inbox = self._connection
        while inbox is not None and not inbox.messages:
            if not inbox.is_open:
                return CONNECTION_LOST
            await self._wait(inbox)
        return CONNECTION_LOST if inbox is None else inbox.pop_message()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def _wait(self, inbox: PubSubConnection) -> None:
        inbox.wake_event.clear()
        try:
            async with asyncio.timeout(PING_INTERVAL_S):
                await inbox.wake_event.wait()
        except TimeoutError:
            try:
                await inbox.ping()
            except StoreUnavailable:
                inbox.close()
