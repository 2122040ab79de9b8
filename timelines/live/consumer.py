"""The Channels consumer of `/ws/stream/`.

It uses no channel layer (docs/reference/live.md). The StreamingServer of the process writes entries to the socket.
"""

import asyncio
from http import HTTPStatus
from weakref import WeakKeyDictionary

from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer

from accounts.sessions.sockets import SocketViewer, authenticate_socket
from socialsite.analytics import prometheus
from socialsite.analytics.metrics import REFUSALS, SOCKETS_OPENED
from socialsite.errors import Forbidden, RateLimited, Unauthorized
from socialsite.recipes.rate_limit import Identifier
from socialsite.store.errors import StoreError
from socialsite.web.daphne.flow_control import open_socket_writer
from socialsite.web.middleware.errors import get_error_status
from socialsite.web.services import SiteServices, loop_services
from socialsite.web.websocket import reject_with_status
from timelines.live import socket_messages
from timelines.live.frames import PAGE_FRAMES, FrameEncoder
from timelines.live.message_limit import MessageDecision, MessageLimit
from timelines.live.server import StreamingServer
from timelines.live.socket_registry import LiveSocket

HANDSHAKE_TIMEOUT_S = 3.0
"""The time limit of a handshake. It is below the 5 s after which daphne closes an unanswered handshake."""


class StreamConsumer(AsyncWebsocketConsumer):
    """One socket of a reader or a visitor. A subclass may have another credential, encoder and messages."""

    channel_layer_alias = ""
    server: StreamingServer
    limit: MessageLimit
    encoder: FrameEncoder = PAGE_FRAMES
    subprotocol: str | None = None
    socket: LiveSocket | None = None

    async def connect(self) -> None:
        """Read the session and accept the socket.

        The response is HTTP 503 if a store fails, 429 above the limit, and 401 or 403 if the credential is refused.
        """
        try:
            async with asyncio.timeout(HANDSHAKE_TIMEOUT_S):
                services = await loop_services.get()
                self.server = await streaming_servers.get(services)
                viewer = await self.authenticate(services)
            self.server.require_room(viewer.address)
        except RateLimited as refusal:
            services.statistics.meter.count(REFUSALS, refusal.rule)
            await reject_with_status(self.base_send, HTTPStatus.TOO_MANY_REQUESTS)
            raise StopConsumer from None
        except (Unauthorized, Forbidden) as error:
            await reject_with_status(self.base_send, HTTPStatus(get_error_status(error)))
            raise StopConsumer from None
        except (StoreError, TimeoutError):
            await reject_with_status(self.base_send, HTTPStatus.SERVICE_UNAVAILABLE)
            raise StopConsumer from None
        await self.accept(self.subprotocol)  # type: ignore[no-untyped-call]
        services.statistics.meter.count(SOCKETS_OPENED)
        prometheus.SOCKETS.inc()
        self.limit = create_message_limit(services, viewer)
        writer = open_socket_writer(self.base_send)
        self.scope.clear()  # frees memory: Channels keeps the scope while the socket is open
        self.socket = LiveSocket(
            writer, viewer.account_id, viewer.session_id, viewer.language, self.encoder, viewer.address
        )
        self.server.connect(self.socket)
        task = asyncio.current_task()
        assert task is not None
        task.add_done_callback(self._leave)  # after an error or a cancellation Channels calls no hook
        self.on_open(self.socket)

    async def authenticate(self, services: SiteServices) -> SocketViewer:
        """Read the viewer of the handshake. Raises Unauthorized, Forbidden, RateLimited, StoreUnavailable."""
        return await authenticate_socket(self.scope, services)

    def on_open(self, socket: LiveSocket) -> None:
        """Called after the socket is connected."""

    def handle_message(self, socket: LiveSocket, text: str | None) -> None:
        self.server.handle_message(socket, text)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Handle a message of the client. A client may still send while the socket is being closed."""
        assert self.socket is not None
        if not self.socket.writer.is_closed and await enforce_message_limit(self.limit, self.socket):
            self.handle_message(self.socket, text_data)

    async def disconnect(self, code: int) -> None:
        self._leave()

    def _leave(self, task: object = None) -> None:
        if self.socket is not None:
            self.server.disconnect(self.socket)
            self.socket = None
            prometheus.SOCKETS.dec()


async def enforce_message_limit(limit: MessageLimit, socket: LiveSocket) -> bool:
    """Count a message, and return whether it may be handled.

    If not, the client gets an error, or its socket is closed.
    """
    decision = await limit.count_message()
    if decision is MessageDecision.REFUSED:
        socket.writer.send(socket.encoder.error(socket_messages.RATE_LIMITED))
    elif decision is MessageDecision.FLOOD:
        socket.writer.close(socket_messages.FLOOD_CLOSE_CODE)
    return decision is MessageDecision.GRANTED


def create_message_limit(services: SiteServices, viewer: SocketViewer) -> MessageLimit:
    account_id = viewer.account_id
    identifier = Identifier.address(viewer.address) if account_id is None else Identifier.account(account_id)
    meter = services.statistics.meter
    return MessageLimit(services.limits, services.rules["socket"], identifier, services.clock, meter)


class StreamingServers:
    """The StreamingServer of each event loop. Sockets that connect while it is being opened wait for it."""

    def __init__(self) -> None:
        self._servers: WeakKeyDictionary[asyncio.AbstractEventLoop, StreamingServer] = WeakKeyDictionary()
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()

    async def get(self, services: SiteServices) -> StreamingServer:
        """Return the server of the running loop, and open it first if necessary. Raises StoreUnavailable."""
        loop = asyncio.get_running_loop()
        return self._servers.get(loop) or await self._open_server(loop, services)

    async def close(self) -> None:
        """Close the server of the running loop. Called before the loop's services are closed."""
        server = self._servers.pop(asyncio.get_running_loop(), None)
        if server is not None:
            await server.close()

    async def _open_server(self, loop: asyncio.AbstractEventLoop, services: SiteServices) -> StreamingServer:
        async with self._locks.setdefault(loop, asyncio.Lock()):
            if loop not in self._servers:
                server = StreamingServer(services)
                await server.open()
                self._servers[loop] = server
            return self._servers[loop]


streaming_servers = StreamingServers()
