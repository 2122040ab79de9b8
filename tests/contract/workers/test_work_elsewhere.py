"""A job that writes to another server than its queue's is finished after that server's file has the writes.

tests/faults/test_slow_disk.py tests this with kill -9 during a slow fsync.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence

import pytest
import pytest_asyncio

from socialsite.migration.store_factory import open_store
from socialsite.recipes.job_queue import JobQueue
from socialsite.recipes.worker import Worker
from socialsite.store import Key, Store, StoreUrls
from tests.support.queues import open_queue
from tests.support.redis_server import RedisServer
from tests.support.working import run_until_empty

WORK = Key("posts", tag="1", name="counts")


@pytest.fixture
def elsewhere() -> Iterator[RedisServer]:
    server = RedisServer(aof=True).start()
    yield server
    server.stop()


@pytest_asyncio.fixture
async def store(elsewhere: RedisServer, redis_url: str) -> AsyncIterator[Store]:
    opened = await open_store(StoreUrls(elsewhere.url, {"jobs": redis_url}))
    yield opened
    await opened.close()


@pytest_asyncio.fixture
async def queue(store: Store) -> JobQueue:
    return await open_queue(store)


async def test_a_job_is_performed_again_if_a_server_lost_its_writes(
    store: Store, queue: JobQueue, elsewhere: RedisServer
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

    await queue.add(b"one")
    worker = Worker(queue, work)
    draining = asyncio.create_task(worker.run_until_empty())
    await lost.wait()
    await asyncio.sleep(0.1)
    assert (await queue.read_depth()).pending == 1
    await asyncio.to_thread(elsewhere.start)
    assert await asyncio.wait_for(draining, 20)
    assert tries[0] == tries[-1] == b"one"
    assert len(tries) == 2
    with elsewhere.client() as client:
        assert client.get(str(WORK)) == b"one"


async def test_the_queues_own_server_is_not_checked_for_durability(queue: JobQueue) -> None:
    """If this server loses the job's writes, it also loses the end of the job."""

    async def work(_: bytes) -> Sequence[bytes]:
        await queue.read_depth()
        return ()

    for number in range(20):
        await queue.add(b"%d" % number)
    await queue.node.execute("CONFIG", "RESETSTAT")
    assert await run_until_empty(queue, work)
    assert b"cmdstat_info" not in await queue.node.execute("INFO", "commandstats")
