"""Subscriptions to channels of one node, on a separate connection.

All topologies use sharded pub/sub (SSUBSCRIBE, Redis 7): a channel is placed like a key, and on a cluster only the node
of that key carries its messages. Redis does not store messages, so a lost connection can lose messages. `receive` then
returns CONNECTION_LOST, and the owner opens a new subscription on the current node of the channels.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from socialsite.store.commands import Reply, encode
from socialsite.store.connection import NO_COMPLETE_REPLY, PipelinedConnection
from socialsite.store.errors import StoreError, StoreUnavailable
from socialsite.store.key import Key
from socialsite.store.node import Node

PING_INTERVAL_S = 5.0
"""A half-open connection is noticed after this time plus REPLY_TIMEOUT_S."""
MAX_UNREAD_MESSAGES = 1_000
"""The socket is not read while more messages are unread. Then the server's output buffer limit applies."""

CONNECTION_LOST: Final = None


class PubSubConnection(PipelinedConnection):
    """A connection that queues the published messages, separately from the replies to commands."""

    def __init__(self, name: str, on_lost: Callable[[PipelinedConnection], None]) -> None:
        super().__init__(name, on_lost)
        self.messages: deque[bytes] = deque()
        self.wake_event = asyncio.Event()

    async def subscribe(self, channels: Sequence[Key]) -> None:
        """Subscribe with one command per channel, because a cluster allows one slot per command."""
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
        elif kind == b"sunsubscribe":  # the slot moves to another node, which carries its messages from now on
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
    """A process's channels on one node. Call `open`, then `receive` until CONNECTION_LOST, then `close`."""

    def __init__(self, node: Node, channels: Sequence[Key]) -> None:
        self._node = node
        self._channels = tuple(channels)
        self._connection: PubSubConnection | None = None

    async def open(self) -> None:
        """Subscribe. Messages that are published after this returns are received. Raises StoreUnavailable."""
        connection = await PubSubConnection.open(await self._node.resolve_address(), lambda lost: None)
        try:
            await connection.subscribe(self._channels)
        except BaseException:
            connection.close()
            raise
        self._connection = connection

    def covers(self, node: Node, channels: Sequence[Key]) -> bool:
        """Return whether the subscription is open, on this node and for exactly these channels."""
        is_open = self._connection is not None and self._connection.is_open
        return is_open and self._node is node and self._channels == tuple(channels)

    async def receive(self) -> bytes | None:
        """Return the next message, or CONNECTION_LOST if the connection was lost or closed."""
        connection = self._connection
        while connection is not None and not connection.messages:
            if not connection.is_open:
                return CONNECTION_LOST
            await self._wait(connection)
        return CONNECTION_LOST if connection is None else connection.pop_message()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def _wait(self, connection: PubSubConnection) -> None:
        connection.wake_event.clear()
        try:
            async with asyncio.timeout(PING_INTERVAL_S):
                await connection.wake_event.wait()
        except TimeoutError:
            try:
                await connection.ping()
            except StoreUnavailable:
                connection.close()
