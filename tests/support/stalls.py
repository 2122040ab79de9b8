"""Measure how long the machine paused: a pause that delays a sleeping thread delays every process.

Tests that limit a wall-clock time add the measured pauses to the product's limit. Several test processes share two
cores, and the machine may pause for seconds.
"""

import contextlib
import threading
import time
from pathlib import Path
from typing import Self

SLEEP_S = 0.02
STALL_THRESHOLD_S = 0.05
"""A sleeper that wakes this much too late was delayed by a pause; less is normal scheduling."""


class StallMonitor:
    """Within `with`: `total_s` is how long the machine kept this process waiting.

    It is the longer of two times: the sum of the delays of a thread that sleeps repeatedly, and the time that the
    opening thread waited for a processor.
    """

    def __init__(self) -> None:
        self._late_s = 0.0
        self._over = threading.Event()
        self._sleeper = threading.Thread(target=self._sleep, daemon=True)

    def __enter__(self) -> Self:
        self._schedule = Path(f"/proc/self/task/{threading.get_native_id()}/schedstat")
        self._waited_before_s = self._read_waited_s()
        self._sleeper.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._sleeper.join()

    @property
    def total_s(self) -> float:
        return max(self._late_s, self._read_waited_s() - self._waited_before_s)

    def _read_waited_s(self) -> float:
        """Return the time that the opening thread was ready to run and did not run; 0 if Linux does not count it."""
        with contextlib.suppress(OSError):
            return int(self._schedule.read_text().split()[1]) / 1e9
        return 0.0

    def _sleep(self) -> None:
        while not self._over.is_set():
            lay_down = time.monotonic()
            time.sleep(SLEEP_S)
            late_s = time.monotonic() - lay_down - SLEEP_S
            if late_s > STALL_THRESHOLD_S:
                self._late_s += late_s
