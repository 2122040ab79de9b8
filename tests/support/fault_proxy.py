"""A TCP proxy in front of a server that simulates network faults.

It runs in a thread of its own, so neither tests nor the site under test depend on it: `with
proxy.with_fault(Fault.DROP): ...`. It never drops bytes in the middle of a stream, because TCP would not.
"""

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Self

CHUNK_BYTES = 65_536
RESET_ON_CLOSE = struct.pack("ii", 1, 0)
"""SO_LINGER with a timeout of zero: closing sends RST."""


class Fault(StrEnum):
    """The fault that the proxy simulates."""

    PASS = "pass"
    DELAY = "delay"
    """Every chunk is delayed, in both directions; chunks that arrive together are delayed together."""
    DROP = "drop"
    """Nothing arrives in either direction. The bytes arrive when the fault ends, as TCP retransmissions do."""
    RESET = "reset"
    """Every connection is reset, including new connections."""
    HALF = "half"
    """Requests arrive and are executed, their replies are dropped. These connections are reset when the fault ends."""


class Link:
    """One connection through the proxy."""

    def __init__(self, near: asyncio.StreamWriter, far: asyncio.StreamWriter) -> None:
        self._writers = near, far
        self.has_lost_replies = False

    def reset(self) -> None:
        for writer in self._writers:
            reset_connection(writer)


def reset_connection(writer: asyncio.StreamWriter) -> None:
    end = writer.get_extra_info("socket")
    with contextlib.suppress(OSError):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
    writer.transport.abort()


class FaultProxy:
    """A proxy with its own port, for a server at a unix socket (a Path) or at `host:port`."""

    def __init__(self, upstream: Path | str, *, delay_s: float = 0.1) -> None:
        self._upstream = upstream
        self._delay_s = delay_s
        self._fault = Fault.PASS
        self._changed = asyncio.Event()
        self._links: set[Link] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self.port = 0
        self.until_swallowed: int | None = None
        """Number of replies that pass before a reply is dropped; None disables the count."""
        self._then: Fault | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def __enter__(self) -> Self:
        self._thread.start()
        self.port = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(5)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(5)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()

    @contextlib.contextmanager
    def with_fault(self, fault: Fault) -> Iterator[None]:
        """Simulate the fault until the end of the block."""
        self.set_fault(fault)
        try:
            yield
        finally:
            self.set_fault(Fault.PASS)

    def drop_replies_after(self, replies: int, then: Fault | None = None) -> None:
        """Let so many replies pass, then drop the next reply and its connection once, or begin the fault `then`."""
        asyncio.run_coroutine_threadsafe(self._count_down(replies, then), self._loop).result(5)

    def set_fault(self, fault: Fault) -> None:
        asyncio.run_coroutine_threadsafe(self._apply_fault(fault), self._loop).result(5)

    async def _count_down(self, replies: int, then: Fault | None) -> None:
        self.until_swallowed, self._then = replies, then

    async def _apply_fault(self, fault: Fault) -> None:
        self._fault = fault
        self._changed.set()
        self._changed = asyncio.Event()
        for link in list(self._links):
            if fault is Fault.RESET or link.has_lost_replies:
                link.reset()

    async def _listen(self) -> int:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return int(self._server.sockets[0].getsockname()[1])

    async def _end(self) -> None:
        self._server.close()
        await self._apply_fault(Fault.PASS)
        for link in list(self._links):
            link.reset()
        mine = asyncio.current_task()
        if tasks := [task for task in asyncio.all_tasks() if task is not mine]:
            await asyncio.wait(tasks, timeout=3)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._fault is Fault.RESET:
            reset_connection(writer)
            return
        try:
            far_reader, far_writer = await self._connect()
        except OSError:  # the server is not running
            reset_connection(writer)
            return
        link = Link(writer, far_writer)
        self._links.add(link)
        try:
            ways = [self._pump(link, reader, far_writer), self._pump(link, far_reader, writer, replies=True)]
            tasks = [asyncio.create_task(way) for way in ways]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        finally:
            self._links.discard(link)
            writer.close()
            far_writer.close()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if isinstance(self._upstream, Path):
            return await asyncio.open_unix_connection(self._upstream)
        host, _, port = self._upstream.rpartition(":")
        return await asyncio.open_connection(host, int(port))

    async def _pump(
        self, link: Link, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, replies: bool = False
    ) -> None:
        arrived = asyncio.Queue[tuple[float, bytes]]()

        async def receive() -> None:
            with contextlib.suppress(ConnectionError):
                while data := await source.read(CHUNK_BYTES):
                    delay_s = self._delay_s if self._fault is Fault.DELAY else 0.0
                    arrived.put_nowait((self._loop.time() + delay_s, data))
            arrived.put_nowait((0.0, b""))

        async def deliver() -> None:
            while True:
                due, data = await arrived.get()
                await asyncio.sleep(max(0.0, due - self._loop.time()))
                while self._fault is Fault.DROP:
                    await self._changed.wait()
                if not data:
                    return
                if not (replies and self._is_dropped(link)):
                    sink.write(data)
                    await sink.drain()

        with contextlib.suppress(ConnectionError):
            await asyncio.gather(receive(), deliver())

    def _is_dropped(self, link: Link) -> bool:
        if self._fault is Fault.HALF:
            link.has_lost_replies = True
            return True
        if self.until_swallowed is None:
            return False
        if self.until_swallowed > 0:
            self.until_swallowed -= 1
            return False
        self.until_swallowed = None
        if self._then is None:
            link.reset()
        else:
            self._fault = self._then
        return True
