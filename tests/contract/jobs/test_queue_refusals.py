"""A server that refuses the queue's commands: the queue raises and creates nothing."""

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
from socialsite.recipes.worker import Worker
from socialsite.store import CommandRefused, Key, Store, StoreUnavailable
from tests.support.models import mostly_nightly
from tests.support.queues import ALICE, FAST_RETRY_POLICY
from tests.support.redis_server import RedisServer
from tests.support.waiting import eventually

TRIES = 6  # more than a failing job has


@contextmanager
def refusing(url: str, command: str) -> Iterator[redis.Redis]:
    """Refuse this command to all users, as for a user without permission."""
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


async def test_a_user_without_permission_to_read_the_group_creates_none(plain: Store, redis_url: str) -> None:
    queue = JobQueue(plain)
    with refusing(redis_url, "xpending") as client:
        with pytest.raises(CommandRefused, match="NOPERM"):
            await queue.create_group()
        assert client.keys("jobs:*") == []


async def test_a_refused_group_creation_is_an_error(plain: Store, redis_url: str) -> None:
    with refusing(redis_url, "xgroup"), pytest.raises(CommandRefused, match="NOPERM"):
        await JobQueue(plain).create_group()


async def test_the_group_is_created_only_if_it_is_missing(plain: Store, redis_url: str) -> None:
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


async def test_fetching_from_a_paused_server_ends_with_its_deadline(
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


@pytest.mark.parametrize("command", mostly_nightly(["incr", "xreadgroup", "xpending", "evalsha"], 2))
async def test_a_worker_waits_for_a_missing_right_and_gives_no_job_up(
    plain: Store, redis_url: str, command: str
) -> None:
    """The right of a job's own command, of fetching, of finishing in a script, and of scripts as such."""
    queue, key = JobQueue(plain, retry_policy=FAST_RETRY_POLICY), Key("jobs", tag="outbox", name="performed")

    async def perform(payload: bytes) -> tuple[bytes, ...]:
        await plain.node(key).execute("INCR", key)
        return ()

    worker = Worker(queue, perform)
    async with asyncio.TaskGroup() as tasks:
        with refusing(redis_url, command) as client:
            client.acl_log_reset()
            await plain.node(key).execute_all([queue.add_command(b"job")])
            tasks.create_task(worker.run())
            await eventually(lambda: any(int(row["count"]) > TRIES for row in client.acl_log()), 20)
        await eventually(lambda: client.get(key), 20)
        worker.stop()
    assert (await queue.read_depth()).dead == 0
