"""Jobs of dead, deregistered or forgetful workers: reclaiming, its delays, and jobs that kill workers."""

import asyncio

from socialsite.recipes.job import Job
from socialsite.recipes.job_queue import CONSUMER_GROUP, JobQueue
from tests.support.queues import ALICE, BOB, CAROL, take_one
from tests.support.topologies import Deployment


async def test_jobs_of_a_dead_worker_are_reclaimed_immediately(queue: JobQueue, deployment: Deployment) -> None:
    await queue.add(b"one")
    await take_one(queue, ALICE)
    with deployment.holding(queue.stream_key) as client:
        client.delete(queue.heartbeat_key(ALICE))
    (job,) = await queue.reclaim(BOB)
    assert (job.payload, job.tries) == (b"one", 2)
    assert await queue.finish(job)


async def test_jobs_of_a_living_worker_are_left_alone(queue: JobQueue) -> None:
    await queue.add(b"one")
    await take_one(queue, ALICE)
    assert await queue.reclaim(BOB) == []


async def test_a_heartbeat_expires(queue: JobQueue, deployment: Deployment) -> None:
    await queue.add(b"one")
    await take_one(queue, ALICE)
    with deployment.holding(queue.stream_key) as client:
        assert 0 < client.pttl(queue.heartbeat_key(ALICE)) <= queue.retry_policy.heartbeat_ttl_ms
        assert await queue.reclaim(BOB) == []
        client.pexpire(queue.heartbeat_key(ALICE), 1)
    await asyncio.sleep(0.02)
    assert len(await queue.reclaim(BOB)) == 1


async def test_live_workers_share_the_jobs_of_a_dead_worker(queue: JobQueue) -> None:
    for number in range(20):
        await queue.add(b"%d" % number)
    await queue.fetch(ALICE, 20, 1)
    await queue.send_heartbeat(BOB)
    await queue.send_heartbeat(CAROL)
    adopted = await asyncio.gather(*(queue.reclaim(worker, count=3) for worker in [BOB, CAROL] * 5))
    ids = [job.id for jobs in adopted for job in jobs]
    assert len(ids) == len(set(ids)) == 20


async def test_a_dead_worker_without_jobs_is_deregistered(queue: JobQueue, deployment: Deployment) -> None:
    await queue.add(b"one")
    await queue.fetch(ALICE, 1, 1)
    await queue.reclaim(BOB)
    with deployment.holding(queue.stream_key) as client:
        assert [row["name"] for row in client.xinfo_consumers(queue.stream_key, CONSUMER_GROUP)] == [b"b2"]


async def test_a_worker_that_leaves_frees_its_jobs(queue: JobQueue, deployment: Deployment) -> None:
    await queue.add(b"one")
    await take_one(queue, ALICE)
    assert await queue.deregister(ALICE) == 1
    (job,) = await queue.reclaim(BOB)
    await queue.finish(job)
    assert await queue.deregister(BOB) == 0
    with deployment.holding(queue.stream_key) as client:
        assert client.xinfo_consumers(queue.stream_key, CONSUMER_GROUP) == []


async def test_a_job_forgotten_by_a_living_worker_is_claimed(queue: JobQueue, quick: JobQueue) -> None:
    await queue.add(b"one")
    await take_one(queue, ALICE)  # with the long heartbeat
    assert await queue.reclaim(BOB) == []
    await asyncio.sleep(0.25)
    assert [job.payload for job in await quick.reclaim(BOB)] == [b"one"]


async def test_a_job_whose_delivery_was_lost_is_found_by_its_own_worker(queue: JobQueue, quick: JobQueue) -> None:
    await queue.add(b"one")
    job = await take_one(queue, ALICE)
    await asyncio.sleep(0.06)
    assert await quick.reclaim(ALICE, job_ids_in_progress=[job.id]) == []
    assert [found.id for found in await quick.reclaim(ALICE)] == [job.id]


async def test_a_job_that_kills_its_workers_becomes_a_dead_letter_after_five_tries(quick: JobQueue) -> None:
    await quick.add(b"poison")
    await quick.fetch("d0", 1, 1)
    tries = 1
    while await quick.reclaim(f"d{tries}"):
        tries += 1
        await asyncio.sleep(0.05)  # longer than the longest retry delay
    assert tries == 5
    (letter,) = await quick.read_dead_letters(10)
    assert (letter.payload, letter.tries) == (b"poison", 5)
    assert "worker died" in letter.reason


async def test_a_job_that_may_have_killed_two_workers_is_delayed(queue: JobQueue) -> None:
    await queue.add(b"poison")
    await queue.fetch("d0", 1, 1)
    assert await queue.reclaim("d1")
    assert await queue.reclaim("d2") == []


async def test_jobs_reclaimed_with_a_killing_job_keep_their_number_of_tries(quick: JobQueue) -> None:
    for payload in (b"poison", b"innocent", b"bystander"):
        await quick.add(payload)
    await quick.fetch("d0", 3, 1)
    seen: dict[bytes, int] = {}
    for number in range(1, 10):
        await asyncio.sleep(0.05)
        for job in await one_after_another(quick, f"d{number}"):
            seen[job.payload] = job.tries
    assert seen == {b"innocent": 2, b"poison": 5, b"bystander": 2}
    assert [letter.payload for letter in await quick.read_dead_letters(10)] == [b"poison"]


async def one_after_another(queue: JobQueue, worker: str) -> list[Job]:
    """Reclaim and finish jobs as one worker until the poison job ends it."""
    adopted: list[Job] = []
    while jobs := await queue.reclaim(worker):
        adopted += jobs
        if jobs[0].payload == b"poison":
            break
        await queue.finish(jobs[0])
    return adopted
