"""Failing jobs, and the bounds of a worker: time and retries."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
import redis
from structlog.testing import capture_logs

from socialsite.migration.store_factory import open_store
from socialsite.recipes.job import Job, PermanentFailure
from socialsite.recipes.job_queue import JobQueue, RetryPolicy
from socialsite.recipes.job_worker import JobHandler, Worker
from socialsite.store import StoreUnavailable
from tests.contract.workers.conftest import QUICK
from tests.support.jobs import RecordingHandler, run_until_empty
from tests.support.redis_server import RedisServer
from tests.support.stalls import StallMonitor

NEVER_MS = 600_000


class Gate:
    """A handler that waits until `open` is set."""

    def __init__(self) -> None:
        self.begun: list[bytes] = []
        self.open = asyncio.Event()

    async def __call__(self, payload: bytes) -> Sequence[bytes]:
        self.begun.append(payload)
        await self.open.wait()
        return ()


class Failing:
    """A handler that never succeeds and records the time of each try."""

    def __init__(self, error: Exception) -> None:
        self._error = error
        self.tried_s: list[float] = []

    async def __call__(self, _: bytes) -> Sequence[bytes]:
        self.tried_s.append(time.monotonic())
        raise self._error


@asynccontextmanager
async def running(queue: JobQueue, handle: JobHandler, concurrency: int = 8) -> AsyncIterator[Worker]:
    worker = Worker(queue, handle, concurrency=concurrency)
    task = asyncio.create_task(worker.run())
    yield worker
    worker.stop()
    await asyncio.wait_for(task, 10)


async def add_at_once(queue: JobQueue, count: int) -> None:
    """Add the jobs in one transaction, so that a waiting worker fetches all of them together."""
    commands = [queue.add_command(b"%d" % number) for number in range(count)]
    await queue._store.node(queue.stream_key).transaction(commands)


async def taken(queue: JobQueue, count: int) -> int:
    """Return the number of pending jobs 200 ms after it reached `count`."""
    async with asyncio.timeout(20):
        while (await queue.read_depth()).pending < count:  # noqa: ASYNC110 - a server's condition
            await asyncio.sleep(0.01)
    await asyncio.sleep(0.2)
    return (await queue.read_depth()).pending


async def test_a_worker_has_a_name_and_counts_its_performed_jobs(queue: JobQueue) -> None:
    assert Worker(queue, RecordingHandler(), "abc").name == "abc"
    worker = Worker(queue, RecordingHandler())
    assert re.fullmatch(r"[0-9a-f]{16}", worker.name)
    assert worker.performed_jobs == 0
    for number in range(3):
        await queue.add(b"%d" % number)
    assert await worker.run_until_empty()
    assert worker.performed_jobs == 3


@pytest.mark.parametrize("concurrency", [1, 2, 3])
async def test_jobs_that_cannot_be_performed_yet_are_left_to_others(queue: JobQueue, concurrency: int) -> None:
    gate = Gate()
    gate.open.set()
    await queue.create_group()
    async with running(queue, gate, concurrency) as worker:
        await add_at_once(queue, 4)
        async with asyncio.timeout(20):
            while worker.performed_jobs < 4:  # noqa: ASYNC110 - the worker sends no signal
                await asyncio.sleep(0.01)
        gate.open.clear()
        await queue.add(b"first")
        await taken(queue, 1)
        await add_at_once(queue, 6)
        assert await taken(queue, concurrency) == concurrency
        assert len(gate.begun) == 4 + concurrency
        gate.open.set()


async def test_the_number_of_jobs_in_memory_is_limited(queue: JobQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socialsite.recipes.job_worker.MAX_JOBS_IN_MEMORY", 3)
    patient = JobQueue(queue._store, retry_policy=RetryPolicy(retry_delays_ms=(NEVER_MS,)))
    failing = Failing(RuntimeError("no"))
    await queue.create_group()
    async with running(patient, failing):
        await add_at_once(queue, 2)
        assert await taken(queue, 2) == 2
        await add_at_once(queue, 5)
        assert await taken(queue, 3) == 3
        assert len(failing.tried_s) == 3


async def test_a_failed_job_is_tried_again_after_its_wait_and_not_before(queue: JobQueue) -> None:
    failing = Failing(RuntimeError("no"))
    waits = RetryPolicy(retry_delays_ms=(400, 100), reclaim_interval_ms=50)
    await queue.add(b"one")
    assert await run_until_empty(JobQueue(queue._store, retry_policy=waits), failing)
    first, second, third = failing.tried_s
    assert second - first > 0.39
    assert third - second > 0.09


async def test_a_job_that_another_worker_finished_is_not_tried_again(queue: JobQueue) -> None:
    failing = Failing(RuntimeError("no"))
    slow = JobQueue(queue._store, retry_policy=RetryPolicy(retry_delays_ms=(1_000,)))
    job = Job(await queue.add(b"one"), b"one", 1)
    draining = asyncio.create_task(run_until_empty(slow, failing))
    assert await taken(queue, 1) == 1
    assert await queue.finish(job)
    assert await draining
    assert len(failing.tried_s) == 1


async def test_retries_of_a_job_with_an_unavailable_store_become_rarer(queue: JobQueue) -> None:
    failing = Failing(StoreUnavailable("away"))
    await queue.add(b"one")
    async with running(queue, failing):
        await asyncio.sleep(1)
    assert 1 <= len(failing.tried_s) <= 8


async def test_a_worker_sends_heartbeats_from_before_its_first_job_until_after_its_last(queue: JobQueue) -> None:
    heart = JobQueue(queue._store, retry_policy=RetryPolicy(heartbeat_ttl_ms=2_000))
    beats: list[int] = []
    names: list[str] = []

    async def watch(_: bytes) -> Sequence[bytes]:
        key = heart.heartbeat_key(names[0])
        for _ in range(26):
            beats.append(await heart._store.node(key).execute("EXISTS", key))
            await asyncio.sleep(0.1)
        return ()

    worker = Worker(heart, watch)
    names.append(worker.name)
    await queue.add(b"one")
    with StallMonitor() as stalls:
        assert await asyncio.wait_for(worker.run_until_empty(), 20)
    assert beats == [1] * 26 or stalls.total_s > 1  # it sends a heartbeat every 0.6 s


async def test_an_idle_worker_reclaims_at_the_configured_interval(redis_url: str) -> None:
    store = await open_store(redis_url)
    queue, every_s = JobQueue(store, retry_policy=RetryPolicy(reclaim_interval_ms=400)), 0.4
    with redis.Redis.from_url(redis_url) as client:
        started = time.monotonic()
        async with running(queue, RecordingHandler()):
            client.config_resetstat()
            await asyncio.sleep(2)
            looks = client.info("commandstats")["cmdstat_xinfo|consumers"]["calls"]
        assert 1 <= looks <= (time.monotonic() - started) / every_s + 1
    await store.close()


async def test_retries_to_an_unavailable_store_become_rarer(own_server: RedisServer) -> None:
    store = await open_store(own_server.url)
    ledger = RecordingHandler()
    try:
        queue = JobQueue(store, retry_policy=QUICK)
        await queue.add(b"one")
        async with running(queue, ledger):
            await ledger.wait_for(b"one")
            own_server.kill()
            with capture_logs() as lines:
                await asyncio.sleep(1.2)
    finally:
        await store.close()
    waits = [line for line in lines if line["event"] == "worker_waits_for_store"]
    assert 1 <= len(waits) <= 30


async def test_a_job_that_always_fails_becomes_a_dead_letter_after_five_tries(queue: JobQueue) -> None:
    tries = 0

    async def fail(_: bytes) -> Sequence[bytes]:
        nonlocal tries
        tries += 1
        raise RuntimeError("it \x1b[31mhurts\n")

    await queue.add(b"poison")
    assert await run_until_empty(queue, fail)
    (letter,) = await queue.read_dead_letters(10)
    assert tries == letter.tries == 5
    assert letter.reason == r"RuntimeError: it \x1b[31mhurts\n"


async def test_an_undecodable_job_becomes_a_dead_letter_without_another_try(queue: JobQueue) -> None:
    async def decode(payload: bytes) -> Sequence[bytes]:
        if payload != b"good":
            raise PermanentFailure("not a job")
        return ()

    for payload in (b"\xff\x00", b"", b"good"):
        await queue.add(payload)
    await run_until_empty(queue, decode)
    assert [(letter.payload, letter.tries) for letter in await queue.read_dead_letters(10)] == [
        (b"", 1),
        (b"\xff\x00", 1),
    ]


async def test_an_invalid_result_of_a_handler_is_a_failure(queue: JobQueue) -> None:
    async def confused(_: bytes) -> Sequence[bytes]:
        return [None]  # type: ignore[list-item]

    await queue.add(b"one")
    await run_until_empty(queue, confused)
    assert (await queue.read_depth()).dead == 1


async def test_a_job_that_never_ends_is_cancelled_and_becomes_a_dead_letter(queue: JobQueue) -> None:
    async def hang(_: bytes) -> Sequence[bytes]:
        await asyncio.sleep(60)
        return ()

    await queue.add(b"hang")
    await asyncio.wait_for(Worker(queue, hang, job_timeout_s=0.05).run_until_empty(), 20)
    (letter,) = await queue.read_dead_letters(1)
    assert letter.reason == "TimeoutError: not done within 0.05 s"


async def test_failing_jobs_delay_other_jobs_by_less_than_a_second(queue: JobQueue) -> None:
    """Half of all jobs always fail, with the retry delays of production."""
    added: dict[bytes, float] = {}
    delays, done = [], asyncio.Event()

    async def handle(payload: bytes) -> Sequence[bytes]:
        if payload.startswith(b"poison"):
            raise RuntimeError("no")
        delays.append(time.monotonic() - added[payload])
        if len(delays) == 100:
            done.set()
        return ()

    worker = Worker(JobQueue(queue._store, retry_policy=RetryPolicy()), handle)
    running = asyncio.create_task(worker.run())
    with StallMonitor() as stalls:
        for number in range(100):
            await queue.add(b"poison %d" % number)
            added[b"%d" % number] = time.monotonic()
            await queue.add(b"%d" % number)
        await done.wait()
    worker.stop()
    await running
    assert max(delays) < 1 + stalls.total_s


@pytest.mark.parametrize(
    ("error", "failures"), [(RuntimeError("not yet"), 2), (StoreUnavailable("lost the connection"), 5)]
)
async def test_a_job_that_fails_at_first_succeeds_later_and_an_unavailable_store_costs_no_tries(
    queue: JobQueue, error: Exception, failures: int
) -> None:
    tries = 0

    async def fail_at_first(_: bytes) -> Sequence[bytes]:
        nonlocal tries
        tries += 1
        if tries <= failures:
            raise error
        return ()

    await queue.add(b"one")
    assert await run_until_empty(queue, fail_at_first)
    assert tries == failures + 1
    assert (await queue.read_depth()).dead == 0
