"""Server-sent events: a socket writer whose frames are the body of an HTTP response (HTML Standard, section 9.2)."""

import asyncio
from collections.abc import AsyncIterator

from django.http import StreamingHttpResponse

from socialsite.web.socket_writer import CLOSE_CODE_TOO_SLOW, SendQueue, TextFrame

HEARTBEAT_S = 15.0
HEARTBEAT = b":thump\n"


class EventStreamResponse(StreamingHttpResponse):
    """A response without an end. The handler drops its client if the client does not read (handler.py)."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        super().__init__(chunks, content_type="text/event-stream")
        self["Cache-Control"] = "private, no-store"
        self["X-Accel-Buffering"] = "no"  # nginx sends each event at once


class EventStreamWriter:
    """A SocketWriter. `chunks` yields its frames, and ends after `close`."""

    def __init__(self) -> None:
        self._queue = SendQueue()
        self._changed = asyncio.Event()
        self.is_closed = False

    def send(self, frame: TextFrame) -> None:
        if self.is_closed:
            return
        if not self._queue.append(frame):
            self.close(CLOSE_CODE_TOO_SLOW)
        self._changed.set()

    def close(self, code: int) -> None:
        self.is_closed = True
        self._changed.set()

    async def wait_until_drained(self) -> None:
        """Return immediately: the handler drops a client that does not read."""

    def detach(self) -> None:
        self.close(CLOSE_CODE_TOO_SLOW)

    async def chunks(self) -> AsyncIterator[bytes]:
        yield HEARTBEAT  # the client learns that the stream is open
        while True:
            while self._queue:
                yield self._queue.popleft().text
            if self.is_closed:
                return
            self._changed.clear()
            try:
                async with asyncio.timeout(HEARTBEAT_S):
                    await self._changed.wait()
            except TimeoutError:
                yield HEARTBEAT
