"""Measure how long the machine paused: a pause that delays a sleeping thread delays every process.

Tests that limit a wall-clock time add the measured pauses to the product's limit. Four test processes share two cores,
and the machine may pause for seconds.
"""

import threading
import time
from typing import Self

SLEEP_S = 0.02
STALL_THRESHOLD_S = 0.05
"""A sleeper that wakes this much too late was delayed by a pause; less is normal scheduling."""


class StallMonitor:
    """Within `with`: `total_s` is the sum of the delays of a thread that sleeps repeatedly."""

    def __init__(self) -> None:
        self.total_s = 0.0
        self._over = threading.Event()
        self._sleeper = threading.Thread(target=self._sleep, daemon=True)

    def __enter__(self) -> Self:
        self._sleeper.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._sleeper.join()

    def _sleep(self) -> None:
        while not self._over.is_set():
            lay_down = time.monotonic()
            time.sleep(SLEEP_S)
            late_s = time.monotonic() - lay_down - SLEEP_S
            if late_s > STALL_THRESHOLD_S:
                self.total_s += late_s
