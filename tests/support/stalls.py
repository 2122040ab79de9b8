"""For how long the machine let nobody run: what it keeps a sleeper waiting, it keeps everybody waiting.

Where a claim is a time by the clock, its bound is the product's and this, measured beside it: four test
processes share two cores, and the machine under them may stand still for seconds.
"""

import threading
import time
from typing import Self

SLEEP_S = 0.02
STALL_THRESHOLD_S = 0.05
"""A sleeper that wakes later than this by so much was kept waiting; less is what any scheduler takes."""


class StallMonitor:
    """Within `with`: `total_s` is by how much a sleeper in a thread of its own woke too late, all in all."""

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
