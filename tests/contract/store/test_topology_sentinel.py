"""Sentinel: the store finds the master, follows a failover, and never writes to an old master."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterator

import pytest
import redis
from django_redis.cache import RedisCache

from socialsite.migration.store_factory import open_store
from socialsite.settings_parsers import build_cache_settings
from socialsite.store import CommandRefused, Key, Node, Store, StoreError, StoreUnavailable
from socialsite.store.pubsub import CONNECTION_LOST, Subscription
from tests.support.connections import SilentServer, assert_no_open_connections, cancel_at_every_step
from tests.support.nodes import numbered_key
from tests.support.sentinel import MASTER_NAME, SentinelDeployment
from tests.support.stores import opened_store

FAILOVER_WITHIN_S = 30.0
"""A failover takes two seconds; Sentinels without processor time repeat their election."""


@contextlib.contextmanager
def running_deployment() -> Iterator[SentinelDeployment]:
    started = SentinelDeployment()
    try:
        started.start()
        yield started
    finally:
        started.stop()


@pytest.fixture
def site() -> Iterator[SentinelDeployment]:
    with running_deployment() as started:
        yield started


@pytest.fixture(scope="module")
def shared_site() -> Iterator[SentinelDeployment]:
    """A deployment for the tests that fail no server over."""
    with running_deployment() as started:
        yield started


@pytest.fixture
async def store(site: SentinelDeployment) -> AsyncIterator[Store]:
    async with opened_store(site.url) as opened:
        yield opened


class Writer:
    """Write one key after another, as services do, and record the acknowledged writes."""

    def __init__(self, node: Node, replicas: int = 0) -> None:
        self._node = node
        self._replicas = replicas
        self.acknowledged: list[int] = []
        self.errors: list[StoreError] = []
        self._task = asyncio.create_task(self._write())

    async def _write(self) -> None:
        number = 0
        while True:
            number += 1
            command = ("SET", numbered_key(number), number)
            try:
                if self._replicas:
                    await self._node.write_all([command], self._replicas)
                else:
                    await self._node.execute(*command)
                self.acknowledged.append(number)
            except StoreError as error:
                self.errors.append(error)
            await asyncio.sleep(0.005)

    async def until_it_goes_on(self) -> None:
        """Wait until more writes are acknowledged."""
        before, end = len(self.acknowledged), time.monotonic() + FAILOVER_WITHIN_S
        while len(self.acknowledged) <= before + 10:
            assert time.monotonic() < end, self.errors[-3:]
            await asyncio.sleep(0.02)

    async def stop(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def lost(self) -> list[int]:
        replies = await self._node.execute_all([("GET", numbered_key(number)) for number in self.acknowledged])
        return [number for number, reply in zip(self.acknowledged, replies, strict=True) if reply is None]


async def test_the_master_named_by_sentinel_is_used(store: Store, site: SentinelDeployment) -> None:
    (node,) = store.nodes
    await node.execute("SET", numbered_key(1), "a")
    assert store.node(numbered_key(1)) is node
    with site.master.client() as client:
        assert client.get(numbered_key(1)) == b"a"


async def test_a_planned_failover_is_followed(store: Store, site: SentinelDeployment) -> None:
    (node,) = store.nodes
    writer = Writer(node)
    await writer.until_it_goes_on()
    await asyncio.to_thread(site.failover)
    await writer.until_it_goes_on()
    await writer.stop()
    assert all(isinstance(error, StoreUnavailable) for error in writer.errors)
    with site.master.client() as client:
        assert client.get(numbered_key(writer.acknowledged[-1])) == b"%d" % writer.acknowledged[-1]


async def test_a_killed_master_loses_no_write_confirmed_by_its_replica(store: Store, site: SentinelDeployment) -> None:
    (node,) = store.nodes
    confirmed, others = Writer(node, replicas=1), Writer(node)
    await confirmed.until_it_goes_on()
    await asyncio.sleep(0.5)
    await confirmed.stop()
    site.master.kill()
    await others.until_it_goes_on()
    await others.stop()
    assert await confirmed.lost() == []
    assert not [error for error in others.errors if isinstance(error, CommandRefused)]


async def test_an_isolated_master_is_never_written_to_again(store: Store, site: SentinelDeployment) -> None:
    """It is paused, a replica is promoted, and it resumes with the role of a master for a moment."""
    (node,) = store.nodes
    old = site.master
    writer = Writer(node)
    await writer.until_it_goes_on()
    site.freeze(old)
    try:
        await writer.until_it_goes_on()
    finally:
        site.unfreeze(old)
    await asyncio.sleep(0.5)
    await writer.until_it_goes_on()
    await writer.stop()
    with site.other(old).client() as client:
        assert client.get(numbered_key(writer.acknowledged[-1])) is not None
    assert await writer.lost() == []


async def test_a_listener_reports_the_gap_and_receives_messages_of_the_new_master(
    store: Store, site: SentinelDeployment
) -> None:
    (node,) = store.nodes
    channel = Key("live", tag="l1", name="events")
    listening = Subscription(node, [channel])
    await listening.open()
    await node.execute("SPUBLISH", channel, "before")
    assert await listening.receive() == b"before"
    site.master.kill()
    async with asyncio.timeout(FAILOVER_WITHIN_S):
        assert await listening.receive() is CONNECTION_LOST
        heard: bytes | None = None
        while heard != b"after":  # a promotion closes connections again, which is another gap
            with contextlib.suppress(StoreUnavailable):
                if heard is CONNECTION_LOST:
                    await listening.open()
                await node.execute("SPUBLISH", channel, "after")
            with contextlib.suppress(TimeoutError):
                heard = await asyncio.wait_for(listening.receive(), 0.2)
    listening.close()


async def test_a_waiting_command_fails_as_unavailable_and_not_as_a_defect(
    store: Store, site: SentinelDeployment
) -> None:
    (node,) = store.nodes
    writer = Writer(node)  # during traffic the node checks whether the master is still the master
    empty = Key("jobs", tag="outbox", name="list")
    waiting = asyncio.create_task(node.blocking("BLPOP", empty, 60, timeout_s=60))
    await asyncio.sleep(0.2)
    await asyncio.to_thread(site.failover)
    with pytest.raises(StoreUnavailable):
        await waiting
    await writer.stop()


async def test_an_unknown_master_name_is_an_error_at_the_start(shared_site: SentinelDeployment) -> None:
    with pytest.raises(StoreUnavailable, match="names a master 'other': start them, or correct the URL"):
        await open_store(shared_site.url.replace(MASTER_NAME, "other"))


async def test_a_cancelled_start_leaves_no_connection_to_the_master(site: SentinelDeployment) -> None:
    master = site.master
    async with assert_no_open_connections(master.client):
        site.freeze(master)
        starting = asyncio.create_task(open_store(site.url))
        await asyncio.sleep(0.3)  # shorter than Sentinel's down-after time
        starting.cancel()
        await asyncio.wait([starting])
        site.unfreeze(master)
        await cancel_at_every_step(lambda: open_store(site.url))


async def test_sentinels_that_do_not_answer_are_skipped(shared_site: SentinelDeployment) -> None:
    store = await open_store(shared_site.url.replace("://", "://127.0.0.1:1,"))
    assert await store.now_ms() > 0
    await store.close()
    with pytest.raises(StoreUnavailable, match=r"no Sentinel at 127\.0\.0\.1:1 names"):
        await open_store(f"redis+sentinel://127.0.0.1:1/{MASTER_NAME}")


async def test_paused_sentinels_receive_one_query_at_a_time(shared_site: SentinelDeployment) -> None:
    """A check starts every second, and skipping three paused sentinels takes longer."""
    async with SilentServer() as one, SilentServer() as other, SilentServer() as third:
        places = ",".join(each.place for each in (one, other, third))
        store = await open_store(shared_site.url.replace("://", f"://{places},"))
        (node,) = store.nodes
        until = asyncio.get_running_loop().time() + 2.5
        while asyncio.get_running_loop().time() < until:
            await node.execute("PING")
            assert len(looks()) <= 2  # the lease has its own node
            await asyncio.sleep(0.02)
        await store.close()
        assert not looks()
        for silent in (one, other, third):
            await silent.wait_until_abandoned()


def looks() -> list[asyncio.Task[object]]:
    """Return the running checks of the master's role."""
    return [task for task in asyncio.all_tasks() if "SentinelNode._look" in repr(task.get_coro())]


