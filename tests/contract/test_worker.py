"""The worker on a real server: everything gets done, whatever a single job does."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence

import pytest_asyncio

from socialsite.recipes.job_queue import JobQueue, JobRefused, Patience
from socialsite.recipes.worker import TAKE_WAIT_MS, Handle, Worker
from socialsite.store import StoreUnavailable, StoreUrls, open_store
from tests.support.stalls import Stalls
from tests.support.topologies import Deployment

QUICK = Patience(heartbeat_ms=400, adopt_ms=50, stuck_ms=2_000, lost_ms=300, retry_ms=(10, 20, 30, 40))


class Ledger:
    """A handler that notes what it performed."""

    def __init__(self) -> None:
        self.performed: list[bytes] = []

    async def __call__(self, payload: bytes) -> Sequence[bytes]:
        self.performed.append(payload)
        return ()


@pytest_asyncio.fixture
async def queues(redis_urls: StoreUrls) -> AsyncIterator[list[JobQueue]]:
    """Three views of one queue, each over a store of its own, as processes have them."""
    stores = [await open_store(redis_urls) for _ in range(3)]
    yield [JobQueue(store, patience=QUICK) for store in stores]
    for store in stores:
        await store.close()


@pytest_asyncio.fixture
async def queue(queues: list[JobQueue]) -> JobQueue:
    return queues[0]


async def drain(queue: JobQueue, handle: Handle) -> bool:
    return await asyncio.wait_for(Worker(queue, handle).run_until_empty(), 10)


async def test_an_empty_queue_is_done_at_once(queue: JobQueue) -> None:
    with Stalls() as stalls:
        start = time.monotonic()
        assert await drain(queue, Ledger())
        took_s = time.monotonic() - start
    assert took_s < TAKE_WAIT_MS / 1000 + stalls.total_s  # it waits for nobody's job


async def test_every_job_is_performed_once(queue: JobQueue) -> None:
    ledger = Ledger()
    for number in range(300):
        await queue.add(b"%d" % number)
    await drain(queue, ledger)
    assert sorted(ledger.performed) == sorted(b"%d" % number for number in range(300))


async def test_following_jobs_are_performed_too(queue: JobQueue) -> None:
    performed = []

    async def walk(payload: bytes) -> Sequence[bytes]:
        performed.append(payload)
        return [b"%d" % (int(payload) - 1)] if int(payload) else []

    await queue.add(b"20")
    await drain(queue, walk)
    assert performed == [b"%d" % number for number in range(20, -1, -1)]


async def test_several_jobs_are_performed_at_once_but_not_too_many(queue: JobQueue) -> None:
    now, most = 0, 0

    async def slow(_: bytes) -> Sequence[bytes]:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.01)
        now -= 1
        return ()

    for number in range(40):
        await queue.add(b"%d" % number)
    await Worker(queue, slow, concurrency=4).run_until_empty()
    assert most == 4


async def test_two_workers_share_the_work(queues: list[JobQueue]) -> None:
    ledgers = [Ledger(), Ledger()]
    for number in range(400):
        await queues[2].add(b"%d" % number)
    await asyncio.gather(*(drain(queue, ledger) for queue, ledger in zip(queues[:2], ledgers, strict=True)))
    assert all(ledger.performed for ledger in ledgers)
    performed = ledgers[0].performed + ledgers[1].performed
    assert sorted(performed) == sorted(b"%d" % number for number in range(400))


async def test_a_job_that_fails_at_first_succeeds_later(queue: JobQueue) -> None:
    tries = 0

    async def third_time_lucky(_: bytes) -> Sequence[bytes]:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise RuntimeError("not yet")
        return ()

    await queue.add(b"one")
    await drain(queue, third_time_lucky)
    assert tries == 3
    assert (await queue.depth()).dead == 0


async def test_a_job_that_always_fails_is_buried_after_five_tries(queue: JobQueue) -> None:
    tries = 0

    async def fail(_: bytes) -> Sequence[bytes]:
        nonlocal tries
        tries += 1
        raise RuntimeError("it \x1b[31mhurts\n")

    await queue.add(b"poison")
    assert await drain(queue, fail)
    (letter,) = await queue.dead_letters(10)
    assert tries == letter.tries == 5
    assert letter.reason == r"RuntimeError: it \x1b[31mhurts\n"


async def test_what_cannot_be_decoded_is_buried_without_another_try(queue: JobQueue) -> None:
    async def decode(payload: bytes) -> Sequence[bytes]:
        if payload != b"good":
            raise JobRefused("not a job")
        return ()

    for payload in (b"\xff\x00", b"", b"good"):
        await queue.add(payload)
    await drain(queue, decode)
    assert [(letter.payload, letter.tries) for letter in await queue.dead_letters(10)] == [
        (b"", 1),
        (b"\xff\x00", 1),
    ]


async def test_a_handler_that_answers_nonsense_is_a_failure(queue: JobQueue) -> None:
    async def confused(_: bytes) -> Sequence[bytes]:
        return [None]  # type: ignore[list-item]

    await queue.add(b"one")
    await drain(queue, confused)
    assert (await queue.depth()).dead == 1


async def test_a_job_that_never_ends_is_cut_off_and_buried(queue: JobQueue) -> None:
    async def hang(_: bytes) -> Sequence[bytes]:
        await asyncio.sleep(60)
        return ()

    await queue.add(b"hang")
    await asyncio.wait_for(Worker(queue, hang, job_limit_s=0.05).run_until_empty(), 5)
    (letter,) = await queue.dead_letters(1)
    assert letter.reason == "TimeoutError: not done within 0.05 s"


async def test_poison_delays_others_by_less_than_a_second(queue: JobQueue) -> None:
    """Half of all jobs always fail; the worker waits as long for their tries as it would at work."""
    added: dict[bytes, float] = {}
    delays, done = [], asyncio.Event()

    async def handle(payload: bytes) -> Sequence[bytes]:
        if payload.startswith(b"poison"):
            raise RuntimeError("no")
        delays.append(time.monotonic() - added[payload])
        if len(delays) == 100:
            done.set()
        return ()

    patient = JobQueue(queue._store, patience=Patience())
    worker = Worker(patient, handle)
    running = asyncio.create_task(worker.run())
    with Stalls() as stalls:
        for number in range(100):
            await queue.add(b"poison %d" % number)
            added[b"%d" % number] = time.monotonic()
            await queue.add(b"%d" % number)
        await done.wait()
    worker.stop()
    await running
    assert max(delays) < 1 + stalls.total_s


async def test_a_store_that_is_away_costs_a_job_no_tries(queue: JobQueue) -> None:
    tries = 0

    async def away_for_a_while(_: bytes) -> Sequence[bytes]:
        nonlocal tries
        tries += 1
        if tries < 6:
            raise StoreUnavailable("lost the connection")
        return ()

    await queue.add(b"one")
    assert await drain(queue, away_for_a_while)
    assert (await queue.depth()).dead == 0


async def test_a_stopped_worker_finishes_what_it_holds_and_takes_nothing_new(queue: JobQueue) -> None:
    started, performed = asyncio.Event(), Ledger()

    async def slow(payload: bytes) -> Sequence[bytes]:
        started.set()
        await asyncio.sleep(0.2)
        return await performed(payload)

    worker = Worker(queue, slow, concurrency=1)
    running = asyncio.create_task(worker.run())
    await queue.add(b"held")
    await started.wait()
    worker.stop()
    await queue.add(b"new")
    await asyncio.wait_for(running, 5)
    assert performed.performed == [b"held"]
    depth = await queue.depth()
    assert (depth.waiting, depth.pending) == (1, 0)


async def test_a_stopped_worker_leaves_its_retries_to_others_at_once(queues: list[JobQueue]) -> None:
    failed, ledger = asyncio.Event(), Ledger()

    async def fail(_: bytes) -> Sequence[bytes]:
        failed.set()
        raise RuntimeError("no")

    patient = JobQueue(queues[0]._store, patience=Patience(retry_ms=(60_000,)))
    worker = Worker(patient, fail)
    running = asyncio.create_task(worker.run())
    await queues[1].add(b"one")
    await failed.wait()
    worker.stop()
    await asyncio.wait_for(running, 10)  # far from the minute after which it would try again
    assert await drain(queues[1], ledger)
    assert ledger.performed == [b"one"]


async def test_a_worker_leaves_no_trace(queue: JobQueue, deployment: Deployment) -> None:
    await queue.add(b"one")
    await drain(queue, Ledger())
    assert deployment.all_keys() == [queue.stream]
    with deployment.holding(queue.stream) as client:
        assert client.xinfo_consumers(queue.stream, "workers") == []


async def test_a_drain_stopped_early_says_so(queue: JobQueue) -> None:
    async def hang(_: bytes) -> Sequence[bytes]:
        await asyncio.sleep(0.3)
        raise RuntimeError("no")

    await queue.add(b"one")
    worker = Worker(queue, hang)
    draining = asyncio.create_task(worker.run_until_empty())
    await asyncio.sleep(0.1)
    worker.stop()
    assert not await draining


async def test_a_drain_waits_for_the_jobs_of_other_workers(queues: list[JobQueue]) -> None:
    ledger = Ledger()
    await queues[0].prepare()
    await queues[0].add(b"one")
    await queues[0].beat("dead")
    await queues[0].take("dead", 1, 1)
    assert await drain(queues[1], ledger)
    assert ledger.performed == [b"one"]


async def test_every_job_performed_twice_has_the_same_effect(queues: list[JobQueue]) -> None:
    """Two live workers steal each other's jobs all the time (nobody is believed to be alive)."""
    rash = Patience(heartbeat_ms=1, adopt_ms=1, stuck_ms=1, lost_ms=1, retry_ms=(5,) * 50)
    done: dict[bytes, int] = {}

    async def handle(payload: bytes) -> Sequence[bytes]:
        done[payload] = done.get(payload, 0) + 1
        await asyncio.sleep(0.003)
        name, number = payload.split()
        return [b"%s %d" % (name, int(number) + 1)] if int(number) < 5 else []

    for number in range(20):
        await queues[2].add(b"chain%d 0" % number)
    workers = [Worker(JobQueue(queue._store, patience=rash), handle) for queue in queues[:2]]
    await asyncio.wait_for(asyncio.gather(*(worker.run_until_empty() for worker in workers)), 20)
    assert set(done) == {b"chain%d %d" % (chain, step) for chain in range(20) for step in range(6)}
    assert (await queues[2].depth()).dead == 0
    assert sum(done.values()) > len(done)  # some were performed twice, and no chain became two
    assert sum(worker.performed for worker in workers) >= len(done)
