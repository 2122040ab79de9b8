"""Flow control for websockets on daphne, whose `send` never waits and buffers without limit.

The writer registers itself as the push producer of Twisted's transport, in place of the HTTPChannel that handled the
upgrade. Twisted then pauses the writer when the reader stalls. Frames are already encoded once for all sockets, so the
writer writes them directly to the transport and not through autobahn.
"""

import asyncio
import functools
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from socket import SO_SNDBUF, SOL_SOCKET, socket
from typing import Any, ClassVar, Final, Protocol

from socialsite.web import socket_writer
from socialsite.web.asgi_types import Message, Send

TRANSPORT_BUFFER_BYTES = 16 * 1024
"""Bytes that Twisted buffers before it pauses the writer (Twisted's default is 64 kB)."""
KERNEL_BUFFER_BYTES = 64 * 1024
"""Bytes that the kernel buffers (Linux doubles this number). By default it buffers up to 4 MB for a stalled reader."""
WHOLE_BYTES = 128 * 1024
"""A body of this size is sent at once. A home page is smaller, and a further piece takes a turn of the event loop."""
PIECE_BYTES = 64 * 1024
"""Bytes of a larger body that are sent at once."""
ABORT_DELAY_S = 1.0
RESPONSE_STALL_TIMEOUT_S = 30.0
"""Time for which a response waits until 64 kB are read: a reader of 3 kB/s is not cut off."""
WAITING_PER_ADDRESS, WAITING_PER_PROCESS = 64, 1_024
"""Responses that may wait for their readers at the same time. Each has about 128 kB in memory."""

WEBSOCKET_STATE_OPEN: Final = 3
"""autobahn's WebSocketProtocol.STATE_OPEN."""


class Transport(Protocol):
    """The attributes of Twisted's TCP and Unix transports that the writer uses."""

    connected: int
    dataBuffer: bytes  # noqa: N815 - Twisted's name
    bufferSize: int  # noqa: N815
    _tempDataBuffer: list[bytes]  # noqa: N815

    def write(self, data: bytes) -> None: ...
    def writeSomeData(self, data: bytes) -> int | BaseException: ...  # noqa: N802
    def registerProducer(self, producer: object, streaming: bool) -> None: ...  # noqa: N802
    def unregisterProducer(self) -> None: ...  # noqa: N802
    def getHandle(self) -> socket: ...  # noqa: N802
    def abortConnection(self) -> None: ...  # noqa: N802
    def pauseProducing(self) -> None: ...  # noqa: N802
    def resumeProducing(self) -> None: ...  # noqa: N802


class DaphneSocketWriter:
    """Writes frames to Twisted's transport and queues them while the transport is paused.

    The methods in camelCase are Twisted's IPushProducer; the transport calls them.
    """

    __slots__ = (
        "_abort_timer",
        "_flow_gate",
        "_is_plain",
        "_loop",
        "_protocol",
        "_queue",
        "_stall_timer",
        "_transport",
        "is_closed",
    )

    def __init__(self, protocol: Any) -> None:
        self._protocol = protocol
        self._transport: Transport = protocol.transport
        self._loop = asyncio.get_running_loop()
        self._queue = socket_writer.SendQueue()
        self._flow_gate = socket_writer.FlowGate()
        self._stall_timer: asyncio.TimerHandle | None = None
        self._abort_timer: asyncio.TimerHandle | None = None
        self.is_closed = False
        # Only a plain socket may be written to directly; with TLS every byte must be encrypted.
        self._is_plain = hasattr(self._transport, "writeSomeData") and not getattr(self._transport, "TLS", False)
        if self._is_plain and self._transport.connected:  # a reader may leave during the handshake
            self._transport.getHandle().setsockopt(SOL_SOCKET, SO_SNDBUF, KERNEL_BUFFER_BYTES)
        self._transport.bufferSize = TRANSPORT_BUFFER_BYTES
        self._transport.unregisterProducer()  # the HTTPChannel, registered before the upgrade
        self._transport.registerProducer(self, True)
        _release_handshake(protocol)

    def send(self, frame: socket_writer.TextFrame) -> None:
        if self.is_closed:
            return
        if self._flow_gate.is_open:
            self._write_frame(frame.encoded)
        elif not self._queue.append(frame):
            self._close_too_slow()

    def close(self, code: int) -> None:
        """Send a close frame after the written frames. autobahn drops a client that does not answer it within 1 s."""
        if self.is_closed:
            return
        self.is_closed = True
        self._queue.clear()
        self._protocol.handle_reply({"type": "websocket.close", "code": code})

    async def wait_until_drained(self) -> None:
        await self._flow_gate.wait_until_open()

    def detach(self) -> None:
        """Release timers and waiters after the disconnect."""
        self.is_closed = True
        self._queue.clear()
        self._flow_gate.open()
        for timer in (self._stall_timer, self._abort_timer):
            if timer is not None:
                timer.cancel()

    def _write_frame(self, frame: bytes) -> None:
        """Write a frame. If the buffers are empty, write to the socket with one system call instead of three."""
        transport = self._transport
        if self._protocol.state != WEBSOCKET_STATE_OPEN:
            return
        if self._is_plain and not transport.dataBuffer and not transport._tempDataBuffer and transport.connected:
            written = transport.writeSomeData(frame)
            if written == len(frame):
                return
            if isinstance(written, int):
                frame = frame[written:]
        transport.write(frame)

    def _close_too_slow(self) -> None:
        """Close the socket, and abort it after ABORT_DELAY_S, because a stalled reader may not read the close frame."""
        self.close(socket_writer.CLOSE_CODE_TOO_SLOW)
        self._abort_timer = self._loop.call_later(ABORT_DELAY_S, self._transport.abortConnection)

    # IPushProducer

    def pauseProducing(self) -> None:  # noqa: N802
        """Stop writing, because the reader stalls. Stop reading too, because pongs and replies would be buffered."""
        self._flow_gate.close()
        if self._stall_timer is None:
            self._stall_timer = self._loop.call_later(socket_writer.STALL_TIMEOUT_S, self._close_too_slow)
        if not self.is_closed:
            self._transport.pauseProducing()

    def resumeProducing(self) -> None:  # noqa: N802
        """Send the queued frames, because the transport's buffer is empty."""
        if self._stall_timer is not None:
            self._stall_timer.cancel()
            self._stall_timer = None
        if self.is_closed:
            self._flow_gate.open()
            return
        self._transport.resumeProducing()
        self._flow_gate.open()
        while self._queue and self._flow_gate.is_open:
            self._write_frame(self._queue.popleft().encoded)

    def stopProducing(self) -> None:  # noqa: N802
        self.detach()


