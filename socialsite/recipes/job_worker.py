"""The worker of a job queue. It fetches jobs, performs several concurrently, retries them and reclaims jobs.

A TaskGroup owns and awaits every task. If the store is unavailable, each call is repeated with growing, jittered
pauses. A worker that stops finishes the jobs in progress, fetches no new ones, and leaves the other jobs pending.
"""

import asyncio
import random
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import structlog

from socialsite.recipes.job import Job, PermanentFailure, RetryLater
from socialsite.recipes.job_queue import JobQueue
from socialsite.store import StoreUnavailable
from socialsite.store.aof import track_nodes, wait_for_aof

JobHandler = Callable[[bytes], Awaitable[Sequence[bytes]]]
"""Performs the job of one payload and returns the payloads of the following jobs."""

DEFAULT_CONCURRENCY = 8
MAX_JOBS_IN_MEMORY = 256  # including jobs that wait for another try
JOB_TIMEOUT_S = 45.0  # less than RetryPolicy.stuck_after_ms, after which other workers claim the job
FETCH_WAIT_MS = 500  # also the longest time until a worker with an empty queue stops
MAX_REASON_LENGTH = 500
RETRY_IMMEDIATELY_MS: int | None = 0

log = structlog.stdlib.get_logger("socialsite.jobs")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class BackgroundQueue:
    """A queue, the handler of its jobs, and the limits of a worker of this queue."""

    queue: JobQueue
    handle: JobHandler
    concurrency: int = DEFAULT_CONCURRENCY
    job_timeout_s: float = JOB_TIMEOUT_S
    on_dead_letter: Callable[[bytes], Awaitable[None]] | None = None
    """Called with the payload of a job that failed for good. It may raise only errors of an unavailable store."""

    def make_worker(self, concurrency: int | None = None) -> "Worker":
        self.queue.on_dead_letter = self.on_dead_letter
        return Worker(
            self.queue, self.handle, concurrency=concurrency or self.concurrency, job_timeout_s=self.job_timeout_s
        )


