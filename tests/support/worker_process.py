"""A worker in a process of its own, to be killed: `python -m tests.support.worker_process URL LEDGER`.

Every performed payload is appended to the file LEDGER. Payloads are words: `chain NAME STEP LAST` adds the next step,
`die` kills this process, `fail` raises an error, `hang` never ends, `slow MS NAME` sleeps for MS.
"""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Sequence

from socialsite.migration.store_factory import open_store
from socialsite.recipes.job import PermanentFailure
from socialsite.recipes.job_queue import JobQueue
from socialsite.recipes.worker import Worker


class WordHandler:
    """Performs payloads of words."""

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
