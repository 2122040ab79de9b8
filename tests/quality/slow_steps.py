"""Find steps of an event loop that compute too long, by the CPU time of the thread.

asyncio's own `slow_callback_duration` uses the wall clock and blames the running callback while the machine is paused.
Here a profiling timer ticks in CPU time. A tick during a callback older than the limit records the stack, so the report
shows the slow code as well as the task.
"""

import asyncio
import os
import signal
import threading
import time
from types import FrameType
from typing import Any

from tests.quality.blocking import note

LIMIT_S = float(os.environ.get("SLOW_STEP_S", "0.1"))
"""The limit on a machine that sums 200,000 numbers in PACE_S; it grows on a slower machine."""
PACE_S = 0.004
TICK_S = 0.01

_began_at: float | None = None
_limit_s = LIMIT_S
_original_run: Any = asyncio.Handle._run


def calibrated() -> float:
    """Return the limit for this machine now: two programs on one core take more CPU time each."""

    def spent() -> float:
        began = time.thread_time()
        sum(range(200_000))
        return time.thread_time() - began

    return LIMIT_S * max(1.0, sorted(spent() for _ in range(9))[4] / PACE_S)


def _run(handle: asyncio.Handle) -> None:
    global _began_at
    if threading.current_thread() is not threading.main_thread():
        _original_run(handle)
        return
    _began_at = time.thread_time()
    try:
        _original_run(handle)
    finally:
        _began_at = None


def _tick(_number: int, frame: FrameType | None) -> None:
    global _began_at
    if _began_at is not None and (spent := time.thread_time() - _began_at) > _limit_s:
        _began_at = None  # report each step once
        note(f"a step of {spent:.2f} s of CPU and more (allowed are {_limit_s:.2f} s)", frame)


def install() -> None:
    """Watch the loops of the main thread."""
    global _limit_s
    _limit_s = calibrated()
    asyncio.Handle._run = _run  # type: ignore[method-assign]
    signal.signal(signal.SIGPROF, _tick)
    signal.setitimer(signal.ITIMER_PROF, TICK_S, TICK_S)


def stop() -> None:
    """Stop the ticks: a tick during Python's shutdown would kill the process."""
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, signal.SIG_IGN)
