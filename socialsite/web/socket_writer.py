"""What leaves through one websocket: in order, bounded, and never waited for by a publisher.

`PlainOutlet` relies on the ASGI server's `send` to wait for a slow reader. daphne's does not wait, see
daphne_outlet.py. In both, a reader that stalls for too long is closed with 4408.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

QUEUE_CAP_BYTES = 64 * 1024
"""Waiting for a stalled reader; frames are shared by all sockets they wait for."""
STALLED_S = 10.0
TOO_SLOW = 4408

Send = Callable[[dict[str, Any]], Awaitable[None]]


class Frame:
    """One text message, encoded once for all the sockets that get it."""

    __slots__ = ("text", "wire")

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.wire = text_frame(text)

    def __len__(self) -> int:
        return len(self.wire)


def text_frame(text: bytes) -> bytes:
    """An unmasked, final websocket text frame (RFC 6455, 5.2)."""
    size = len(text)
    if size < 126:
        head = bytes((0x81, size))
    elif size < 1 << 16:
        head = b"\x81\x7e" + size.to_bytes(2)
    else:
        head = b"\x81\x7f" + size.to_bytes(8)
    return head + text


class Outlet(Protocol):
    """`push` sends or queues; `drained` waits until the reader keeps up; `close` ends the socket."""

    is_closed: bool

    def push(self, frame: Frame) -> None: ...
    def close(self, code: int) -> None: ...
    async def drained(self) -> None: ...
    def release(self) -> None: ...


class Gate:
    """Open or shut, as an asyncio.Event is; without its queue of waiters, which takes 0.8 kB of a socket."""

    __slots__ = ("_opened", "is_open")

    def __init__(self) -> None:
        self.is_open = True
        self._opened: asyncio.Future[None] | None = None

    def shut(self) -> None:
        self.is_open = False

    def open(self) -> None:
        self.is_open = True
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.set_result(None)

    async def passed(self) -> None:
        """Returns while the gate is open."""
        while not self.is_open:
            if self._opened is None:
                self._opened = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._opened)  # whoever is cancelled takes nobody along


class Waiting:
    """Frames for a stalled reader, counted in bytes; none are waiting nearly always, and take nothing."""

    def __init__(self) -> None:
        self._frames: deque[Frame] | None = None
        self.size = 0

    def __bool__(self) -> bool:
        return bool(self._frames)

    def append(self, frame: Frame) -> bool:
        """False when the queue is full."""
        if self._frames is None:
            self._frames = deque()
        self._frames.append(frame)
        self.size += len(frame)
        return self.size <= QUEUE_CAP_BYTES

    def popleft(self) -> Frame:
        """Raises IndexError where none waits."""
        if not self._frames:
            raise IndexError("no frame waits")
        frame = self._frames.popleft()
        self.size -= len(frame)
        return frame

    def clear(self) -> None:
        self._frames = None
        self.size = 0


class PlainOutlet:
    """Any ASGI server: one task a busy socket waits for `send`, frames queue behind it."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._waiting = Waiting()
        self._flowing = Gate()
        self._task: asyncio.Task[None] | None = None
        self._close_code: int | None = None
        self.is_closed = False

    def push(self, frame: Frame) -> None:
        if self.is_closed:
            return
        if not self._waiting.append(frame):
            self.close(TOO_SLOW)
        self._start()

    def close(self, code: int) -> None:
        if self.is_closed:
            return
        self.is_closed = True
        self._close_code = code
        self._start()

    async def drained(self) -> None:
        await self._flowing.passed()

    def release(self) -> None:
        self.is_closed = True
        self._flowing.open()
        if self._task is not None:
            self._task.cancel()

    def _start(self) -> None:
        if self._task is None or self._task.done():
            self._flowing.shut()
            self._task = self._loop.create_task(self._drain())

    async def _drain(self) -> None:
        """Send what waits, the close last; a `send` that stalls for STALLED_S makes the socket too slow."""
        while self._waiting and self._close_code != TOO_SLOW:
            text = self._waiting.popleft().text.decode()
            try:
                async with asyncio.timeout(STALLED_S):
                    await self._send({"type": "websocket.send", "text": text})
            except TimeoutError:
                self._close_code, self.is_closed = TOO_SLOW, True
        if self._close_code is not None:
            await self._send({"type": "websocket.close", "code": self._close_code})
        self._flowing.open()
