"""One clock a process: Redis TIME, carried on by the local monotonic clock, never stepping back.

The wall clock of the machine is never asked, so it may jump without a post changing places.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable

DAY_MS = 24 * 3600 * 1000
REFRESH_INTERVAL_S = 5.0


class Clock:
    """Milliseconds of Unix time as the server tells it.

    `read_server_ms` asks the server and answers None when it cannot; the clock then runs on by itself.
    A server that tells an earlier time than the clock already showed makes the clock stand, not go back.
    """

    def __init__(self, read_server_ms: Callable[[], Awaitable[int | None]]) -> None:
        self._read_server_ms = read_server_ms
        self._offset_ms = time.time() * 1000.0 - time.monotonic() * 1000.0
        self._last_now_ms = 0
        self._is_set = False

    async def refresh(self) -> None:
        """Set the clock by the server, who spoke anywhere in the round trip: no farther than that proves.

        The first time half of it is taken as the way back. So no slow answer spoils what quick ones set.
        """
        asked_ms = time.monotonic() * 1000.0
        server_ms = await self._read_server_ms()
        answered_ms = time.monotonic() * 1000.0
        if server_ms is None:
            return
        least, most = server_ms - answered_ms, server_ms + 1 - asked_ms  # it tells whole milliseconds
        self._offset_ms = min(max(self._offset_ms, least), most) if self._is_set else (least + most) / 2
        self._is_set = True

    async def refresh_forever(self) -> None:
        """Refresh for ever; whoever starts this task owns and cancels it."""
        while True:
            await asyncio.sleep(REFRESH_INTERVAL_S)
            await self.refresh()

    def now_ms(self) -> int:
        now_ms = int(time.monotonic() * 1000.0 + self._offset_ms)
        self._last_now_ms = max(self._last_now_ms, now_ms)
        return self._last_now_ms


class FixedClock:
    """A clock that tests turn by hand."""

    def __init__(self, now_ms: int) -> None:
        self.time_ms = now_ms

    def now_ms(self) -> int:
        return self.time_ms

    def advance(self, ms: int) -> None:
        self.time_ms += ms
