"""The job queue on a real server: nothing is lost between the steps, nothing is done by halves."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from structlog.testing import capture_logs

from socialsite.recipes.job_queue import GROUP, Job, JobQueue, Patience
from socialsite.store import Store, StoreUrls, open_store
from socialsite.store.key import GRAMMAR
from tests.support.topologies import Deployment

ALICE, BOB, CAROL = "a1", "b2", "c3"  # workers
QUICK = Patience(heartbeat_ms=300, stuck_ms=200, lost_ms=50, retry_ms=(10, 20, 30, 40))


@pytest_asyncio.fixture
async def queue(store: Store) -> JobQueue:
    made = JobQueue(store)
    await made.prepare()
    return made


@pytest_asyncio.fixture
async def quick(redis_urls: StoreUrls) -> AsyncIterator[JobQueue]:
    """The same queue without patience, over a connection of its own."""
    store = await open_store(redis_urls)
    yield JobQueue(store, patience=QUICK)
    await store.close()


async def take_one(queue: JobQueue, worker: str) -> Job:
    await queue.beat(worker)
    (job,) = await queue.take(worker, 1, 100)
    return job


async def payloads(queue: JobQueue, worker: str = ALICE, count: int = 100) -> list[bytes]:
    return [job.payload for job in await queue.take(worker, count, 1)]


async def test_jobs_are_taken_in_their_order(queue: JobQueue) -> None:
    for payload in (b"one", b"two", b"three"):
        await queue.add(payload)
    assert await payloads(queue) == [b"one", b"two", b"three"]


async def test_a_job_added_in_a_pipeline_is_taken(queue: JobQueue, store: Store) -> None:
    await store.gather([queue.add_command(b"\x00\xff")])
    assert await payloads(queue) == [b"\x00\xff"]


async def test_a_job_is_taken_by_one_worker(queue: JobQueue) -> None:
    await queue.add(b"one")
    assert await payloads(queue, ALICE) == [b"one"]
    assert await payloads(queue, BOB) == []


async def test_take_waits_for_the_first_job(queue: JobQueue) -> None:
    taking = asyncio.create_task(queue.take(ALICE, 5, 5_000))
    await asyncio.sleep(0.05)
    await queue.add(b"late")
    assert [job.payload for job in await asyncio.wait_for(taking, 1)] == [b"late"]


async def test_preparing_twice_changes_nothing(queue: JobQueue) -> None:
    await queue.add(b"one")
    await queue.prepare()
    await queue.prepare()
    assert await payloads(queue) == [b"one"]


async def test_jobs_older_than_the_group_are_taken(store: Store) -> None:
    queue = JobQueue(store)
    await queue.add(b"early")
    assert await payloads(queue) == [b"early"]


async def test_the_group_comes_back_after_the_server_was_emptied(
    queue: JobQueue, deployment: Deployment
) -> None:
    await queue.add(b"lost")
    job = await take_one(queue, ALICE)
    deployment.empty()
    assert not await queue.finish(job)
    assert await queue.adopt(BOB) == []
    await queue.add(b"new")
    assert await payloads(queue) == [b"new"]


async def test_a_finished_job_leaves_nothing(queue: JobQueue) -> None:
    await queue.add(b"one")
    assert await queue.finish(await take_one(queue, ALICE))
    depth = await queue.depth()
    assert depth.is_empty
    assert (depth.waiting, depth.pending, depth.dead, depth.oldest_ms) == (0, 0, 0, 0)


async def test_finishing_adds_the_jobs_that_follow(queue: JobQueue) -> None:
    await queue.add(b"pass 1")
    await queue.finish(await take_one(queue, ALICE), [b"pass 2", b"lists"])
    assert await payloads(queue) == [b"pass 2", b"lists"]


async def test_finishing_twice_adds_the_following_jobs_once(queue: JobQueue) -> None:
    await queue.add(b"pass 1")
    job = await take_one(queue, ALICE)
    assert await queue.finish(job, [b"pass 2"])
    assert not await queue.finish(job, [b"pass 2"])
    assert await payloads(queue) == [b"pass 2"]


async def test_following_jobs_and_the_end_of_a_job_are_one_step(queue: JobQueue, store: Store) -> None:
    """Whoever looks in between, at any time, sees a chain of exactly one job."""
    await queue.add(b"pass 0")
    lengths: set[int] = set()

    async def look() -> None:
        while True:
            owed, _ = await store.node(queue.stream).transaction(
                [("XLEN", queue.stream), ("XPENDING", queue.stream, GROUP)]
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
        await queue.beat(ALICE)
        await queue.prepare()
        assert await queue.finish(job, [b"pass 2"])
        assert await payloads(queue) == [b"pass 2"]


async def test_jobs_of_a_dead_worker_are_adopted_at_once(queue: JobQueue, deployment: Deployment) -> None:
    await queue.add(b"one")
    await take_one(queue, ALICE)
    with deployment.holding(queue.stream) as client:
        client.delete(queue.heartbeat(ALICE))
    (job,) = await queue.adopt(BOB)
    assert (job.payload, job.tries) == (b"one", 2)
    assert await queue.finish(job)


async def test_jobs_of_a_living_worker_are_left_alone(queue: JobQueue) -> None:
    await queue.add(b"one")
    await take_one(queue, ALICE)
    assert await queue.adopt(BOB) == []


async def test_a_heartbeat_ends_by_itself(queue: JobQueue, quick: JobQueue) -> None:
    await queue.add(b"one")
    await take_one(quick, ALICE)
    assert await quick.adopt(BOB) == []
    await asyncio.sleep(0.35)
    assert len(await quick.adopt(BOB)) == 1


async def test_adopters_that_live_share_what_a_dead_worker_left(queue: JobQueue) -> None:
    for number in range(20):
        await queue.add(b"%d" % number)
    await queue.take(ALICE, 20, 1)
    await queue.beat(BOB)
    await queue.beat(CAROL)
    adopted = await asyncio.gather(*(queue.adopt(worker, count=3) for worker in [BOB, CAROL] * 5))
    ids = [job.id for jobs in adopted for job in jobs]
    assert len(ids) == len(set(ids)) == 20


async def test_a_dead_worker_is_forgotten_once_it_has_nothing_left(
    queue: JobQueue, deployment: Deployment
) -> None:
    await queue.add(b"one")
    await queue.take(ALICE, 1, 1)
    await queue.adopt(BOB)
    with deployment.holding(queue.stream) as client:
        assert [row["name"] for row in client.xinfo_consumers(queue.stream, GROUP)] == [b"b2"]


async def test_a_worker_that_leaves_frees_its_jobs(queue: JobQueue, deployment: Deployment) -> None:
    await queue.add(b"one")
    await take_one(queue, ALICE)
    assert await queue.retire(ALICE) == 1
    (job,) = await queue.adopt(BOB)
    await queue.finish(job)
    assert await queue.retire(BOB) == 0
    with deployment.holding(queue.stream) as client:
        assert client.xinfo_consumers(queue.stream, GROUP) == []


async def test_a_job_forgotten_by_a_living_worker_is_claimed(queue: JobQueue, quick: JobQueue) -> None:
    await queue.add(b"one")
    await take_one(queue, ALICE)  # with the long heartbeat
    assert await quick.adopt(BOB) == []
    await asyncio.sleep(0.25)
    assert [job.payload for job in await quick.adopt(BOB)] == [b"one"]


async def test_a_job_whose_delivery_was_lost_is_found_by_its_own_worker(
    queue: JobQueue, quick: JobQueue
) -> None:
    await queue.add(b"one")
    job = await take_one(queue, ALICE)
    await asyncio.sleep(0.06)
    assert await quick.adopt(ALICE, held=[job.id]) == []
    assert [found.id for found in await quick.adopt(ALICE)] == [job.id]


async def test_a_failed_job_is_tried_again_by_its_worker(queue: JobQueue) -> None:
    await queue.add(b"one")
    job = await take_one(queue, ALICE)
    assert await queue.fail(job, "no") == 500
    again = await queue.again(ALICE, job)
    assert again == Job(job.id, b"one", 2)


async def test_a_try_that_does_not_count_leaves_the_number_of_tries(queue: JobQueue) -> None:
    await queue.add(b"one")
    job = await take_one(queue, ALICE)
    assert await queue.again(ALICE, job, counted=False) == job
    await queue.retire(ALICE)
    assert [adopted.tries for adopted in await queue.adopt(BOB)] == [2]


async def test_a_finished_job_is_not_tried_again(queue: JobQueue) -> None:
    await queue.add(b"one")
    job = await take_one(queue, ALICE)
    await queue.finish(job)
    assert await queue.again(ALICE, job) is None


async def test_the_fifth_failure_buries_a_job(queue: JobQueue) -> None:
    await queue.add(b"poison")
    job: Job | None = await take_one(queue, ALICE)
    waits = []
    while job:
        waits.append(await queue.fail(job, "it hurts"))
        job = await queue.again(ALICE, job)
    assert waits == [500, 1000, 2000, 4000, None]
    (letter,) = await queue.dead_letters(10)
    assert (letter.payload, letter.reason, letter.tries) == (b"poison", "it hurts", 5)
    assert (await queue.depth()).is_empty


async def test_a_job_that_kills_its_workers_is_buried_after_five_tries(quick: JobQueue) -> None:
    await quick.add(b"poison")
    await quick.take("d0", 1, 1)
    tries = 1
    while await quick.adopt(f"d{tries}"):
        tries += 1
        await asyncio.sleep(0.05)  # longer than the longest wait
    assert tries == 5
    (letter,) = await quick.dead_letters(10)
    assert (letter.payload, letter.tries) == (b"poison", 5)
    assert "worker died" in letter.reason


async def test_a_job_that_may_have_killed_twice_waits_before_it_may_again(queue: JobQueue) -> None:
    await queue.add(b"poison")
    await queue.take("d0", 1, 1)
    assert await queue.adopt("d1")
    assert await queue.adopt("d2") == []


async def test_the_adopted_next_to_a_killing_job_keep_their_tries(quick: JobQueue) -> None:
    for payload in (b"poison", b"innocent", b"bystander"):
        await quick.add(payload)
    await quick.take("d0", 3, 1)
    seen: dict[bytes, int] = {}
    for number in range(1, 10):
        await asyncio.sleep(0.05)
        for job in await one_after_another(quick, f"d{number}"):
            seen[job.payload] = job.tries
    assert seen == {b"innocent": 2, b"poison": 5, b"bystander": 2}
    assert [letter.payload for letter in await quick.dead_letters(10)] == [b"poison"]


async def one_after_another(queue: JobQueue, worker: str) -> list[Job]:
    """A worker that adopts jobs until the poison kills it."""
    adopted: list[Job] = []
    while jobs := await queue.adopt(worker):
        adopted += jobs
        if jobs[0].payload == b"poison":
            break
        await queue.finish(jobs[0])
    return adopted


async def test_burying_twice_keeps_one_letter(queue: JobQueue) -> None:
    await queue.add(b"poison")
    job = await take_one(queue, ALICE)
    assert await queue.bury(job, "no")
    assert not await queue.bury(job, "no")
    assert len(await queue.dead_letters(10)) == 1


async def test_a_dead_letter_says_so_loudly(queue: JobQueue) -> None:
    await queue.add(b"secret text")
    job = await take_one(queue, ALICE)
    with capture_logs() as lines:
        await queue.bury(job, "no")
    (line,) = lines
    assert (line["event"], line["log_level"], line["job"]) == ("dead_letter", "error", job.id)
    assert "secret" not in str(line)


async def test_dead_letters_page_from_the_newest(queue: JobQueue) -> None:
    for number in range(5):
        await queue.add(b"%d" % number)
        await queue.bury(await take_one(queue, ALICE), "no")
    first = await queue.dead_letters(2)
    second = await queue.dead_letters(9, cursor=first[-1].id)
    assert [letter.payload for letter in first + second] == [b"4", b"3", b"2", b"1", b"0"]


async def test_a_dead_letter_can_be_tried_anew(queue: JobQueue) -> None:
    await queue.add(b"cured")
    await queue.bury(await take_one(queue, ALICE), "no")
    (letter,) = await queue.dead_letters(1)
    assert await queue.retry_dead(letter.id)
    assert not await queue.retry_dead(letter.id)
    assert (await take_one(queue, ALICE)).tries == 1
    assert await queue.dead_letters(1) == []


async def test_a_dead_letter_can_be_dropped(queue: JobQueue) -> None:
    await queue.add(b"gone")
    await queue.bury(await take_one(queue, ALICE), "no")
    (letter,) = await queue.dead_letters(1)
    assert await queue.drop_dead(letter.id)
    assert not await queue.drop_dead(letter.id)


async def test_only_a_letters_id_names_a_letter(queue: JobQueue) -> None:
    with pytest.raises(ValueError, match="not the id"):
        await queue.retry_dead("*")


async def test_the_depth_tells_waiting_from_pending(queue: JobQueue) -> None:
    for number in range(5):
        await queue.add(b"%d" % number)
    await queue.take(ALICE, 2, 1)
    await asyncio.sleep(0.02)
    depth = await queue.depth()
    assert (depth.waiting, depth.pending, depth.dead) == (3, 2, 0)
    assert 20 <= depth.oldest_ms < 5_000


async def test_an_entry_that_is_no_job_has_an_empty_payload(queue: JobQueue, deployment: Deployment) -> None:
    with deployment.holding(queue.stream) as client:
        client.xadd(queue.stream, {"other": "thing"})
    assert await payloads(queue) == [b""]


async def test_queues_do_not_share_their_jobs(queue: JobQueue, store: Store) -> None:
    other = JobQueue(store, "imports")
    await other.prepare()
    await other.add(b"import")
    assert await payloads(queue) == []


async def test_all_keys_follow_the_grammar_under_one_tag(queue: JobQueue) -> None:
    keys = [queue.stream, queue.dead, queue.heartbeat(ALICE)]
    assert {key.tag for key in keys} == {"outbox"}
    assert all(GRAMMAR.fullmatch(key) for key in keys)
