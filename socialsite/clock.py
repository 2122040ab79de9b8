"""The clock of a process: the time of Redis, continued with the local monotonic clock. It never goes back.

The machine's wall clock is read only at the creation of the clock, so a later jump does not change the order of posts.
"""

import time
from collections.abc import Awaitable, Callable

DAY_MS = 24 * 3600 * 1000
REFRESH_INTERVAL_S = 5.0


class Clock:
    """Unix time of the server in milliseconds.

    `read_server_ms` returns the server's time, or None if the server does not answer; then the clock continues. If the
    server's clock is set back, the clock returns its last time until the server's time passes it.
    """

    def __init__(self, read_server_ms: Callable[[], Awaitable[int | None]]) -> None:
        self._read_server_ms = read_server_ms
        self._offset_ms = time.time() * 1000.0 - time.monotonic() * 1000.0
        self._last_now_ms = 0
        self._is_set = False

    async def refresh(self) -> None:
        """Read the server's time and move the offset into the range that the round trip allows.

        A slow reply allows a wide range, so it seldom changes the offset. The first call uses the middle of the range.
        """
        sent_ms = time.monotonic() * 1000.0
        server_ms = await self._read_server_ms()
        received_ms = time.monotonic() * 1000.0
        if server_ms is None:
            return
        min_offset_ms, max_offset_ms = server_ms - received_ms, server_ms + 1 - sent_ms  # whole milliseconds
        if self._is_set:
            self._offset_ms = min(max(self._offset_ms, min_offset_ms), max_offset_ms)
        else:
            self._offset_ms = (min_offset_ms + max_offset_ms) / 2
        self._is_set = True

    def now_ms(self) -> int:
        self._last_now_ms = max(self._last_now_ms, self.server_ms())
        return self._last_now_ms

    def server_ms(self) -> int:
        """Return the time of the server, which goes back if the server's clock is set back."""
        return int(time.monotonic() * 1000.0 + self._offset_ms)


class FixedClock:
    """A clock that tests set."""

    def __init__(self, now_ms: int) -> None:
        self.time_ms = now_ms

    def now_ms(self) -> int:
        return self.time_ms

    def server_ms(self) -> int:
        return self.time_ms

    def advance(self, ms: int) -> None:
        self.time_ms += ms
