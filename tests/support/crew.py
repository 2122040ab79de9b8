"""Worker processes that a supervisor restarts when they end, and that tests kill."""

import asyncio
import random
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple, Self

RESTART_DELAY_S = 0.5  # quickstart's delay before it restarts a child


class PerformedLine(NamedTuple):
    """A line of the ledger: one performed payload."""

    at_ms: int
    pid: int
    payload: str


class WorkerPool:
    """`size` supervised workers on one server; `async with` starts and stops them."""

    def __init__(self, url: str, directory: Path, size: int) -> None:
        self._command = [sys.executable, "-m", "tests.support.worker_process", url, str(directory / "ledger")]
        self._ledger = directory / "ledger"
        self._size = size
        self._workers: dict[int, subprocess.Popen[bytes]] = {}
        self._supervising: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        for place in range(self._size):
            self._start(place)
        self._supervising = asyncio.create_task(self._supervise())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._supervising is not None
        self._supervising.cancel()
        await asyncio.gather(self._supervising, return_exceptions=True)
        for worker in self._workers.values():
            worker.terminate()
        for worker in self._workers.values():
            worker.wait(10)

    def kill_random_worker(self) -> bool:
        """Kill a random running worker with SIGKILL. Returns False if none runs."""
        running = [worker for worker in self._workers.values() if worker.poll() is None]
        if running:
            random.choice(running).kill()
        return bool(running)

    @property
    def lines(self) -> list[PerformedLine]:
        if not self._ledger.exists():
            return []
        rows = (row.split(" ", 2) for row in self._ledger.read_text().splitlines())
        return [PerformedLine(int(at_ms), int(pid), payload) for at_ms, pid, payload in rows]

    @property
    def performed(self) -> list[str]:
        return [line.payload for line in self.lines]

    def _start(self, place: int) -> None:
        self._workers[place] = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    async def _supervise(self) -> None:
        while True:
            await asyncio.sleep(0.05)
            dead = [place for place, worker in self._workers.items() if worker.poll() is not None]
            if dead:
                await asyncio.sleep(RESTART_DELAY_S)
                for place in dead:
                    self._start(place)
