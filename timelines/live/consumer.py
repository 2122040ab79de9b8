"""The websocket `/ws/stream/`: from ASGI events to the process's Stream.

Nothing travels through a channel layer (docs/reference/live.md), and the loop awaits `receive` itself: the one of
AsyncConsumer makes two tasks and a hop to a thread of every message.
"""

import asyncio
from typing import Any
from weakref import WeakKeyDictionary

from channels.consumer import AsyncConsumer

from socialsite.analytics import prometheus as metrics
from socialsite.recipes.rate_limit import Identifier
from socialsite.services import Services
from socialsite.store.errors import StoreError
from socialsite.web.daphne.flow_control import open_socket_writer
from socialsite.web.middleware.services import loop_services
from socialsite.web.socket_writer import Send, SocketWriter
from socialsite.web.websocket import Receive, Scope, SocketViewer, authenticate_socket, reject_unavailable
from timelines.live import frames
from timelines.live.message_limit import MessageDecision, MessageLimit
from timelines.live.socket_registry import LiveSocket
from timelines.live.stream import StreamingServer

FLOOD_CLOSE_CODE = 4429
HANDSHAKE_TIMEOUT_S = 3.0
"""daphne drops a handshake after 5 s without an answer; ours comes before."""


class StreamConsumer(AsyncConsumer):
    """One socket, from its handshake to its end."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()  # websocket.connect
        try:
            async with asyncio.timeout(HANDSHAKE_TIMEOUT_S):
                services = await loop_services.get()
                stream = await streaming_servers.get(services)
                visitor = await authenticate_socket(scope, services)
        except (StoreError, TimeoutError):
            await reject_unavailable(send)
            return
        await send({"type": "websocket.accept"})
        services.statistics.meter.count_socket()
        outlet = open_socket_writer(send)
        socket = LiveSocket(outlet, visitor.account_id, visitor.session_id, visitor.language)
        stream.connect(socket)
        try:
            with metrics.track_open_socket():
                await self._receive_messages(socket, stream, create_message_limit(services, visitor), receive)
        finally:
            stream.disconnect(socket)

    async def _receive_messages(
        self, socket: LiveSocket, stream: StreamingServer, limit: MessageLimit, receive: Receive
    ) -> None:
        while (event := await receive())["type"] != "websocket.disconnect":
            if socket.writer.is_closed:
                continue  # still talking while being closed
            if await enforce_message_limit(limit, socket.writer):
                stream.handle_message(socket, event.get("text"))


async def enforce_message_limit(limit: MessageLimit, outlet: SocketWriter) -> bool:
    """Whether the message may be heard; the client is told if not."""
    answer = await limit.count_message()
    if answer is MessageDecision.REFUSED:
        outlet.send(frames.encode_error(frames.RATE_LIMITED))
    elif answer is MessageDecision.FLOOD:
        outlet.close(FLOOD_CLOSE_CODE)
    return answer is MessageDecision.GRANTED


def create_message_limit(services: Services, visitor: SocketViewer) -> MessageLimit:
    account_id = visitor.account_id
    subject = Identifier.address(visitor.address) if account_id is None else Identifier.account(account_id)
    tell = services.statistics.meter.count_refusal
    return MessageLimit(services.limits, services.rules["socket"], subject, services.clock, tell)


class StreamingServers:
    """One Stream an event loop, opened by its first socket and by those that wait for the same opening."""

    def __init__(self) -> None:
        self._servers: WeakKeyDictionary[asyncio.AbstractEventLoop, StreamingServer] = WeakKeyDictionary()
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()

    async def get(self, services: Services) -> StreamingServer:
        """Raises StoreUnavailable."""
        loop = asyncio.get_running_loop()
        return self._servers.get(loop) or await self._open_server(loop, services)

    async def close(self) -> None:
        """Before the services of the loop are closed."""
        stream = self._servers.pop(asyncio.get_running_loop(), None)
        if stream is not None:
            await stream.close()

    async def _open_server(self, loop: asyncio.AbstractEventLoop, services: Any) -> StreamingServer:
        async with self._locks.setdefault(loop, asyncio.Lock()):
            if loop not in self._servers:
                stream = StreamingServer(services)
                await stream.open()
                self._servers[loop] = stream
            return self._servers[loop]


streaming_servers = StreamingServers()
