"""What leaves through one websocket: in order, bounded, and never waited for by a publisher.

`AsgiSocketWriter` relies on the ASGI server's `send` to wait for a slow reader. daphne's does not wait, see
daphne_outlet.py. In both, a reader that stalls for too long is closed with 4408.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

QUEUE_MAX_BYTES = 64 * 1024
"""Waiting for a stalled reader; frames are shared by all sockets they wait for."""
STALL_TIMEOUT_S = 10.0
CLOSE_CODE_TOO_SLOW = 4408

Send = Callable[[dict[str, Any]], Awaitable[None]]


class TextFrame:
    """One text message, encoded once for all the sockets that get it."""

    __slots__ = ("encoded", "text")

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.encoded = encode_text_frame(text)

    def __len__(self) -> int:
        return len(self.encoded)


def encode_text_frame(text: bytes) -> bytes:
    """An unmasked, final websocket text frame (RFC 6455, 5.2)."""
    size = len(text)
    if size < 126:
        head = bytes((0x81, size))
    elif size < 1 << 16:
        head = b"\x81\x7e" + size.to_bytes(2)
    else:
        head = b"\x81\x7f" + size.to_bytes(8)
    return head + text


class SocketWriter(Protocol):
    """`push` sends or queues; `wait_until_drained` waits until the reader keeps up; `close` ends the socket."""

    is_closed: bool

    def send(self, frame: TextFrame) -> None: ...
    def close(self, code: int) -> None: ...
    async def wait_until_drained(self) -> None: ...
    def detach(self) -> None: ...


class FlowGate:
    """Open or shut, as an asyncio.Event is; without its queue of waiters, which takes 0.8 kB of a socket."""

    __slots__ = ("_waiter", "is_open")

    def __init__(self) -> None:
        self.is_open = True
        self._waiter: asyncio.Future[None] | None = None

    def close(self) -> None:
        self.is_open = False

    def open(self) -> None:
        self.is_open = True
        opened, self._waiter = self._waiter, None
        if opened is not None:
            opened.set_result(None)

    async def wait_until_open(self) -> None:
        """Returns while the gate is open."""
        while not self.is_open:
            if self._waiter is None:
                self._waiter = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._waiter)  # whoever is cancelled takes nobody along


class SendQueue:
    """Frames for a stalled reader, counted in bytes; none are waiting nearly always, and take nothing."""

    def __init__(self) -> None:
        self._frames: deque[TextFrame] | None = None
        self.size_bytes = 0

    def __bool__(self) -> bool:
        return bool(self._frames)

    def append(self, frame: TextFrame) -> bool:
        """False when the queue is full."""
        if self._frames is None:
            self._frames = deque()
        self._frames.append(frame)
        self.size_bytes += len(frame)
        return self.size_bytes <= QUEUE_MAX_BYTES

    def popleft(self) -> TextFrame:
        """Raises IndexError where none waits."""
        if not self._frames:
            raise IndexError("no frame waits")
        frame = self._frames.popleft()
        self.size_bytes -= len(frame)
        return frame

    def clear(self) -> None:
        self._frames = None
        self.size_bytes = 0


class AsgiSocketWriter:
    """Any ASGI server: one task a busy socket waits for `send`, frames queue behind it."""

    def __init__(self, send: Send) -> None:
        self._asgi_send = send
        self._loop = asyncio.get_running_loop()
        self._queue = SendQueue()
        self._flow_gate = FlowGate()
        self._task: asyncio.Task[None] | None = None
        self._close_code: int | None = None
        self.is_closed = False

    def send(self, frame: TextFrame) -> None:
        if self.is_closed:
            return
        if not self._queue.append(frame):
            self.close(CLOSE_CODE_TOO_SLOW)
        self._start_sending()

    def close(self, code: int) -> None:
        if self.is_closed:
            return
        self.is_closed = True
        self._close_code = code
        self._start_sending()

    async def wait_until_drained(self) -> None:
        await self._flow_gate.wait_until_open()

    def detach(self) -> None:
        self.is_closed = True
        self._flow_gate.open()
        if self._task is not None:
            self._task.cancel()

    def _start_sending(self) -> None:
        if self._task is None or self._task.done():
            self._flow_gate.close()
            self._task = self._loop.create_task(self._send_queued())

    async def _send_queued(self) -> None:
        """Send what waits, the close last; a `send` that stalls for STALL_TIMEOUT_S makes the socket too slow."""
        while self._queue and self._close_code != CLOSE_CODE_TOO_SLOW:
            text = self._queue.popleft().text.decode()
            try:
                async with asyncio.timeout(STALL_TIMEOUT_S):
                    await self._asgi_send({"type": "websocket.send", "text": text})
            except TimeoutError:
                self._close_code, self.is_closed = CLOSE_CODE_TOO_SLOW, True
        if self._close_code is not None:
            await self._asgi_send({"type": "websocket.close", "code": self._close_code})
        self._flow_gate.open()
