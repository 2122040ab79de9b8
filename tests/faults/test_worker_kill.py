"""Workers killed with -9, jobs that kill them, and a server that disappears under them."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from socialsite.migration.store_factory import open_store
from socialsite.recipes.job_queue import JobQueue
from socialsite.recipes.job_worker import Worker
from socialsite.store import Store
from tests.support.jobs import open_queue
from tests.support.redis_server import RedisServer, pause_until_aof_written
from tests.support.stalls import StallMonitor
from tests.support.waiting import eventually
from tests.support.worker_processes import WordHandler, WorkerPool

CHAINS, STEPS = 40, 10
EVERY_STEP = {f"chain {chain} {step} {STEPS}" for chain in range(CHAINS) for step in range(STEPS + 1)}


@pytest.fixture
def lasting_server() -> Iterator[RedisServer]:
    """A server with an append-only file, so that its data survive a restart."""
    with RedisServer(aof=True) as server:
        yield server


@pytest.fixture
async def queue(store: Store) -> JobQueue:
    return await open_queue(store)


@pytest.fixture
async def lasting_queue(lasting_server: RedisServer) -> AsyncIterator[JobQueue]:
    store = await open_store(lasting_server.url)
    yield await open_queue(store)
    await store.close()


async def settled(queue: JobQueue, within_s: float) -> None:
    """Wait until no job is pending."""
    async with asyncio.timeout(within_s):
        while not (await queue.read_depth()).is_empty:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def start_chains(queue: JobQueue) -> None:
    for chain in range(CHAINS):
        await queue.add(f"chain {chain} 0 {STEPS}".encode(), sender=chain % 2)  # so that most chains wait for a turn


async def test_another_worker_reclaims_the_job_of_a_killed_worker_at_once(
    queue: JobQueue, redis_url: str, tmp_path: Path
) -> None:
    await queue.add(b"slow 60000 long")
    async with WorkerPool(redis_url, tmp_path, 1) as crew:
        await eventually(lambda: bool(crew.lines), timeout_s=90)

        async def notice(payload: bytes) -> list[bytes]:
            noticed.set()
            return []

        noticed = asyncio.Event()
        heir = Worker(queue, notice)
        running = asyncio.create_task(heir.run())
        await asyncio.sleep(0.3)
        with StallMonitor() as stalls:
            killed = time.monotonic()
            assert crew.kill_random_worker()
            await asyncio.wait_for(noticed.wait(), 20)
            noticed_s = time.monotonic() - killed
        assert noticed_s < 1 + stalls.total_s
        heir.stop()
        await running
    assert (await queue.read_depth()).is_empty


@pytest.mark.slow
async def test_every_job_is_performed_although_workers_are_constantly_killed(
    queue: JobQueue, redis_url: str, tmp_path: Path
) -> None:
    async with WorkerPool(redis_url, tmp_path, 3) as crew:
        await start_chains(queue)
        for number in range(12):
            await asyncio.sleep(0.3)
            await queue.add(b"slow 100 %d" % number)
            await eventually(crew.kill_random_worker, timeout_s=90)
        await settled(queue, 60)
    assert (await queue.read_depth()).dead == 0
    assert set(crew.performed) >= EVERY_STEP
    assert set(crew.performed) >= {f"slow 100 {number}" for number in range(12)}


@pytest.mark.slow
async def test_a_job_that_kills_workers_becomes_a_dead_letter_and_delays_others_little(
    queue: JobQueue, redis_server: RedisServer, tmp_path: Path
) -> None:
    added_ms: dict[str, int] = {}
    began = time.monotonic()
    async with WorkerPool(redis_server.url, tmp_path, 3) as crew:
        await eventually(lambda: heartbeats(redis_server) == 3, timeout_s=90)
        start_ms = (time.monotonic() - began) * 1000
        with StallMonitor() as stalls:
            for number in range(160):
                name = f"slow 5 {number}"
                added_ms[name] = time.time_ns() // 1_000_000
                await queue.add(name.encode())
                if number == 20:
                    await queue.add(b"die")
                    await queue.add(b"fail")
                    await queue.add(b"\xff\xfe")
                await asyncio.sleep(0.05)
            await settled(queue, 60)
        lines = crew.lines
    letters = {letter.payload: letter.tries for letter in await queue.read_dead_letters(10)}
    # The other jobs of a killed worker fail once with the killing job: then that job is tried alone.
    assert letters.pop(b"\xff\xfe") <= 2
    assert letters == {b"die": 5, b"fail": 5}
    assert Counter(line.payload for line in lines)["die"] == 5
    first = {line.payload: line.at_ms for line in reversed(lines)}
    delays = sorted(first[name] - at_ms for name, at_ms in added_ms.items())
    print(f"delay of others: median {delays[len(delays) // 2]} ms, worst {delays[-1]} ms")
    # A busy machine takes longer to restart workers.
    assert delays[-1] < max(1_000, 2 * start_ms) + 1000 * stalls.total_s


def heartbeats(server: RedisServer) -> int:
    with server.client() as client:
        return len(client.keys("jobs:*:worker:*"))


@pytest.mark.slow
async def test_a_server_killed_and_started_again_stops_nothing(
    lasting_server: RedisServer, lasting_queue: JobQueue, tmp_path: Path
) -> None:
    """Kill the server three times while chains run; its append-only file has all acknowledged jobs."""
    handler = WordHandler(str(tmp_path / "ledger"))
    store = await open_store(lasting_server.url)

    async def slowly(payload: bytes) -> list[bytes]:
        await asyncio.sleep(0.02)
        return list(await handler(payload))

    worker = Worker(JobQueue(store), slowly, concurrency=4)
    await start_chains(lasting_queue)
    running = asyncio.create_task(worker.run())
    for _ in range(3):
        await asyncio.sleep(0.4)
        await asyncio.to_thread(pause_until_aof_written, lasting_server.client())
        await asyncio.to_thread(lasting_server.kill)
        await asyncio.sleep(0.3)
        await asyncio.to_thread(lasting_server.start)
    await settled(lasting_queue, 30)
    worker.stop()
    await running
    await store.close()
    assert set(WorkerPool(lasting_server.url, tmp_path, 0).performed) == EVERY_STEP
    assert (await lasting_queue.read_depth()).dead == 0