class Worker:
    """Performs the jobs of `queue` by calling `handle`. Call `run` or `run_until_empty` once."""

    def __init__(
        self,
        queue: JobQueue,
        handle: JobHandler,
        name: str = "",
        *,
        concurrency: int = DEFAULT_CONCURRENCY,
        job_timeout_s: float = JOB_TIMEOUT_S,
    ) -> None:
        self.name = name or secrets.token_hex(8)
        self._queue = queue
        self._handle = handle
        self._concurrency = concurrency
        self._job_timeout_s = job_timeout_s
        self._fetch_wait_ms = FETCH_WAIT_MS
        self._job_slots = asyncio.Semaphore(concurrency)
        self._busy_count = 0  # tries that run or wait for a slot
        self._has_capacity = asyncio.Event()  # set while the busy count is below the concurrency
        self._has_capacity.set()
        self._jobs: dict[str, Job] = {}
        self._tasks = asyncio.TaskGroup()
        self._stopping = asyncio.Event()
        self._all_tasks_done = asyncio.Event()
        self.performed_jobs = 0

    def stop(self) -> None:
        """Make `run` return after the jobs in progress. This may be called twice, and from a signal handler."""
        self._stopping.set()

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    async def run(self) -> None:
        """Perform jobs until `stop()`."""
        await self._retry_while_unavailable(self._queue.create_group, None)
        # The heartbeat must precede the first fetch, because other workers claim the jobs of a worker without one.
        await self._retry_while_unavailable(self._send_heartbeat, None)
        async with asyncio.TaskGroup() as outer:
            outer.create_task(self._send_heartbeats())
            async with self._tasks:
                self._tasks.create_task(self._fetch_jobs())
                self._tasks.create_task(self._reclaim_jobs())
            self._all_tasks_done.set()
        await self._retry_while_unavailable(lambda: self._queue.deregister(self.name), 0)

    async def run_until_empty(self) -> bool:
        """Perform jobs until the queue has no unfinished jobs. Return False if the worker was stopped before."""
        self._fetch_wait_ms = 10
        async with asyncio.TaskGroup() as group:
            empty = group.create_task(self._stop_when_empty())
            group.create_task(self.run())
        return empty.result()

    # The tasks of a run

    async def _send_heartbeats(self) -> None:
        interval_s = self._queue.retry_policy.heartbeat_ttl_ms / 1000 * 0.3
        while not await _wait_for_event(self._all_tasks_done, interval_s):
            await self._retry_while_unavailable(self._send_heartbeat, None)

    async def _fetch_jobs(self) -> None:
        no_jobs: list[Job] = []
        while not self.is_stopping:
            await self._has_capacity.wait()
            while len(self._jobs) >= MAX_JOBS_IN_MEMORY and not self.is_stopping:
                await self._pause(0.05)
            if not self.is_stopping:
                for job in await self._retry_while_unavailable(self._fetch_batch, no_jobs):
                    self._start(job)

    async def _fetch_batch(self) -> list[Job]:
        count = max(1, min(self._concurrency - self._busy_count, MAX_JOBS_IN_MEMORY - len(self._jobs)))
        return await self._queue.fetch(self.name, count, self._fetch_wait_ms)

    async def _reclaim_jobs(self) -> None:
        """Reclaim one job at a time. So a job that kills this worker does not raise the tries of other jobs."""
        no_jobs: list[Job] = []
        while not self.is_stopping:
            jobs = await self._retry_while_unavailable(
                lambda: self._queue.reclaim(self.name, job_ids_in_progress=[*self._jobs]), no_jobs
            )
            for job in jobs:
                if job.id not in self._jobs:
                    await self._start(job)
            if not jobs:
                await self._retry_while_unavailable(self._queue.move_waiting_jobs, None)
                await self._pause(self._queue.retry_policy.reclaim_interval_ms / 1000)

    async def _stop_when_empty(self) -> bool:
        while not self.is_stopping:
            if not self._jobs:
                depth = await self._retry_while_unavailable(self._queue.read_depth, None)
                if depth and depth.is_empty:
                    self.stop()
                    return True
            await self._pause(0.01)
        return False

    # One job

    def _start(self, job: Job, postponed: int = 0) -> asyncio.Task[None]:
        self._jobs[job.id] = job
        self._change_busy_count(1)
        return self._tasks.create_task(self._perform(job, postponed))

    async def _perform(self, job: Job, postponed: int) -> None:
        """Perform one try. A retry waits in a separate task, so it blocks no slot."""
        try:
            async with self._job_slots:
                error = await self._attempt(job)
        finally:
            self._change_busy_count(-1)
        if isinstance(error, StoreUnavailable):
            log.warning("job_waits_for_store", job=job.id, error=str(error))
            self._tasks.create_task(self._retry(job, backoff_s(postponed), postponed + 1))
            return
        wait_ms = await self._retry_while_unavailable(lambda: self._record_outcome(job, error), RETRY_IMMEDIATELY_MS)
        if wait_ms is None:
            self._jobs.pop(job.id, None)
        else:
            self._tasks.create_task(self._retry(job, wait_ms / 1000, 0))

    async def _attempt(self, job: Job) -> BaseException | None:
        """Perform and finish `job`; return the error if it failed.

        The job runs in a separate task, so that any error of a handler is returned and cannot end the worker.
        """
        task = asyncio.create_task(self._perform_and_finish(job))
        try:
            await asyncio.wait([task], timeout=self._job_timeout_s)
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait([task])
        if task.cancelled():
            return TimeoutError(f"not done within {self._job_timeout_s:g} s")
        return task.exception()

    async def _perform_and_finish(self, job: Job) -> None:
        started = asyncio.get_running_loop().time()
        with track_nodes() as nodes:
            following = await self._handle(job.payload)
        used_ms = round(1000 * (asyncio.get_running_loop().time() - started))
        # If a server is killed, it must not lose the writes of a job that another server has deleted as finished.
        # The queue's own node needs no check: it would lose the writes and the deletion together.
        await wait_for_aof(nodes, unchecked_nodes=[self._queue.node])
        await self._queue.finish(job, following, used_ms)

    async def _record_outcome(self, job: Job, error: BaseException | None) -> int | None:
        """Return the delay in ms before the next try, or None if the job is finished or a dead letter."""
        if error is None:
            self.performed_jobs += 1
            return None
        if isinstance(error, PermanentFailure):
            await self._queue.move_to_dead_letters(job, format_reason(error))
            return None
        log.warning("job_failed", job=job.id, tries=job.tries, exc_info=error)
        delay_ms = await self._queue.fail(job, format_reason(error))
        if isinstance(error, RetryLater) and delay_ms is not None:
            return max(delay_ms, error.delay_ms)
        return delay_ms

    async def _retry(self, job: Job, wait_s: float, postponed: int) -> None:
        """Try again after `wait_s`. A try that an unavailable store interrupted (`postponed`) is not counted."""
        await self._pause(wait_s)
        renewed = None
        if not self.is_stopping:
            renewed = await self._retry_while_unavailable(
                lambda: self._queue.renew_claim(self.name, job, count_try=not postponed), None
            )
        if renewed is None:
            self._jobs.pop(job.id, None)
        else:
            self._start(renewed, postponed)

    # Private methods

    def _change_busy_count(self, change: int) -> None:
        self._busy_count += change
        if self._busy_count < self._concurrency:
            self._has_capacity.set()
        else:
            self._has_capacity.clear()

    async def _send_heartbeat(self) -> None:
        await self._queue.send_heartbeat(self.name)

    async def _retry_while_unavailable(self, call: Callable[[], Awaitable[T]], otherwise: T) -> T:
        """Await `call` and repeat it while the store is unavailable. Return `otherwise` if the worker stops."""
        attempt = 0
        while True:
            try:
                return await call()
            except StoreUnavailable as error:
                log.warning("worker_waits_for_store", worker=self.name, error=str(error))
            if self.is_stopping:
                return otherwise
            await self._pause(backoff_s(attempt))
            attempt += 1

    async def _pause(self, seconds: float) -> None:
        """Sleep until the time is over or `stop` is called."""
        await _wait_for_event(self._stopping, seconds)


async def _wait_for_event(event: asyncio.Event, seconds: float) -> bool:
    """Wait until the event is set. Return False if it is not set in time."""
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False


def backoff_s(attempt: int) -> float:
    """Return the seconds to wait after failure number `attempt` (from 0).

    They double from 0.05 to 3.2 and are multiplied by a random factor from 0.5 to 1.
    """
    return 0.05 * 2.0 ** min(attempt, 6) * random.uniform(0.5, 1)  # noqa: S311


def format_reason(error: BaseException) -> str:
    """Return the type and message of an error as one line, with control characters escaped."""
    return f"{type(error).__name__}: {error}".encode("unicode_escape").decode()[:MAX_REASON_LENGTH]
