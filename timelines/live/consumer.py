"""The websocket `/ws/stream/`: from ASGI events to the process's Stream.

Nothing travels through a channel layer (docs/live.md), and the loop awaits `receive` itself: the one of
AsyncConsumer makes two tasks and a hop to a thread of every message.
"""

import asyncio
from typing import Any
from weakref import WeakKeyDictionary

from channels.consumer import AsyncConsumer

from socialsite.analytics import prometheus as metrics
from socialsite.recipes.rate_limit import Subject
from socialsite.services import Services
from socialsite.store.errors import StoreError
from socialsite.web.daphne.flow_control import open_outlet
from socialsite.web.middleware.services import loop_services
from socialsite.web.socket_writer import Outlet, Send
from socialsite.web.websocket import Receive, Scope, Visitor, unavailable, visitor_of
from timelines.live import frames
from timelines.live.message_limit import Answer, MessageLimit
from timelines.live.socket_registry import Socket
from timelines.live.stream import Stream

FLOODED = 4429
OPENING_S = 3.0
"""daphne drops a handshake after 5 s without an answer; ours comes before."""


class StreamConsumer(AsyncConsumer):
    """One socket, from its handshake to its end."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()  # websocket.connect
        try:
            async with asyncio.timeout(OPENING_S):
                services = await loop_services.get()
                stream = await loop_streams.get(services)
                visitor = await visitor_of(scope, services)
        except (StoreError, TimeoutError):
            await unavailable(send)
            return
        await send({"type": "websocket.accept"})
        services.statistics.meter.opened_socket()
        outlet = open_outlet(send)
        socket = Socket(outlet, visitor.account_id, visitor.session_id, visitor.language)
        stream.enter(socket)
        try:
            with metrics.open_socket():
                await self._hear(socket, stream, message_limit(services, visitor), receive)
        finally:
            stream.leave(socket)

    async def _hear(self, socket: Socket, stream: Stream, limit: MessageLimit, receive: Receive) -> None:
        while (event := await receive())["type"] != "websocket.disconnect":
            if socket.outlet.is_closed:
                continue  # still talking while being closed
            if await granted(limit, socket.outlet):
                stream.hear(socket, event.get("text"))


async def granted(limit: MessageLimit, outlet: Outlet) -> bool:
    """Whether the message may be heard; the client is told if not."""
    answer = await limit.ask()
    if answer is Answer.REFUSED:
        outlet.push(frames.error(frames.RATE_LIMITED))
    elif answer is Answer.FLOOD:
        outlet.close(FLOODED)
    return answer is Answer.GRANTED


def message_limit(services: Services, visitor: Visitor) -> MessageLimit:
    account_id = visitor.account_id
    subject = Subject.address(visitor.address) if account_id is None else Subject.account(account_id)
    tell = services.statistics.meter.refused
    return MessageLimit(services.limits, services.rules["socket"], subject, services.clock, tell)


class LoopStreams:
    """One Stream an event loop, opened by its first socket and by those that wait for the same opening."""

    def __init__(self) -> None:
        self._streams: WeakKeyDictionary[asyncio.AbstractEventLoop, Stream] = WeakKeyDictionary()
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()

    async def get(self, services: Services) -> Stream:
        """Raises StoreUnavailable."""
        loop = asyncio.get_running_loop()
        return self._streams.get(loop) or await self._open(loop, services)

    async def close(self) -> None:
        """Before the services of the loop are closed."""
        stream = self._streams.pop(asyncio.get_running_loop(), None)
        if stream is not None:
            await stream.close()

    async def _open(self, loop: asyncio.AbstractEventLoop, services: Any) -> Stream:
        async with self._locks.setdefault(loop, asyncio.Lock()):
            if loop not in self._streams:
                stream = Stream(services)
                await stream.open()
                self._streams[loop] = stream
            return self._streams[loop]


loop_streams = LoopStreams()
