"""The job queue on a real server: each step is atomic, so no job is lost."""

import asyncio

import pytest

from socialsite.recipes.job import Job
from socialsite.recipes.job_queue import CONSUMER_GROUP, JobQueue
from socialsite.store import CommandRefused, Store
from socialsite.store.key import KEY_PATTERN
from tests.support.queues import ALICE, BOB, take_one, take_payloads
from tests.support.topologies import Deployment


async def test_jobs_are_fetched_in_their_order(queue: JobQueue) -> None:
    for payload in (b"one", b"two", b"three"):
        await queue.add(payload)
    assert await take_payloads(queue) == [b"one", b"two", b"three"]


async def test_a_job_added_in_a_pipeline_is_fetched(queue: JobQueue, store: Store) -> None:
    await store.execute_all([queue.add_command(b"\x00\xff")])
    assert await take_payloads(queue) == [b"\x00\xff"]


async def test_a_job_is_fetched_by_one_worker(queue: JobQueue) -> None:
    await queue.add(b"one")
    assert await take_payloads(queue, ALICE) == [b"one"]
    assert await take_payloads(queue, BOB) == []


async def test_fetch_waits_for_the_first_job(queue: JobQueue) -> None:
    taking = asyncio.create_task(queue.fetch(ALICE, 5, 20_000))
    await asyncio.sleep(0.05)
    await queue.add(b"late")
    assert [job.payload for job in await asyncio.wait_for(taking, 15)] == [b"late"]


async def test_preparing_twice_changes_nothing(queue: JobQueue) -> None:
    await queue.add(b"one")
    await queue.create_group()
    await queue.create_group()
    assert await take_payloads(queue) == [b"one"]


async def test_jobs_older_than_the_group_are_fetched(store: Store) -> None:
    queue = JobQueue(store)
    await queue.add(b"early")
    assert await take_payloads(queue) == [b"early"]


async def test_the_group_is_created_again_after_the_server_was_emptied(queue: JobQueue, deployment: Deployment) -> None:
    await queue.add(b"lost")
    job = await take_one(queue, ALICE)
    deployment.empty()
    assert not await queue.finish(job)
    assert await queue.reclaim(BOB) == []
    await queue.add(b"new")
    assert await take_payloads(queue) == [b"new"]


async def test_a_finished_job_leaves_no_entry(queue: JobQueue) -> None:
    await queue.add(b"one")
    assert await queue.finish(await take_one(queue, ALICE))
    depth = await queue.read_depth()
    assert depth.is_empty
    assert (depth.waiting, depth.pending, depth.dead, depth.oldest_ms) == (0, 0, 0, 0)


async def test_finishing_adds_the_jobs_that_follow(queue: JobQueue) -> None:
    await queue.add(b"pass 1")
    await queue.finish(await take_one(queue, ALICE), [b"pass 2", b"lists"])
    assert await take_payloads(queue) == [b"pass 2", b"lists"]


async def test_finishing_twice_adds_the_following_jobs_once(queue: JobQueue) -> None:
    await queue.add(b"pass 1")
    job = await take_one(queue, ALICE)
    assert await queue.finish(job, [b"pass 2"])
    assert not await queue.finish(job, [b"pass 2"])
    assert await take_payloads(queue) == [b"pass 2"]


async def test_following_jobs_and_the_end_of_a_job_are_one_step(queue: JobQueue, store: Store) -> None:
    """A concurrent reader always sees a chain of exactly one job."""
    await queue.add(b"pass 0")
    lengths: set[int] = set()

    async def look() -> None:
        while True:
            owed, _ = await store.node(queue.stream_key).transaction(
                [("XLEN", queue.stream_key), ("XPENDING", queue.stream_key, CONSUMER_GROUP)]
            )
            lengths.add(owed)

    looking = asyncio.create_task(look())
    for number in range(200):
        await queue.finish(await take_one(queue, ALICE), [b"pass %d" % (number + 1)])
    looking.cancel()
    assert lengths == {1}


async def test_following_jobs_are_added_while_memory_is_full(queue: JobQueue, deployment: Deployment) -> None:
    await queue.add(b"pass 1")
    job = await take_one(queue, ALICE)
    with deployment.configured("maxmemory", 1, usual=0):
        await queue.send_heartbeat(ALICE)
        await queue.create_group()
        assert await queue.finish(job, [b"pass 2"])
        assert await take_payloads(queue) == [b"pass 2"]


async def test_a_failed_job_is_tried_again_by_its_worker(queue: JobQueue) -> None:
    await queue.add(b"one")
    job = await take_one(queue, ALICE)
    assert await queue.fail(job, "no") == 500
    again = await queue.renew_claim(ALICE, job)
    assert again == Job(job.id, b"one", 2)


async def test_an_uncounted_try_does_not_change_the_number_of_tries(queue: JobQueue) -> None:
    await queue.add(b"one")
    job = await take_one(queue, ALICE)
    assert await queue.renew_claim(ALICE, job, count_try=False) == job
    await queue.deregister(ALICE)
    assert [adopted.tries for adopted in await queue.reclaim(BOB)] == [2]


async def test_a_finished_job_is_not_tried_again(queue: JobQueue) -> None:
    await queue.add(b"one")
    job = await take_one(queue, ALICE)
    await queue.finish(job)
    assert await queue.renew_claim(ALICE, job) is None


async def test_the_depth_distinguishes_waiting_and_pending_jobs(queue: JobQueue) -> None:
    for number in range(5):
        await queue.add(b"%d" % number)
    await queue.fetch(ALICE, 2, 1)
    await asyncio.sleep(0.02)
    depth = await queue.read_depth()
    assert (depth.waiting, depth.pending, depth.dead) == (3, 2, 0)
    assert 20 <= depth.oldest_ms < 5_000


async def test_an_entry_that_is_no_job_has_an_empty_payload(queue: JobQueue, deployment: Deployment) -> None:
    with deployment.holding(queue.stream_key) as client:
        client.xadd(queue.stream_key, {"other": "thing"})
    assert await take_payloads(queue) == [b""]


async def test_queues_do_not_share_their_jobs(queue: JobQueue, store: Store) -> None:
    second_queue = JobQueue(store, "imports")
    await second_queue.create_group()
    await second_queue.add(b"import")
    assert await take_payloads(queue) == []


async def test_all_keys_follow_the_grammar_under_one_tag(queue: JobQueue) -> None:
    keys = [queue.stream_key, queue.dead_letters_key, queue.heartbeat_key(ALICE)]
    assert {key.tag for key in keys} == {"outbox"}
    assert all(KEY_PATTERN.fullmatch(key) for key in keys)


async def test_a_key_of_another_type_is_not_replaced_by_a_queue(store: Store) -> None:
    queue = JobQueue(store)
    await store.node(queue.stream_key).execute("SET", queue.stream_key, "no stream")
    with pytest.raises(CommandRefused, match="WRONGTYPE"):
        await queue.create_group()
