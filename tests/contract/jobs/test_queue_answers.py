"""Return values of the queue: ids, ages, pages of pending jobs, and dead workers."""

import asyncio
import subprocess

import pytest

from socialsite.recipes.job import Job
from socialsite.recipes.job_queue import CONSUMER_GROUP, JobQueue
from socialsite.recipes.process_identity import process_identity
from socialsite.store import Store
from tests.support.queues import ALICE, BOB, take_one
from tests.support.scripting import run_command

HOUR_MS = 3_600_000


def mark_of_the_dead() -> str:
    """Return the identity of a process of this machine that has ended."""
    place, _, process = process_identity().partition(" ")
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    return f"{place} {ended.pid} {process.rpartition(' ')[2]}"


async def test_a_job_is_known_by_the_id_it_was_added_with(store: Store, queue: JobQueue) -> None:
    added = [await queue.add(b"one"), await queue.add_when_full(b"two")]
    assert [row[0].decode() for row in await run_command(store, "XRANGE", queue.stream_key, "-", "+")] == added
    assert await queue.fetch(ALICE, 9, 1) == [Job(added[0], b"one", 1), Job(added[1], b"two", 1)]


async def test_an_empty_queue_returns_no_jobs(queue: JobQueue) -> None:
    assert await queue.fetch(ALICE, 9, 0) == await queue.reclaim(ALICE) == await queue.read_payloads(9) == []
    assert (await queue.read_depth()).oldest_ms == 0


async def test_tries_may_follow_each_other_within_a_millisecond(queue: JobQueue) -> None:
    await queue.add(b"one")
    job = await take_one(queue, ALICE)
    renewed = await asyncio.gather(*(queue.renew_claim(ALICE, job) for _ in range(50)))
    assert renewed == [Job(job.id, b"one", 2)] * 50


async def test_the_age_of_the_oldest_job_is_exact_to_the_millisecond(store: Store, queue: JobQueue) -> None:
    added_ms = await store.now_ms() - HOUR_MS
    for at_ms in (added_ms, added_ms + 1):
        await run_command(store, "XADD", queue.stream_key, f"{at_ms}-0", "payload", "old")
    for _ in range(3):
        earliest = await store.now_ms() - added_ms
        oldest_ms = (await queue.read_depth()).oldest_ms
        assert earliest - 1 <= oldest_ms <= await store.now_ms() - added_ms + 1
        await asyncio.sleep(0.11)  # to another fraction of the second


async def test_a_clock_that_went_back_makes_no_job_younger_than_new(store: Store, queue: JobQueue) -> None:
    await run_command(store, "XADD", queue.stream_key, f"{await store.now_ms() + HOUR_MS}-0", "payload", "new")
    assert (await queue.read_depth()).oldest_ms == 0


@pytest.mark.parametrize("most", [1, 999, 1000, 1001, 1500, 2000, 2300, 2500, 2501])
async def test_the_number_of_payloads_read_is_limited(store: Store, queue: JobQueue, most: int) -> None:
    owed = [b"%d" % number for number in range(2500)]
    await store.node(queue.stream_key).execute_all([queue.add_command(payload) for payload in owed])
    assert await queue.read_payloads(most) == owed[:most]


async def test_jobs_of_a_killed_worker_on_this_machine_are_reclaimed_before_its_heartbeat_expires(
    store: Store, queue: JobQueue
) -> None:
    await queue.add(b"one")
    await take_one(queue, ALICE)
    assert await queue.reclaim(BOB) == []
    await run_command(store, "SET", queue.heartbeat_key(ALICE), mark_of_the_dead(), "PX", 60_000)
    assert [(job.payload, job.tries) for job in await queue.reclaim(BOB)] == [(b"one", 2)]
    assert await run_command(store, "EXISTS", queue.heartbeat_key(ALICE)) == 0


async def test_a_consumer_with_a_foreign_name_is_not_considered_dead(store: Store, queue: JobQueue) -> None:
    await queue.add(b"one")
    await run_command(store, "XREADGROUP", "GROUP", CONSUMER_GROUP, "an operator", "STREAMS", queue.stream_key, ">")
    assert await queue.reclaim(BOB) == []
    consumers = await run_command(store, "XINFO", "CONSUMERS", queue.stream_key, CONSUMER_GROUP)
    assert [row[1] for row in consumers] == [b"an operator"]


async def test_deregistering_returns_the_number_of_pending_jobs(store: Store, queue: JobQueue) -> None:
    await store.node(queue.stream_key).execute_all([queue.add_command(b"%d" % number) for number in range(3)])
    await queue.fetch(ALICE, 3, 1)
    assert await queue.deregister(ALICE) == 3
    assert await queue.deregister(BOB) == 0