def _release_handshake(protocol: Any) -> None:
    """Free the memory of the request's head, which autobahn and daphne otherwise keep while the socket is open."""
    protocol.http_request_data = b""
    protocol.http_headers.clear()
    protocol.clean_headers.clear()


def find_daphne_protocol(send: Send) -> Any | None:
    """Return daphne's WebSocketProtocol, which is an argument of the partial `send`, or None for other servers."""
    if not isinstance(send, functools.partial) or not send.args:
        return None
    protocol = send.args[0]
    return protocol if hasattr(getattr(protocol, "transport", None), "abortConnection") else None


class ResponseReader:
    """The reader of an HTTP response: `wait` returns if the transport has written what it buffered.

    It is the producer of daphne's request, which Twisted pauses while more than 64 kB are buffered.
    """

    waiting: ClassVar[Counter[str]] = Counter()
    """The number of responses that wait for their reader, by the address of the peer or client."""

    def __init__(self, request: Any, address: str) -> None:
        self._request, self._address = request, address
        self._flow_gate = socket_writer.FlowGate()
        if request.channel is not None and request.producer is None:
            request.registerProducer(self, True)

    async def wait(self) -> None:
        """Wait for the reader. Abort the connection if the reader stalls, or if too many responses wait already."""
        await asyncio.sleep(0)  # Twisted writes to the socket in the next turn
        if self._flow_gate.is_open:
            return
        if self.waiting[self._address] >= WAITING_PER_ADDRESS or self.waiting.total() >= WAITING_PER_PROCESS:
            self._abort()
            return
        self.waiting[self._address] += 1
        try:
            async with asyncio.timeout(RESPONSE_STALL_TIMEOUT_S):
                await self._flow_gate.wait_until_open()
        except TimeoutError:
            self._abort()
        finally:
            self.waiting[self._address] -= 1
            if not self.waiting[self._address]:
                del self.waiting[self._address]

    def close(self) -> None:
        if self._request.producer is self and self._request.channel is not None:
            self._request.unregisterProducer()

    def _abort(self) -> None:
        if self._request.channel is not None:
            self._request.channel.transport.abortConnection()
        self._flow_gate.open()

    # IPushProducer

    def pauseProducing(self) -> None:  # noqa: N802
        self._flow_gate.close()

    def resumeProducing(self) -> None:  # noqa: N802
        self._flow_gate.open()

    def stopProducing(self) -> None:  # noqa: N802
        self._flow_gate.open()


@asynccontextmanager
async def waiting_for_reader(send: Send, address: str) -> AsyncIterator[Send]:
    """Yield a `send` that waits while the reader leaves many bytes unread. Servers other than daphne wait already."""
    request: Any = send.args[0] if isinstance(send, functools.partial) and send.args else None
    if not hasattr(request, "registerProducer"):
        yield send
        return
    reader = ResponseReader(request, address)

    async def send_and_wait(message: Message) -> None:
        if not message.get("more_body", True):
            reader.close()  # the last message finishes the request
        await send(message)
        if message.get("more_body", False):
            await reader.wait()

    try:
        yield send_and_wait
    finally:
        reader.close()


async def send_body(send: Send, pieces: Iterator[bytes], address: str) -> None:
    """Send a body of one piece, or of several, each after the reader has read the piece before."""
    piece, following = next(pieces, b""), next(pieces, b"")
    if not following:
        await send({"type": "http.response.body", "body": piece})
        return
    async with waiting_for_reader(send, address) as send_and_wait:
        while piece:
            await send_and_wait({"type": "http.response.body", "body": piece, "more_body": bool(following)})
            piece, following = following, next(pieces, b"")


def open_socket_writer(send: Send) -> socket_writer.SocketWriter:
    """Return the writer for an accepted socket."""
    protocol = find_daphne_protocol(send)
    return socket_writer.AsgiSocketWriter(send) if protocol is None else DaphneSocketWriter(protocol)
