"""A server that restarted before its durability check may have lost the earlier writes.

Those writes are not acknowledged, and their job is performed again.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator, Sequence

import pytest
import pytest_asyncio

from socialsite.migration.store_factory import open_store
from socialsite.recipes.worker import Worker
from socialsite.store import Command, Key, NotDurable, Store, StoreUnavailable, StoreUrls
from socialsite.store.aof import track_nodes, wait_for_aof
from tests.support.queues import open_queue
from tests.support.redis_server import RedisServer
from tests.support.topologies import plain_servers
from tests.support.twemproxy import running_twemproxy
from tests.support.waiting import eventually

WORK = Key("posts", tag="1", name="counts")


@pytest.fixture
def server() -> Iterator[RedisServer]:
    started = RedisServer(aof=True).start()
    yield started
    started.stop()


@pytest_asyncio.fixture
async def store(server: RedisServer) -> AsyncIterator[Store]:
    opened = await open_store(StoreUrls(server.url))
    yield opened
    await opened.close()


def restart(server: RedisServer) -> None:
    server.kill()
    server.start()


async def test_writes_before_a_restart_of_the_server_are_not_acknowledged(store: Store, server: RedisServer) -> None:
    with track_nodes() as nodes:
        await store.execute_all([("SET", WORK, 1)])
    await asyncio.to_thread(restart, server)
    await store.execute_all([("GET", WORK)])
    with pytest.raises(NotDurable):
        await wait_for_aof(nodes)
    with track_nodes() as nodes:
        await store.execute_all([("SET", WORK, 1)])
    await wait_for_aof(nodes)


async def test_a_job_is_performed_again_after_a_restart_of_the_server_of_its_work_and_queue(
    store: Store, server: RedisServer
) -> None:
    queue, node = await open_queue(store), store.node(WORK)
    tries: list[bytes] = []

    async def work(payload: bytes) -> Sequence[bytes]:
        tries.append(payload)
        await store.execute_all([("SET", WORK, payload)])
        if len(tries) == 1:
            disconnects = node.disconnect_count
            await asyncio.to_thread(restart, server)
            await eventually(lambda: node.disconnect_count > disconnects)
        return ()

    await queue.add(b"one")
    assert await asyncio.wait_for(Worker(queue, work).run_until_empty(), 20)
    assert len(tries) == 2


async def test_a_server_that_refused_all_writes_is_not_checked(store: Store) -> None:
    """An example is a server with an append-only file that cannot grow; callers continue without its write."""
    node = store.node(WORK)
    await node.execute("CONFIG", "SET", "min-replicas-to-write", 1)
    with track_nodes() as nodes, contextlib.suppress(StoreUnavailable):
        await store.execute_all([("SET", WORK, 1)])
    assert not nodes


async def test_behind_a_proxy_only_a_server_lost_during_the_writes_fails_the_check() -> None:
    with plain_servers(2) as servers, running_twemproxy(servers) as proxy:
        store = await open_store(proxy.url)
        writes = [("SET", Key("posts", tag=str(n), name="counts"), n) for n in range(20)]
        await store.execute_all(writes)
        servers[0].kill()
        await asyncio.sleep(0.1)  # the proxy notices the closed connection
        with track_nodes() as nodes:
            answers = await asyncio.gather(*(store.execute_all([each]) for each in writes), return_exceptions=True)
        assert {type(each) for each in answers} == {list, StoreUnavailable}
        await wait_for_aof(nodes)
        servers[0].start()
        await asyncio.wait_for(until_written(store, writes), 30)
        await asyncio.gather(*(node.execute("PING") for node in store.nodes))
        with track_nodes() as nodes:
            await store.execute_all(writes)
        servers[0].kill()
        with pytest.raises(StoreUnavailable):
            await wait_for_aof(nodes)
        await store.close()


async def until_written(store: Store, writes: Sequence[Command]) -> None:
    """Repeat the writes until the proxy uses the restarted server again."""
    while True:
        with contextlib.suppress(StoreUnavailable):
            await store.execute_all(writes)
            return
        await asyncio.sleep(0.05)
