"""Thousands of websockets in a separate process: `python -m benchmarks.listeners`, controlled by lines on stdin.

It uses little CPU on purpose: frames are counted and stamped with the monotonic clock, which all processes of a
machine share, and are never parsed. The first line in is a ListenerOptions as JSON; the process prints "open" when
every socket is subscribed. For each line `await MARK` it prints "armed", and then the arrival times as JSON, when
every awaited socket has received a frame that contains MARK, or after 20 s.
"""

import asyncio
import contextlib
import json
import resource
import struct
import subprocess
import sys
import time
from collections.abc import Awaitable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import IO

HANDSHAKES_AT_ONCE = 50
WAIT_S = 20.0
START_S = 120.0
TEXT, PING, PONG = 0x1, 0x9, 0xA


@dataclass(frozen=True, slots=True)
class ListenerOptions:
    """Options of the sockets: `cookies` has one cookie or access token a socket, "" for a visitor.

    `header` is the line before it, without its end. The first `awaited` sockets are those with recorded arrival times.
    """

    port: int
    cookies: list[str]
    subscribe: str  # the client's message, or "" for none
    path: str = "/ws/stream/"
    awaited: int | None = None
    header: str = "Cookie: sessionid="


class ListenerProcess:
    """The parent's handle of the listener process."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._in: IO[str] = process.stdin
        self._out: IO[str] = process.stdout

    def send_line(self, line: str) -> None:
        self._in.write(line + "\n")
        self._in.flush()

    def read_line(self) -> str:
        line = self._out.readline().strip()
        if not line:
            raise RuntimeError("the listeners ended; see above")
        return line

    def arm(self, mark: str) -> None:
        """Record from now on the arrival of frames that contain `mark`."""
        self.send_line(f"await {mark}")
        assert self.read_line() == "armed"

    def arrivals(self) -> list[float]:
        """Return time.monotonic() at each awaited socket. Raises RuntimeError if a socket received nothing."""
        arrival_times: list[float | None] = json.loads(self.read_line())
        heard = [at for at in arrival_times if at is not None]
        if len(heard) < len(arrival_times):
            raise RuntimeError(f"{len(arrival_times) - len(heard)} of {len(arrival_times)} sockets heard nothing")
        return heard


@contextlib.contextmanager
def running_listeners(crowd: ListenerOptions) -> Iterator[ListenerProcess]:
    """Open and subscribe the sockets; close them at the end of the block."""
    command = [sys.executable, "-m", "benchmarks.listeners"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        listeners = ListenerProcess(process)
        listeners.send_line(json.dumps(asdict(crowd)))
        assert listeners.read_line() == "open"
        yield listeners
    finally:
        process.kill()
        process.wait()


def raise_file_limit() -> None:
    """Raise the limit of open files: each socket is a file. daphne inherits the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = 20_000 if hard == resource.RLIM_INFINITY else min(hard, 20_000)
    if soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


# The listener process


@dataclass(slots=True)
class ListenerProgress:
    """The awaited mark and the number of sockets that have not received it."""

    mark: bytes = b'"subscribed"'
    left: int = 0
    done: asyncio.Event = field(default_factory=asyncio.Event)


class Listener(asyncio.Protocol):
    """One websocket client."""

    def __init__(self, crowd: ListenerOptions, cookie: str, waiting: ListenerProgress) -> None:
        self._crowd = crowd
        self._cookie = cookie
        self._waiting = waiting
        self._data = b""
        self._upgraded = False
        self.counts = True
        self.at: float | None = None
        self.upgraded: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        host = f"127.0.0.1:{self._crowd.port}"
        cookie = f"{self._crowd.header}{self._cookie}\r\n" if self._cookie else ""
        transport.write(
            f"GET {self._crowd.path} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n{cookie}"
            "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAccept-Language: en\r\n\r\n".encode()
        )

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.upgraded.done():
            self.upgraded.set_exception(RuntimeError(f"refused: {self._data[:80]!r}"))

    def data_received(self, data: bytes) -> None:
        now = time.monotonic()
        self._data += data
        if not self._upgraded:
            head, end, self._data = self._data.partition(b"\r\n\r\n")
            if not end:
                self._data = head
                return
            if b" 101 " not in head[:20]:
                self._data = head
                self._transport.close()
                return
            self._upgraded = True
            self.upgraded.set_result(None)
        for payload in self._frames():
            self._handle_frame(payload, now)

    def send(self, payload: bytes, code: int = TEXT) -> None:
        """Send a masked frame with a mask of zeros."""
        self._transport.write(bytes([0x80 | code, 0x80 | len(payload)]) + b"\0\0\0\0" + payload)

    def _frames(self) -> Iterator[bytes]:
        while len(self._data) >= 2:
            code, size, start = self._data[0] & 0x0F, self._data[1] & 0x7F, 2
            if size == 126:
                if len(self._data) < 4:
                    return
                (size,), start = struct.unpack_from("!H", self._data, 2), 4
            if len(self._data) < start + size:
                return
            payload, self._data = self._data[start : start + size], self._data[start + size :]
            if code == PING:  # without a pong daphne closes the connection within a minute
                self.send(payload, PONG)
            else:
                yield payload

    def _handle_frame(self, payload: bytes, now: float) -> None:
        waiting = self._waiting
        if self.counts and self.at is None and waiting.mark in payload:
            self.at = now
            waiting.left -= 1
            if not waiting.left:
                waiting.done.set()


async def serve() -> None:
    raise_file_limit()
    loop = asyncio.get_running_loop()
    crowd = ListenerOptions(**json.loads(sys.stdin.readline()))
    waiting = ListenerProgress(left=len(crowd.cookies))
    everybody = await connect_all(crowd, waiting)
    for listener in everybody[crowd.awaited :] if crowd.awaited else []:
        listener.counts = False
    awaited = everybody[: crowd.awaited]
    print("open", flush=True)
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        waiting.mark, waiting.left = line.split()[1].encode(), len(awaited)
        waiting.done.clear()
        for listener in awaited:
            listener.at = None
        print("armed", flush=True)
        await completes_within(waiting.done.wait(), WAIT_S)
        print(json.dumps([listener.at for listener in awaited]), flush=True)


async def connect_all(crowd: ListenerOptions, waiting: ListenerProgress) -> list[Listener]:
    """Connect and subscribe all sockets, a few at a time, and wait for the subscriptions."""
    loop = asyncio.get_running_loop()
    everybody: list[Listener] = []
    for start in range(0, len(crowd.cookies), HANDSHAKES_AT_ONCE):
        batch = [Listener(crowd, cookie, waiting) for cookie in crowd.cookies[start : start + HANDSHAKES_AT_ONCE]]
        for listener in batch:
            await loop.create_connection(lambda it=listener: it, "127.0.0.1", crowd.port)  # type: ignore[misc]
        await asyncio.gather(*(listener.upgraded for listener in batch))
        for listener in batch if crowd.subscribe else []:
            listener.send(crowd.subscribe.encode())
        everybody += batch
    if crowd.subscribe and not await completes_within(waiting.done.wait(), START_S):
        raise RuntimeError(f"{waiting.left} sockets were not subscribed in time")
    return everybody


async def completes_within(waiting: Awaitable[object], seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await waiting
    except TimeoutError:
        return False
    return True


def percentile(values: Sequence[float], percent: int) -> float:
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


if __name__ == "__main__":
    asyncio.run(serve())
