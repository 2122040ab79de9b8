"""Claims of jobs, the jobs of processes that died, and dead letters."""

import asyncio
import random

import pytest
from structlog.testing import capture_logs

from socialsite.recipes.job import Job
from socialsite.recipes.job_queue import CONSUMER_GROUP, RECLAIM, JobQueue
from socialsite.store import Reply, Store
from tests.support.jobs import ALICE, BOB, CAROL, take_one
from tests.support.nodes import run_command, run_script
from tests.support.topologies import Deployment

AT_ONCE = "0"

"""Delays in ms by number of tries; a job that may have killed one worker is claimed without delay."""


async def taken(queue: JobQueue, worker: str, count: int) -> list[str]:
    """Add `count` jobs, fetch them as the worker, and return their ids."""
    for number in range(count):
        await queue.add(b"%d" % number)
    return [job.id for job in await queue.fetch(worker, count, 1)]


async def tried(store: Store, queue: JobQueue, worker: str, id: str, times: int) -> None:
    await run_command(store, "XCLAIM", queue.stream_key, CONSUMER_GROUP, worker, 0, id, "RETRYCOUNT", times)


async def claim(store: Store, queue: JobQueue, owner: str, *held: str, most: int = 100, waits: str = AT_ONCE) -> Reply:
    """Run the reclaim script as CAROL for jobs of any idle time."""
    place = [queue.stream_key, queue.heartbeat_key(owner or CAROL)]
    return await run_script(store, RECLAIM, place, CONSUMER_GROUP, CAROL, owner, 0, most, waits, *held)


async def claimed(
    store: Store, queue: JobQueue, owner: str, *held: str, most: int = 100, waits: str = AT_ONCE
) -> list[str]:
    return [row[0].decode() for row in await claim(store, queue, owner, *held, most=most, waits=waits)]


async def test_a_worker_with_a_new_heartbeat_keeps_its_jobs(store: Store, queue: JobQueue) -> None:
    """A worker may send a heartbeat between the search for dead workers and the claim."""
    ids = await taken(queue, ALICE, 2)
    await queue.send_heartbeat(ALICE)
    assert await claim(store, queue, ALICE) == []
    await run_command(store, "DEL", queue.heartbeat_key(ALICE))
    assert await claim(store, queue, ALICE) == [[id.encode(), 2, b"%d" % n, b""] for n, id in enumerate(ids)]


async def test_a_claim_takes_the_jobs_of_one_owner_or_of_all_owners(store: Store, queue: JobQueue) -> None:
    of_alice, of_bob = await taken(queue, ALICE, 2), await taken(queue, BOB, 2)
    await queue.send_heartbeat(BOB)
    assert await claimed(store, queue, ALICE) == of_alice
    assert await claimed(store, queue, "") == of_bob + of_alice  # the jobs with the fewest tries first


@pytest.mark.parametrize("position", range(3))
async def test_excluded_ids_are_left_alone_in_any_position(store: Store, queue: JobQueue, position: int) -> None:
    ids = await taken(queue, CAROL, 4)
    excluded_ids = [id for id in ids if id != ids[position]]
    assert await claimed(store, queue, CAROL, *excluded_ids) == [ids[position]]


async def test_each_number_of_tries_has_its_own_delay(store: Store, queue: JobQueue) -> None:
    ids = await taken(queue, ALICE, 4)
    for times, id in enumerate(ids, start=1):
        await tried(store, queue, ALICE, id, times)
    an_hour = 3_600_000
    assert await claimed(store, queue, ALICE, waits=f"{an_hour},0,{an_hour},0") == [ids[1], ids[3]]
    assert await claimed(store, queue, ALICE, waits=f"0,{an_hour},{an_hour},0") == [ids[0]]
    assert await claimed(store, queue, ALICE, waits="0,0,0,0") == [ids[2]]


