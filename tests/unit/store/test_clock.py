"""The clock follows the server's time, even if one direction of a round trip is slow."""

import asyncio
import time

from socialsite.clock import Clock

AHEAD_MS = 3_600_000
"""The server's clock is one hour ahead of this machine's."""
SLOW_S = 0.3


def server_ms() -> int:
    return int(time.time() * 1000) + AHEAD_MS


def far_from_server_ms(clock: Clock) -> int:
    """Return the offset to the server in ms, ignoring the time that this function needs itself."""
    before, clock_ms, after = server_ms(), clock.now_ms(), server_ms()
    return max(0, before - clock_ms, clock_ms - after)


class Line:
    """A connection with a request time of `out_s` and a reply time of `back_s` seconds."""

    out_s = back_s = 0.0

    async def read_ms(self) -> int | None:
        await asyncio.sleep(self.out_s)
        time_ms = server_ms()
        await asyncio.sleep(self.back_s)
        return time_ms


async def test_the_clock_is_set_within_half_a_round_trip_and_is_never_wrong_by_more_than_one() -> None:
    line = Line()
    clock = Clock(line.read_ms)
    line.back_s = SLOW_S
    began = time.monotonic()
    await clock.refresh()
    round_trip_ms = (time.monotonic() - began) * 1000
    assert far_from_server_ms(clock) <= round_trip_ms / 2 + 2
    line.back_s = 0.0
    began = time.monotonic()
    await clock.refresh()
    assert far_from_server_ms(clock) <= (time.monotonic() - began) * 1000 + 2


async def test_a_slow_answer_does_not_move_the_clock() -> None:
    line = Line()
    clock = Clock(line.read_ms)
    began = time.monotonic()
    await clock.refresh()
    wrong_ms = (time.monotonic() - began) * 500 + 2  # the maximum after a stall during the quick answer
    was_set = clock._offset_ms
    for line.out_s, line.back_s in ((SLOW_S, 0.0), (0.0, SLOW_S)):
        await clock.refresh()
        assert abs(clock._offset_ms - was_set) <= wrong_ms
