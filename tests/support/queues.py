"""A job queue as tests work with it: prepared, and taken from by workers of known names."""

from socialsite.recipes.job_queue import Job, JobQueue, Patience
from socialsite.store import Store

ALICE, BOB, CAROL = "a1", "b2", "c3"  # workers
QUICK = Patience(heartbeat_ms=300, stuck_ms=200, lost_ms=50, retry_ms=(10, 20, 30, 40))


async def prepared(store: Store) -> JobQueue:
    made = JobQueue(store)
    await made.prepare()
    return made


async def take_one(queue: JobQueue, worker: str) -> Job:
    await queue.beat(worker)
    (job,) = await queue.take(worker, 1, 100)
    return job


async def payloads(queue: JobQueue, worker: str = ALICE, count: int = 100) -> list[bytes]:
    return [job.payload for job in await queue.take(worker, count, 1)]
