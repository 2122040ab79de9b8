"""Keeps the parts of a quickstart running: starts them in order, revives the dead, stops them in reverse."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from socialsite.quickstart.processes import Part
from socialsite.store.embedded import EmbeddedServerError

BACKOFF_FIRST_S = 0.5
BACKOFF_MAX_S = 5.0
STEADY_S = 30.0
"""A part that ran this long starts with the shortest pause again."""
POLL_S = 0.1

Say = Callable[[str], None]


@dataclass(slots=True)
class Kept:
    """A part and when to start it again."""

    part: Part
    say: Say
    started_s: float = 0.0
    deaths: int = 0
    again_s: float | None = None

    def start(self, now_s: float) -> None:
        self.started_s = now_s
        self.again_s = None
        self.part.start()

    def tend(self, now_s: float) -> None:
        """Look after the part once."""
        if self.again_s is not None:
            if now_s >= self.again_s:
                self._try(now_s)
        elif not self.part.is_alive():
            if now_s - self.started_s > STEADY_S:
                self.deaths = 0
            self._later(now_s, "has ended")

    def _try(self, now_s: float) -> None:
        try:
            self.start(now_s)
        except EmbeddedServerError as error:
            self._later(now_s, f"does not start: {error}")

    def _later(self, now_s: float, reason: str) -> None:
        pause = min(BACKOFF_MAX_S, BACKOFF_FIRST_S * 2**self.deaths)
        self.deaths = min(self.deaths + 1, 10)
        self.again_s = now_s + pause
        self.say(f"{self.part.name} {reason}; starting it again in {pause:g} s")


class Supervisor:
    """Parts in the order of their need: each after those it stands on."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._kept: list[Kept] = []

    def start(self, parts: Sequence[Part]) -> None:
        for part in parts:
            kept = Kept(part, self._say)
            self._kept.append(kept)  # before it starts: a start that is interrupted is stopped too
            kept.start(time.monotonic())

    def run(self, each_round: Callable[[], None]) -> None:
        """Tend the parts until an exception (KeyboardInterrupt) ends it."""
        while True:
            for kept in self._kept:
                kept.tend(time.monotonic())
            each_round()
            time.sleep(POLL_S)

    def stop(self) -> None:
        while self._kept:
            self._kept.pop().part.stop()
