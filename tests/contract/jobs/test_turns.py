"""Senders take turns in the queue: many jobs of one sender do not delay the jobs of others."""

import asyncio

import pytest

from socialsite.container import Services
from socialsite.recipes.job_queue import CONSUMER_GROUP, HEAVY_MS_PER_HOUR, HOUR_MS, MAX_JOBS_PER_SENDER, JobQueue
from socialsite.recipes.job_worker import Worker
from socialsite.store import Store, StoreFull
from tests.support.jobs import ALICE, BOB, take_one, take_payloads
from tests.support.topologies import Deployment

BUSY, OTHER = 1, 2
JOBS = 3 * MAX_JOBS_PER_SENDER


@pytest.fixture
async def heavy(store: Store) -> JobQueue:
    queue = JobQueue(store, is_heavy=True)
    await queue.create_group()
    return queue


async def add_jobs(queue: JobQueue, count: int = JOBS) -> list[bytes]:
    payloads = [b"%d" % number for number in range(count)]
    for payload in payloads:
        await queue.add(payload, sender=BUSY)
    return payloads


async def test_a_job_waits_for_few_jobs_of_another_sender(queue: JobQueue) -> None:
    await add_jobs(queue)
    await queue.add(b"other", sender=OTHER)
    assert (await take_payloads(queue, count=MAX_JOBS_PER_SENDER + 1))[-1] == b"other"


async def test_jobs_of_a_sender_keep_their_order_and_leave_no_key(queue: JobQueue, store: Store) -> None:
    payloads, performed = await add_jobs(queue), []
    for _ in payloads:
        job = await take_one(queue, ALICE)
        performed.append(job.payload)
        assert await queue.finish(job)
    assert performed == payloads
    left = [queue.unfinished_key, queue.waiting_senders_key, queue.waiting_jobs_key(str(BUSY))]
    assert await store.node(queue.stream_key).execute_all([("EXISTS", key) for key in left]) == [0, 0, 0]


async def test_following_jobs_use_the_turns_of_their_sender(queue: JobQueue, store: Store) -> None:
    await add_jobs(queue)
    for _ in range(MAX_JOBS_PER_SENDER):
        assert await queue.finish(await take_one(queue, ALICE), [b"pass"])
        assert await store.node(queue.stream_key).execute("XLEN", queue.stream_key) == MAX_JOBS_PER_SENDER
    await queue.add(b"other", sender=OTHER)
    assert (await take_payloads(queue, count=MAX_JOBS_PER_SENDER + 1))[-1] == b"other"


async def test_a_dead_letter_lets_the_next_job_in(queue: JobQueue) -> None:
    payloads = await add_jobs(queue, MAX_JOBS_PER_SENDER + 1)
    assert await queue.move_to_dead_letters(await take_one(queue, ALICE), "poison")
    assert await take_payloads(queue) == payloads[1:]


async def test_a_job_of_a_dead_worker_lets_the_next_job_in(quick: JobQueue) -> None:
    await quick.create_group()
    payloads = await add_jobs(quick, MAX_JOBS_PER_SENDER + 1)
    await quick.fetch(ALICE, 1, 1)  # no heartbeat: ALICE counts as dead
    (job,) = await quick.reclaim(BOB)
    assert (job.payload, job.sender) == (payloads[0], str(BUSY))
    assert await quick.finish(job)
    assert await take_payloads(quick) == payloads[1:]


async def test_jobs_left_waiting_by_a_worker_of_an_older_release_are_moved(queue: JobQueue, store: Store) -> None:
    payloads = await add_jobs(queue, MAX_JOBS_PER_SENDER + 2)
    node, job = store.node(queue.stream_key), await take_one(queue, ALICE)
    await node.execute_all([("XACK", queue.stream_key, CONSUMER_GROUP, job.id), ("XDEL", queue.stream_key, job.id)])
    await queue.move_waiting_jobs()
    assert await take_payloads(queue) == payloads[1:-1]


