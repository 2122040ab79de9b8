"""Job queues and workers in tests, and the jobs that they performed."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from socialsite.recipes.job import Job
from socialsite.recipes.job_queue import JobQueue, RetryPolicy
from socialsite.recipes.job_worker import JobHandler, Worker
from socialsite.store import Store

ALICE, BOB, CAROL = "a1", "b2", "c3"  # worker names

FAST_RETRY_POLICY = RetryPolicy(
    heartbeat_ttl_ms=300, stuck_after_ms=200, lost_after_ms=50, retry_delays_ms=(10, 20, 30, 40)
)


async def open_queue(store: Store) -> JobQueue:
    queue = JobQueue(store)
    await queue.create_group()
    return queue


async def take_one(queue: JobQueue, worker: str) -> Job:
    await queue.send_heartbeat(worker)
    (job,) = await queue.fetch(worker, 1, 100)
    return job


async def take_payloads(queue: JobQueue, worker: str = ALICE, count: int = 100) -> list[bytes]:
    return [job.payload for job in await queue.fetch(worker, count, 1)]


async def perform_all(queue: JobQueue, handle: Callable[[bytes], Awaitable[Sequence[bytes]]]) -> int:
    """Perform every job and its follow-up jobs; return the number of jobs."""
    job_count = 0
    await queue.create_group()
    while jobs := await queue.fetch("abad1dea", 100, 1):
        for job in jobs:
            await queue.finish(job, await handle(job.payload), used_ms=1)
            job_count += 1
    return job_count


class RecordingHandler:
    def __init__(self) -> None:
        self.performed: list[bytes] = []
        self._more = asyncio.Event()

    async def __call__(self, payload: bytes) -> Sequence[bytes]:
        self.performed.append(payload)
        self._more.set()
        return ()

    async def wait_for(self, payload: bytes, within_s: float = 10) -> None:
        async with asyncio.timeout(within_s):
            while payload not in self.performed:
                self._more.clear()
                await self._more.wait()


async def run_until_empty(queue: JobQueue, handle: JobHandler) -> bool:
    return await asyncio.wait_for(Worker(queue, handle).run_until_empty(), 10)
