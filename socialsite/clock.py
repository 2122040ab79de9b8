"""One clock a process: Redis TIME, carried on by the local monotonic clock, never stepping back.

The wall clock of the machine is never asked, so it may jump without a post changing places.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable

REFRESH_AFTER_S = 5.0


class Clock:
    """Milliseconds of Unix time as the server tells it.

    `read_server_ms` asks the server and answers None when it cannot; the clock then runs on by itself.
    A server that tells an earlier time than the clock already showed makes the clock stand, not go back.
    """

    def __init__(self, read_server_ms: Callable[[], Awaitable[int | None]]) -> None:
        self._read_server_ms = read_server_ms
        self._offset_ms = time.time() * 1000.0 - time.monotonic() * 1000.0
        self._shown_ms = 0

    async def refresh(self) -> None:
        """Set the clock by the server; half of the round trip is taken as the way back."""
        asked = time.monotonic()
        server_ms = await self._read_server_ms()
        answered = time.monotonic()
        if server_ms is not None:
            self._offset_ms = server_ms - (asked + answered) * 500.0

    async def keep_right(self) -> None:
        """Refresh for ever; whoever starts this task owns and cancels it."""
        while True:
            await asyncio.sleep(REFRESH_AFTER_S)
            await self.refresh()

    def now_ms(self) -> int:
        now_ms = int(time.monotonic() * 1000.0 + self._offset_ms)
        self._shown_ms = max(self._shown_ms, now_ms)
        return self._shown_ms


class FixedClock:
    """A clock that tests turn by hand."""

    def __init__(self, now_ms: int) -> None:
        self.time_ms = now_ms

    def now_ms(self) -> int:
        return self.time_ms

    def advance(self, ms: int) -> None:
        self.time_ms += ms