async def test_sentinels_have_their_own_login(shared_site: SentinelDeployment) -> None:
    for port in shared_site.ports:
        with redis.Redis(port=port) as sentinel:
            sentinel.execute_command("ACL", "SETUSER", "feed", "on", ">word", "+sentinel|master")
    store = await open_store(f"{shared_site.url}?sentinel_username=feed&sentinel_password=word")
    assert await store.now_ms() > 0
    await store.close()
    with pytest.raises(StoreUnavailable, match="names a master"):
        await open_store(f"{shared_site.url}?sentinel_username=feed&sentinel_password=other")


async def test_djangos_cache_uses_the_login_and_the_database_of_the_store(shared_site: SentinelDeployment) -> None:
    for server in shared_site.servers:
        with server.client() as client:
            client.acl_setuser("app", enabled=True, passwords=["+p@ss#word"], keys=["*"], categories=["+@all"])
    url = shared_site.url.replace("://", "://app:p%40ss%23word@") + "?db=3"
    async with opened_store(url) as store:
        await store.node(numbered_key(1)).execute("SET", numbered_key(1), "1")
    options = build_cache_settings(url, is_explicit=False)["default"]
    await asyncio.to_thread(RedisCache(options["LOCATION"], options).set, "key", "value")
    with shared_site.master.client() as client:
        client.select(3)
        assert {*client.keys("*:1:key"), *client.keys(numbered_key(1))} == {b"cache:1:key", numbered_key(1).encode()}
