"""Workers, and how they share the queues."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Sequence

import pytest

from socialsite.admin.labels import LABELS
from socialsite.container import Services
from socialsite.maintenance.key_families import is_backed_up
from socialsite.management.commands.deadletters import JOB_DESCRIPTIONS
from socialsite.migration.store_factory import open_store
from socialsite.recipes.job_queue import OUTBOX, QUEUE_NAMES, JobQueue, RetryPolicy
from socialsite.recipes.job_worker import FETCH_WAIT_MS, Worker
from socialsite.recipes.lock import lock_key
from socialsite.store import Key, Store, StoreUrls
from tests.contract.workers.conftest import QUICK
from tests.support.jobs import RecordingHandler, open_queue, run_until_empty
from tests.support.redis_server import RedisServer
from tests.support.stalls import StallMonitor
from tests.support.stores import opened_store
from tests.support.topologies import Deployment


async def test_a_worker_of_an_empty_queue_ends_immediately(queue: JobQueue) -> None:
    with StallMonitor() as stalls:
        start = time.monotonic()
        assert await run_until_empty(queue, RecordingHandler())
        took_s = time.monotonic() - start
    assert took_s < FETCH_WAIT_MS / 1000 + stalls.total_s  # it waits for no job


async def test_every_job_is_performed_once(queue: JobQueue) -> None:
    ledger = RecordingHandler()
    for number in range(300):
        await queue.add(b"%d" % number)
    await run_until_empty(queue, ledger)
    assert sorted(ledger.performed) == sorted(b"%d" % number for number in range(300))


async def test_following_jobs_are_performed_too(queue: JobQueue) -> None:
    performed = []

    async def walk(payload: bytes) -> Sequence[bytes]:
        performed.append(payload)
        return [b"%d" % (int(payload) - 1)] if int(payload) else []

    await queue.add(b"20")
    await run_until_empty(queue, walk)
    assert performed == [b"%d" % number for number in range(20, -1, -1)]


async def test_jobs_are_performed_concurrently_up_to_the_limit(queue: JobQueue) -> None:
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
    ledgers = [RecordingHandler(), RecordingHandler()]
    for number in range(400):
        await queues[2].add(b"%d" % number)
    await asyncio.gather(*(run_until_empty(queue, ledger) for queue, ledger in zip(queues[:2], ledgers, strict=True)))
    assert all(ledger.performed for ledger in ledgers)
    performed = ledgers[0].performed + ledgers[1].performed
    assert sorted(performed) == sorted(b"%d" % number for number in range(400))


async def test_a_stopped_worker_finishes_its_jobs_and_fetches_no_new_ones(queue: JobQueue) -> None:
    started, performed = asyncio.Event(), RecordingHandler()

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
    await asyncio.wait_for(running, 20)
    assert performed.performed == [b"held"]
    depth = await queue.read_depth()
    assert (depth.waiting, depth.pending) == (1, 0)


async def test_a_stopped_worker_releases_its_retries_immediately(queues: list[JobQueue]) -> None:
    failed, ledger = asyncio.Event(), RecordingHandler()

    async def fail(_: bytes) -> Sequence[bytes]:
        failed.set()
        raise RuntimeError("no")

    patient = JobQueue(queues[0]._store, retry_policy=RetryPolicy(retry_delays_ms=(60_000,)))
    worker = Worker(patient, fail)
    running = asyncio.create_task(worker.run())
    await queues[1].add(b"one")
    await failed.wait()
    worker.stop()
    await asyncio.wait_for(running, 10)  # much shorter than the retry delay of a minute
    assert await run_until_empty(queues[1], ledger)
    assert ledger.performed == [b"one"]


async def test_a_stopped_worker_leaves_no_keys(queue: JobQueue, deployment: Deployment) -> None:
    await queue.add(b"one")
    await run_until_empty(queue, RecordingHandler())
    assert deployment.all_keys() == [queue.stream_key]
    with deployment.holding(queue.stream_key) as client:
        assert client.xinfo_consumers(queue.stream_key, "workers") == []


async def test_run_until_empty_returns_false_if_it_is_stopped_early(queue: JobQueue) -> None:
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
    ledger = RecordingHandler()
    await queues[0].create_group()
    await queues[0].add(b"one")
    await queues[0].send_heartbeat("dead")
    await queues[0].fetch("dead", 1, 1)
    assert await run_until_empty(queues[1], ledger)
    assert ledger.performed == [b"one"]


async def test_every_job_performed_twice_has_the_same_effect(queues: list[JobQueue]) -> None:
    """Two live workers constantly reclaim each other's jobs, because heartbeats expire immediately."""
    rash = RetryPolicy(
        heartbeat_ttl_ms=1, reclaim_interval_ms=1, stuck_after_ms=1, lost_after_ms=1, retry_delays_ms=(5,) * 50
    )
    done: dict[bytes, int] = {}

    async def handle(payload: bytes) -> Sequence[bytes]:
        done[payload] = done.get(payload, 0) + 1
        await asyncio.sleep(0.003)
        name, number = payload.split()
        return [b"%s %d" % (name, int(number) + 1)] if int(number) < 5 else []

    for number in range(20):
        await queues[2].add(b"chain%d 0" % number)
    workers = [Worker(JobQueue(queue._store, retry_policy=rash), handle) for queue in queues[:2]]
    await asyncio.wait_for(asyncio.gather(*(worker.run_until_empty() for worker in workers)), 20)
    assert set(done) == {b"chain%d %d" % (chain, step) for chain in range(20) for step in range(6)}
    assert (await queues[2].read_depth()).dead == 0
    assert sum(done.values()) > len(done)  # some jobs were performed twice, and no chain was duplicated
    assert sum(worker.performed_jobs for worker in workers) >= len(done)