@pytest.mark.parametrize("seed", range(8))
async def test_jobs_are_claimed_by_fewest_tries_then_by_age(store: Store, queue: JobQueue, seed: int) -> None:
    chance = random.Random(seed)
    ids = await taken(queue, ALICE, 5 + 5 * seed)
    tries = {id: chance.randint(1, 1 + seed % 4) for id in ids}
    for id, times in tries.items():
        await tried(store, queue, ALICE, id, times)
    rows = await claim(store, queue, ALICE)
    expected = sorted(ids, key=lambda id: (tries[id], ids.index(id)))
    assert [(row[0].decode(), row[1]) for row in rows] == [(id, tries[id] + 1) for id in expected]


@pytest.mark.parametrize("held", [0, 110])
@pytest.mark.parametrize("most", [1, 3])
async def test_a_claim_reads_a_hundred_entries_beyond_its_limit_and_the_excluded_ids(
    store: Store, queue: JobQueue, held: int, most: int
) -> None:
    """Excluded ids therefore hide no other job, and the read stays bounded for a dead worker's backlog."""
    ids = await taken(queue, CAROL, held + most + 101)
    for id in ids[:-2]:
        await tried(store, queue, CAROL, id, 2)
    assert (await claimed(store, queue, CAROL, *ids[:held], most=most)) == [ids[-2], *ids[held : held + most - 1]]


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


async def test_the_fifth_failure_makes_a_job_a_dead_letter(queue: JobQueue) -> None:
    await queue.add(b"poison")
    job: Job | None = await take_one(queue, ALICE)
    waits = []
    while job:
        waits.append(await queue.fail(job, "it hurts"))
        job = await queue.renew_claim(ALICE, job)
    assert waits == [500, 1000, 2000, 4000, None]
    (letter,) = await queue.read_dead_letters(10)
    assert (letter.payload, letter.reason, letter.tries) == (b"poison", "it hurts", 5)
    assert (await queue.read_depth()).is_empty


async def test_a_repeated_move_stores_one_dead_letter(queue: JobQueue) -> None:
    await queue.add(b"poison")
    job = await take_one(queue, ALICE)
    assert await queue.move_to_dead_letters(job, "no")
    assert not await queue.move_to_dead_letters(job, "no")
    assert len(await queue.read_dead_letters(10)) == 1


async def test_a_dead_letter_is_logged_as_an_error(queue: JobQueue) -> None:
    await queue.add(b"secret text")
    job = await take_one(queue, ALICE)
    with capture_logs() as lines:
        await queue.move_to_dead_letters(job, "no")
    (line,) = lines
    assert (line["event"], line["log_level"], line["job"]) == ("dead_letter", "error", job.id)
    assert "secret" not in str(line)


async def test_dead_letters_are_paged_newest_first(queue: JobQueue) -> None:
    for number in range(5):
        await queue.add(b"%d" % number)
        await queue.move_to_dead_letters(await take_one(queue, ALICE), "no")
    first = await queue.read_dead_letters(2)
    second = await queue.read_dead_letters(9, cursor=first[-1].id)
    assert [letter.payload for letter in first + second] == [b"4", b"3", b"2", b"1", b"0"]


async def test_a_dead_letter_can_be_retried(queue: JobQueue) -> None:
    await queue.add(b"cured")
    await queue.move_to_dead_letters(await take_one(queue, ALICE), "no")
    (letter,) = await queue.read_dead_letters(1)
    assert await queue.retry_dead_letter(letter.id)
    assert not await queue.retry_dead_letter(letter.id)
    assert (await take_one(queue, ALICE)).tries == 1
    assert await queue.read_dead_letters(1) == []


async def test_a_dead_letter_can_be_dropped(queue: JobQueue) -> None:
    await queue.add(b"gone")
    await queue.move_to_dead_letters(await take_one(queue, ALICE), "no")
    (letter,) = await queue.read_dead_letters(1)
    assert await queue.delete_dead_letter(letter.id)
    assert not await queue.delete_dead_letter(letter.id)


async def test_an_unknown_id_names_no_dead_letter(queue: JobQueue) -> None:
    with pytest.raises(ValueError, match="not the id"):
        await queue.retry_dead_letter("*")
