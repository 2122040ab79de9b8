"""The reclaim script: the jobs that it takes, their order, and the number of entries that it reads."""

import random

import pytest

from socialsite.recipes.job_queue import CONSUMER_GROUP, RECLAIM, JobQueue
from socialsite.store import Reply, Store
from tests.support.queues import ALICE, BOB, CAROL
from tests.support.scripting import run_command, run_script

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
    claimed_ids = await claimed(store, queue, CAROL, *ids[:held], most=most)
    assert claimed_ids == [ids[-2], *ids[held : held + most - 1]]
