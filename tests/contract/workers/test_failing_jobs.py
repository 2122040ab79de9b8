"""Jobs that fail, hang or are invalid are retried, become dead letters, and do not delay other jobs."""

import asyncio
import time
from collections.abc import Sequence

from socialsite.recipes.job import PermanentFailure
from socialsite.recipes.job_queue import JobQueue, RetryPolicy
from socialsite.recipes.worker import Worker
from socialsite.store import StoreUnavailable
from tests.support.stalls import StallMonitor
from tests.support.working import run_until_empty


async def test_a_job_that_fails_at_first_succeeds_later(queue: JobQueue) -> None:
    tries = 0

    async def third_time_lucky(_: bytes) -> Sequence[bytes]:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise RuntimeError("not yet")
        return ()

    await queue.add(b"one")
    await run_until_empty(queue, third_time_lucky)
    assert tries == 3
    assert (await queue.read_depth()).dead == 0


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

    patient = JobQueue(queue._store, retry_policy=RetryPolicy())
    worker = Worker(patient, handle)
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


async def test_an_unavailable_store_costs_a_job_no_tries(queue: JobQueue) -> None:
    tries = 0

    async def away_for_a_while(_: bytes) -> Sequence[bytes]:
        nonlocal tries
        tries += 1
        if tries < 6:
            raise StoreUnavailable("lost the connection")
        return ()

    await queue.add(b"one")
    assert await run_until_empty(queue, away_for_a_while)
    assert (await queue.read_depth()).dead == 0