async def test_a_worker_performs_all_jobs_after_the_stream_was_lost(quick: JobQueue, store: Store) -> None:
    await add_jobs(quick, MAX_JOBS_PER_SENDER + 2)
    await store.node(quick.stream_key).execute("DEL", quick.stream_key)
    performed: list[bytes] = []

    async def perform(payload: bytes) -> tuple[bytes, ...]:
        performed.append(payload)
        return ()

    assert await Worker(quick, perform).run_until_empty()
    assert performed == [b"%d" % number for number in range(MAX_JOBS_PER_SENDER, MAX_JOBS_PER_SENDER + 2)]


async def test_waiting_jobs_are_counted_and_read_by_audits(queue: JobQueue) -> None:
    payloads = await add_jobs(queue)
    await take_one(queue, ALICE)
    depth = await queue.read_depth()
    assert (depth.waiting, depth.pending) == (JOBS - 1, 1)
    assert depth.oldest_ms >= 0
    assert await queue.read_payloads(1000) == payloads
    assert await queue.read_payloads(MAX_JOBS_PER_SENDER + 1) == payloads[: MAX_JOBS_PER_SENDER + 1]


async def test_a_full_server_refuses_new_jobs_and_moves_waiting_ones(queue: JobQueue, deployment: Deployment) -> None:
    payloads = await add_jobs(queue)
    job = await take_one(queue, ALICE)
    with deployment.configured("maxmemory", 1, usual=0):
        with pytest.raises(StoreFull):
            await queue.add(b"new", sender=BUSY)
        assert await queue.finish(job)
        assert await take_payloads(queue) == payloads[1 : MAX_JOBS_PER_SENDER + 1]


@pytest.mark.parametrize("name", ["media", "previews", "archives", "exports", "slowpictures"])
async def test_a_sender_has_one_job_before_others_in_queues_of_jobs_that_take_seconds(
    services: Services, name: str
) -> None:
    queue = services.background_queues[name].queue
    await queue.create_group()
    await add_jobs(queue, 16)
    await queue.add(b"other", sender=OTHER)
    assert await take_payloads(queue) == [b"0", b"other"]


async def test_all_senders_that_used_their_time_of_an_hour_delay_others_by_one_job(heavy: JobQueue) -> None:
    busy = range(10, 16)
    for sender in busy:
        await heavy.add(b"first", sender=sender)
    for job in await heavy.fetch(ALICE, 100, 1):
        assert await heavy.finish(job, used_ms=HEAVY_MS_PER_HOUR)
    for _ in range(3):
        for sender in busy:
            await heavy.add(b"late", sender=sender)
    await heavy.add(b"other", sender=OTHER)
    late, other = await heavy.fetch(ALICE, 100, 1)
    assert (late.payload, other.payload) == (b"late", b"other")
    await heavy.move_waiting_jobs()
    assert await take_payloads(heavy) == []
    await heavy.finish(late)
    assert await take_payloads(heavy) == []  # the other one's job is not finished yet
    await heavy.finish(other, used_ms=5)
    performed = 0
    while not performed or not (await heavy.read_depth()).is_empty:
        await heavy.move_waiting_jobs()
        (job,) = await heavy.fetch(ALICE, 100, 1)
        performed += await heavy.finish(job, used_ms=5)
    assert performed == 3 * len(busy) - 1


async def test_the_time_of_a_sender_is_counted_for_an_hour(heavy: JobQueue, store: Store) -> None:
    await heavy.add(b"job", sender=BUSY)

    async def perform(payload: bytes) -> tuple[bytes, ...]:
        await asyncio.sleep(0.02)
        return ()

    assert await Worker(heavy, perform).run_until_empty()
    used_ms, ttl_ms = await store.node(heavy.stream_key).execute_all(
        [("GET", heavy.used_key(str(BUSY))), ("PTTL", heavy.used_key(str(BUSY)))]
    )
    assert int(used_ms) >= 20
    assert HOUR_MS - 60_000 < ttl_ms <= HOUR_MS
