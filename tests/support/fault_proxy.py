"""A TCP proxy in front of a server, which does to connections what networks do.

It serves in a thread of its own, so that tests and the site under test need not know of it:
`with proxy.suffering(Fault.DROP): ...`. Nothing is lost out of the middle of a stream: TCP would not lose it.
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
"""SO_LINGER of no time: closing sends RST."""


class Fault(StrEnum):
    """What becomes of the bytes."""

    PASS = "pass"
    DELAY = "delay"
    """Every chunk waits, in both directions."""
    DROP = "drop"
    """Nothing arrives in either direction; what was sent arrives once this is over, as retransmissions do."""
    RESET = "reset"
    """Every connection is reset, new ones too."""
    HALF = "half"
    """Requests arrive and are applied, their replies are swallowed; such connections are reset afterwards."""


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
    """Listens on a port of its own for a server at a unix socket (a Path) or at `host:port`."""

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
        """Replies that still pass; None: none is to be lost, or it is already."""

    @property
    def url(self) -> str:
        """Of a Redis behind it."""
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
        """From here to the end of the block."""
        self.set_fault(fault)
        try:
            yield
        finally:
            self.set_fault(Fault.PASS)

    def drop_replies_after(self, replies: int) -> None:
        """So many more replies pass, the next one is lost with its connection, then all is well."""
        asyncio.run_coroutine_threadsafe(self._count_down(replies), self._loop).result(5)

    def set_fault(self, fault: Fault) -> None:
        asyncio.run_coroutine_threadsafe(self._apply_fault(fault), self._loop).result(5)

    async def _count_down(self, replies: int) -> None:
        self.until_swallowed = replies

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
        if others := [task for task in asyncio.all_tasks() if task is not mine]:
            await asyncio.wait(others, timeout=3)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._fault is Fault.RESET:
            reset_connection(writer)
            return
        try:
            far_reader, far_writer = await self._connect()
        except OSError:  # the server is away
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
        with contextlib.suppress(ConnectionError):
            while data := await source.read(CHUNK_BYTES):
                while self._fault is Fault.DROP:
                    await self._changed.wait()
                if replies and self._is_dropped(link):
                    continue
                if self._fault is Fault.DELAY:
                    await asyncio.sleep(self._delay_s)
                sink.write(data)
                await sink.drain()

    def _is_dropped(self, link: Link) -> bool:
        """Whether this reply is lost."""
        if self._fault is Fault.HALF:
            link.has_lost_replies = True
            return True
        if self.until_swallowed is None:
            return False
        if self.until_swallowed > 0:
            self.until_swallowed -= 1
            return False
        self.until_swallowed = None
        link.reset()
        return True