async def test_a_worker_stopped_while_its_store_is_unavailable_ends() -> None:
    server = RedisServer().start()
    store = await open_store(server.url)
    ledger = RecordingHandler()
    try:
        queue = JobQueue(store, retry_policy=QUICK)
        worker = Worker(queue, ledger)
        running = asyncio.create_task(worker.run())
        await queue.add(b"one")
        await ledger.wait_for(b"one")
        server.kill()
        await asyncio.sleep(1)  # it has noticed the loss several times
        worker.stop()
        await asyncio.wait_for(running, 10)
    finally:
        await store.close()
        server.stop()


WORK = Key("posts", tag="1", name="counts")


@pytest.fixture
def elsewhere() -> Iterator[RedisServer]:
    with RedisServer(aof=True) as server:
        yield server


@pytest.fixture
async def store(elsewhere: RedisServer, redis_url: str) -> AsyncIterator[Store]:
    async with opened_store(StoreUrls(elsewhere.url, {"jobs": redis_url})) as opened:
        yield opened


@pytest.fixture
async def own_queue(store: Store) -> JobQueue:
    return await open_queue(store)


async def test_a_job_is_performed_again_if_a_server_lost_its_writes(
    store: Store, own_queue: JobQueue, elsewhere: RedisServer
) -> None:
    tries: list[bytes] = []
    lost = asyncio.Event()

    async def work(payload: bytes) -> Sequence[bytes]:
        await store.execute_all([("SET", WORK, payload)])
        tries.append(payload)
        if len(tries) == 1:
            await asyncio.to_thread(elsewhere.kill)
            lost.set()
        return ()

    await own_queue.add(b"one")
    worker = Worker(own_queue, work)
    draining = asyncio.create_task(worker.run_until_empty())
    await lost.wait()
    await asyncio.sleep(0.1)
    assert (await own_queue.read_depth()).pending == 1
    await asyncio.to_thread(elsewhere.start)
    assert await asyncio.wait_for(draining, 20)
    assert tries[0] == tries[-1] == b"one"
    assert len(tries) == 2
    with elsewhere.client() as client:
        assert client.get(str(WORK)) == b"one"


async def test_the_queues_own_server_is_not_checked_for_durability(own_queue: JobQueue) -> None:
    """If this server loses the job's writes, it also loses the end of the job."""

    async def work(_: bytes) -> Sequence[bytes]:
        await own_queue.read_depth()
        return ()

    for number in range(20):
        await own_queue.add(b"%d" % number)
    await own_queue.node.execute("CONFIG", "RESETSTAT")
    assert await run_until_empty(own_queue, work)
    assert b"cmdstat_info" not in await own_queue.node.execute("INFO", "commandstats")


async def test_each_queue_of_the_container_is_known_everywhere(services: Services) -> None:
    names = services.background_queues.keys()
    assert names <= {*QUEUE_NAMES}
    assert names <= LABELS["queue"].keys()
    assert names - {OUTBOX} <= LABELS["job"].keys()
    assert names - {OUTBOX} <= JOB_DESCRIPTIONS.keys()


async def test_the_jobs_of_each_queue_are_in_a_backup_but_heartbeats_and_locks_are_not(services: Services) -> None:
    for each in services.background_queues.values():
        for key in (each.queue.stream_key, each.queue.dead_letters_key, each.queue.waiting_jobs_key("7")):
            assert is_backed_up(key)
        assert not is_backed_up(each.queue.heartbeat_key("abad1dea"))
    assert not is_backed_up(lock_key("mailer"))


async def test_a_worker_of_each_queue_tries_a_job_no_longer_than_others_leave_it(services: Services) -> None:
    for each in services.background_queues.values():
        assert each.job_timeout_s * 1_000 < each.queue.retry_policy.stuck_after_ms
