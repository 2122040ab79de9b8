"""Worker processes that a supervisor restarts when they end, and that tests kill."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

from socialsite.migration.store_factory import open_store
from socialsite.recipes.job import PermanentFailure
from socialsite.recipes.job_queue import JobQueue
from socialsite.recipes.job_worker import Worker

RESTART_DELAY_S = 0.5  # quickstart's delay before it restarts a child


class PerformedLine(NamedTuple):
    """A line of the ledger: one performed payload."""

    at_ms: int
    pid: int
    payload: str


class WorkerPool:
    """`size` supervised workers on one server; `async with` starts and stops them."""

    def __init__(self, url: str, directory: Path, size: int) -> None:
        self._command = [sys.executable, "-m", "tests.support.worker_processes", url, str(directory / "ledger")]
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


class WordHandler:
    def __init__(self, ledger: str) -> None:
        self._ledger = ledger

    async def __call__(self, payload: bytes) -> Sequence[bytes]:
        try:
            word, *rest = payload.decode().split()
        except ValueError as error:
            raise PermanentFailure(str(error)) from error
        self._note(payload)
        match word:
            case "die":
                os.kill(os.getpid(), signal.SIGKILL)
            case "fail":
                raise RuntimeError("told to fail")
            case "hang":
                await asyncio.sleep(3600)
            case "slow":
                await asyncio.sleep(int(rest[0]) / 1000)
            case "chain":
                return self._next_step(*rest)
        return ()

    def _note(self, payload: bytes) -> None:
        """Append a line in one write: it stays whole beside other writers and is kept if the process is killed."""
        with open(self._ledger, "ab", buffering=0) as ledger:
            ledger.write(b"%d %d %s\n" % (time.time_ns() // 1_000_000, os.getpid(), payload))

    @staticmethod
    def _next_step(name: str, step: str, last: str) -> Sequence[bytes]:
        return [f"chain {name} {int(step) + 1} {last}".encode()] if int(step) < int(last) else []


async def main(url: str, ledger: str) -> None:
    store = await open_store(url)
    worker = Worker(JobQueue(store), WordHandler(ledger))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
    await worker.run()
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
