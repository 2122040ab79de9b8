"""Send text frames through one websocket in order, with a bounded queue and without blocking the publisher.

`AsgiSocketWriter` needs an ASGI server whose `send` waits for a slow reader. daphne's `send` does not wait, so
daphne/flow_control.py has another writer. Both close a socket with 4408 if its reader stalls for STALL_TIMEOUT_S.
"""

import asyncio
from collections import deque
from typing import Protocol

from socialsite.web.asgi_types import Send

QUEUE_MAX_BYTES = 64 * 1024
"""Maximum size of the queue for a stalled reader. The queues of all sockets share their frames."""
STALL_TIMEOUT_S = 10.0
CLOSE_CODE_TOO_SLOW = 4408


class TextFrame:
    """One text message, encoded once for all sockets."""

    __slots__ = ("encoded", "text")

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.encoded = encode_text_frame(text)

    def __len__(self) -> int:
        return len(self.encoded)


def encode_text_frame(text: bytes) -> bytes:
    """Return an unmasked, final websocket text frame (RFC 6455, 5.2)."""
    size = len(text)
    if size < 126:
        head = bytes((0x81, size))
    elif size < 1 << 16:
        head = b"\x81\x7e" + size.to_bytes(2)
    else:
        head = b"\x81\x7f" + size.to_bytes(8)
    return head + text


class SocketWriter(Protocol):
    """Sends or queues frames. `wait_until_drained` waits for a slow reader. Call `detach` after the disconnect."""

    is_closed: bool

    def send(self, frame: TextFrame) -> None: ...
    def close(self, code: int) -> None: ...
    async def wait_until_drained(self) -> None: ...
    def detach(self) -> None: ...


class FlowGate:
    """An event for one waiter. The queue of waiters of an asyncio.Event would take 0.8 kB for each socket."""

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
        while not self.is_open:
            if self._waiter is None:
                self._waiter = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._waiter)  # a cancelled waiter must not cancel the others


class SendQueue:
    """A queue of frames for a stalled reader, limited in bytes. An empty queue has no deque, to save memory."""

    def __init__(self) -> None:
        self._frames: deque[TextFrame] | None = None
        self.size_bytes = 0

    def __bool__(self) -> bool:
        return bool(self._frames)

    def append(self, frame: TextFrame) -> bool:
        """Queue a frame. Returns False if the queue is full."""
        if self._frames is None:
            self._frames = deque()
        self._frames.append(frame)
        self.size_bytes += len(frame)
        return self.size_bytes <= QUEUE_MAX_BYTES

    def popleft(self) -> TextFrame:
        """Return the first frame. Raises IndexError if the queue is empty."""
        if not self._frames:
            raise IndexError("no frame waits")
        frame = self._frames.popleft()
        self.size_bytes -= len(frame)
        return frame

    def clear(self) -> None:
        self._frames = None
        self.size_bytes = 0


class AsgiSocketWriter:
    """A writer for any ASGI server. While frames are queued, one task sends them in order."""

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
        """Send the queued frames, then a close frame. If `send` takes STALL_TIMEOUT_S, close the socket as too slow."""
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
