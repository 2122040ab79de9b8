"""A server that was killed and is back before anybody looked has forgotten what it held: nothing to look for.

So what was asked of it before is not acknowledged, and a job of it is performed again.
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


async def test_what_a_server_answered_before_its_restart_is_not_acknowledged(store: Store, server: RedisServer) -> None:
    with track_nodes() as nodes:
        await store.gather([("SET", WORK, 1)])
    await asyncio.to_thread(restart, server)
    await store.gather([("GET", WORK)])
    with pytest.raises(NotDurable):
        await wait_for_aof(nodes)
    with track_nodes() as nodes:
        await store.gather([("SET", WORK, 1)])
    await wait_for_aof(nodes)


async def test_a_job_whose_work_and_queue_are_lost_together_amid_it_is_performed_again(
    store: Store, server: RedisServer
) -> None:
    queue = await open_queue(store)
    tries: list[bytes] = []

    async def work(payload: bytes) -> Sequence[bytes]:
        tries.append(payload)
        await store.gather([("SET", WORK, payload)])
        if len(tries) == 1:
            await asyncio.to_thread(restart, server)
        return ()

    await queue.add(b"one")
    assert await asyncio.wait_for(Worker(queue, work).run_until_empty(), 20)
    assert len(tries) == 2


async def test_who_only_refused_has_nothing_to_look_for(store: Store) -> None:
    """As one whose file cannot grow: where the site does without it, so does whoever asked."""
    node = store.node(WORK)
    await node.execute("CONFIG", "SET", "min-replicas-to-write", 1)
    with track_nodes() as nodes, contextlib.suppress(StoreUnavailable):
        await store.gather([("SET", WORK, 1)])
    assert not nodes


async def test_behind_a_proxy_one_that_was_away_before_is_not_missed_and_one_that_goes_amid_is() -> None:
    with plain_servers(2) as servers, running_twemproxy(servers) as proxy:
        store = await open_store(proxy.url)
        writes = [("SET", Key("posts", tag=str(n), name="counts"), n) for n in range(20)]
        await store.gather(writes)
        servers[0].kill()
        await asyncio.sleep(0.1)  # the end of the connection is heard
        with track_nodes() as nodes:
            answers = await asyncio.gather(*(store.gather([each]) for each in writes), return_exceptions=True)
        assert {type(each) for each in answers} == {list, StoreUnavailable}
        await wait_for_aof(nodes)
        servers[0].start()
        await asyncio.wait_for(until_written(store, writes), 30)
        await asyncio.gather(*(node.execute("PING") for node in store.nodes))
        with track_nodes() as nodes:
            await store.gather(writes)
        servers[0].kill()
        with pytest.raises(StoreUnavailable):
            await wait_for_aof(nodes)
        await store.close()


async def until_written(store: Store, writes: Sequence[Command]) -> None:
    """The proxy takes a moment to try a server again."""
    while True:
        with contextlib.suppress(StoreUnavailable):
            await store.gather(writes)
            return
        await asyncio.sleep(0.05)
