"""A server that refuses what the queue asks: it is said, and nothing is made in its place."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import pytest
import pytest_asyncio
import redis

from socialsite.migration.store_factory import open_store
from socialsite.recipes.job_queue import CONSUMER_GROUP, JobQueue
from socialsite.store import CommandRefused, Store, StoreUnavailable
from tests.support.queues import ALICE
from tests.support.redis_server import RedisServer


@contextmanager
def refusing(url: str, command: str) -> Iterator[redis.Redis]:
    """The server refuses this command to everybody, as to users with too few rights."""
    with redis.Redis.from_url(url) as client:
        client.execute_command("ACL", "SETUSER", "default", f"-{command}")
        try:
            yield client
        finally:
            client.execute_command("ACL", "SETUSER", "default", f"+{command}")


@pytest_asyncio.fixture
async def plain(redis_url: str) -> AsyncIterator[Store]:
    opened = await open_store(redis_url)
    yield opened
    await opened.close()


async def test_whoever_may_not_look_for_the_group_makes_none(plain: Store, redis_url: str) -> None:
    queue = JobQueue(plain)
    with refusing(redis_url, "xpending") as client:
        with pytest.raises(CommandRefused, match="NOPERM"):
            await queue.create_group()
        assert client.keys("jobs:*") == []


async def test_a_group_that_may_not_be_made_is_not_taken_for_made(plain: Store, redis_url: str) -> None:
    with refusing(redis_url, "xgroup"), pytest.raises(CommandRefused, match="NOPERM"):
        await JobQueue(plain).create_group()


async def test_a_group_is_made_where_it_is_missing_and_for_no_other_refusal(plain: Store, redis_url: str) -> None:
    queue = JobQueue(plain)
    with refusing(redis_url, "xreadgroup") as client:
        with pytest.raises(CommandRefused, match="NOPERM"):
            await queue.fetch(ALICE, 1, 1)
        assert client.keys("jobs:*") == []
    assert await queue.fetch(ALICE, 1, 1) == []
    with redis.Redis.from_url(redis_url) as client:
        assert [group["name"] for group in client.xinfo_groups(queue.stream_key)] == [CONSUMER_GROUP.encode()]


@pytest.fixture
def own_server() -> Iterator[RedisServer]:
    server = RedisServer().start()
    yield server
    server.stop()


async def test_a_server_that_stands_still_holds_a_taker_as_long_as_it_would_wait_and_no_longer(
    own_server: RedisServer,
) -> None:
    store = await open_store(own_server.url)
    queue = JobQueue(store)
    try:
        await queue.create_group()
        store.node(queue.stream_key)._reply_timeout_s = 0.5
        assert await queue.fetch(ALICE, 1, 1_500) == []  # longer than any reply may take
        os.kill(own_server.pid, signal.SIGSTOP)
        with pytest.raises(StoreUnavailable):
            await asyncio.wait_for(queue.fetch(ALICE, 1, 200), 30)
    finally:
        os.kill(own_server.pid, signal.SIGCONT)
        await store.close()
