"""A clock that is set by answers, however slow each way of them is."""

import asyncio
import time

from socialsite.clock import Clock

AHEAD_MS = 3_600_000
"""Of this machine, the server: an hour."""
SLOW_S = 0.3


def server_ms() -> int:
    return int(time.time() * 1000) + AHEAD_MS


def far_from_server_ms(clock: Clock) -> int:
    """However long this test stands still between two looks."""
    before, shown, after = server_ms(), clock.now_ms(), server_ms()
    return max(0, before - shown, shown - after)


class Line:
    """To a server whose answers take `out_s` there and `back_s` back."""

    out_s = back_s = 0.0

    async def read_ms(self) -> int | None:
        await asyncio.sleep(self.out_s)
        told = server_ms()
        await asyncio.sleep(self.back_s)
        return told


async def test_it_is_set_by_the_server_within_half_a_round_trip_and_never_farther_than_one() -> None:
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


async def test_a_slow_answer_does_not_move_it() -> None:
    line = Line()
    clock = Clock(line.read_ms)
    began = time.monotonic()
    await clock.refresh()
    wrong_ms = (time.monotonic() - began) * 500 + 2  # at most, by a stall amid the quick answer
    was_set = clock._offset_ms
    for line.out_s, line.back_s in ((SLOW_S, 0.0), (0.0, SLOW_S)):
        await clock.refresh()
        assert abs(clock._offset_ms - was_set) <= wrong_ms
