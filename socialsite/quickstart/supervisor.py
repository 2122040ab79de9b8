"""Keeps the parts of a quickstart running: starts them in order, revives the dead, stops them in reverse."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from socialsite.quickstart.processes import SiteProcess
from socialsite.store.embedded.binaries import EmbeddedServerError

INITIAL_BACKOFF_S = 0.5
MAX_BACKOFF_S = 5.0
STABLE_AFTER_S = 30.0
"""A part that ran this long starts with the shortest pause again."""
POLL_INTERVAL_S = 0.1

PrintLine = Callable[[str], None]


@dataclass(slots=True)
class ManagedProcess:
    """A part and when to start it again."""

    process: SiteProcess
    print_line: PrintLine
    started_s: float = 0.0
    failures: int = 0
    restart_at_s: float | None = None

    def start(self, now_s: float) -> None:
        self.started_s = now_s
        self.restart_at_s = None
        self.process.start()

    def poll(self, now_s: float) -> None:
        """Look after the part once."""
        if self.restart_at_s is not None:
            if now_s >= self.restart_at_s:
                self._restart(now_s)
        elif not self.process.is_alive():
            if now_s - self.started_s > STABLE_AFTER_S:
                self.failures = 0
            self._schedule_restart(now_s, "has ended")

    def _restart(self, now_s: float) -> None:
        try:
            self.start(now_s)
        except EmbeddedServerError as error:
            self._schedule_restart(now_s, f"does not start: {error}")

    def _schedule_restart(self, now_s: float, reason: str) -> None:
        pause = min(MAX_BACKOFF_S, INITIAL_BACKOFF_S * 2**self.failures)
        self.failures = min(self.failures + 1, 10)
        self.restart_at_s = now_s + pause
        self.print_line(f"{self.process.name} {reason}; starting it again in {pause:g} s")


class Supervisor:
    """Parts in the order of their need: each after those it stands on."""

    def __init__(self, say: PrintLine) -> None:
        self._print_line = say
        self._processes: list[ManagedProcess] = []

    def start(self, parts: Sequence[SiteProcess]) -> None:
        for part in parts:
            kept = ManagedProcess(part, self._print_line)
            self._processes.append(kept)  # before it starts: a start that is interrupted is stopped too
            kept.start(time.monotonic())

    def run(self, after_poll: Callable[[], None]) -> None:
        """Tend the parts until an exception (KeyboardInterrupt) ends it."""
        while True:
            for kept in self._processes:
                kept.poll(time.monotonic())
            after_poll()
            time.sleep(POLL_INTERVAL_S)

    def stop(self) -> None:
        while self._processes:
            self._processes.pop().process.stop()
