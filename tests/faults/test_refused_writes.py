"""Servers that refuse writes are still read from, also over new connections and by processes that start."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator

import pytest

from socialsite.asgi import application
from socialsite.migration.migration_follower import MigrationFollower
from socialsite.migration.placement_map import Migration, MigrationRoute, PlacementMap, fence_key
from socialsite.migration.placement_registry import PlacementRegistry
from socialsite.migration.store_factory import open_store
from socialsite.startup import open_services
from socialsite.store import Key, Store, StoreUnavailable, StoreUrls
from socialsite.web.services import loop_services
from tests.support.browser import HttpBrowser
from tests.support.ports import free_ports
from tests.support.redis_server import RedisServer
from tests.support.waiting import eventually, wait_until

PAGES = ("/", "/public/", "/@ann/", "/search/?q=before", "/search/complete/?q=@an")
KEY = Key("posts", tag="1", name="post")


@pytest.fixture
def other_server() -> Iterator[RedisServer]:
    with RedisServer() as started:
        yield started


@contextlib.contextmanager
def refusing_writes(server: RedisServer) -> Iterator[None]:
    """Let a master without replicas require one."""
    with server.client() as client:
        client.config_set("min-replicas-to-write", 1)
        try:
            yield
        finally:
            client.config_set("min-replicas-to-write", 0)


@contextlib.contextmanager
def failing_snapshots(server: RedisServer) -> Iterator[None]:
    """Let snapshots fail, as on a full disk (MISCONF)."""
    obstacle = server.directory / "dump.rdb"
    obstacle.mkdir()
    with server.client() as client:
        client.config_set("save", "3600 1")
        client.bgsave()
        wait_until(lambda: client.info("persistence")["rdb_last_bgsave_status"] == "err", "the snapshot to fail")
        try:
            yield
        finally:
            client.config_set("save", "")
            obstacle.rmdir()


@contextlib.contextmanager
def following_another_master(server: RedisServer) -> Iterator[None]:
    """Let the server be a replica, as a master that an operator demoted (READONLY)."""
    with server.client() as client:
        client.replicaof("127.0.0.1", str(free_ports(1)[0]))
        try:
            yield
        finally:
            client.replicaof("NO", "ONE")


def kill_connections(server: RedisServer) -> None:
    with server.client() as client:
        client.client_kill_filter(_type="normal", skipme=True)


@contextlib.asynccontextmanager
async def running_site(urls: StoreUrls | str) -> AsyncIterator[Store]:
    async with open_services(urls) as services:
        loop_services.bind(services)
        yield services.store


async def lease_expires(store: Store) -> None:
    assert isinstance(store.topology_follower, MigrationFollower)
    lease = store.topology_follower.lease
    await eventually(lambda: not lease.is_held)


async def assert_only_reads(browser: HttpBrowser) -> None:
    for path in PAGES:
        answer = await browser.get(path)
        assert answer.status_code == 200, (path, answer.text[:200])
    assert "before" in (await browser.get("/@ann/")).text
    assert (await browser.post_json("/posts/", text="refused")).status_code == 503


async def test_pages_are_read_from_a_master_without_its_replica_after_reconnecting_and_restarting(
    server: RedisServer,
) -> None:
    async with HttpBrowser(application) as browser:
        async with running_site(server.url) as store:
            assert (await browser.sign_up("ann")).status_code == 201
            await browser.publish("before")
            with refusing_writes(server):
                await assert_only_reads(browser)
                await lease_expires(store)
                kill_connections(server)
                await read_after_kill(browser)
                await assert_only_reads(browser)
        with refusing_writes(server):
            async with running_site(server.url):
                await assert_only_reads(browser)
        async with running_site(server.url):
            await browser.publish("afterwards")


async def read_after_kill(browser: HttpBrowser) -> None:
    """Make one request, which may notice that its connection was killed."""
    assert (await browser.get("/public/")).status_code in (200, 503)


@pytest.fixture
async def store(server: RedisServer) -> AsyncIterator[Store]:
    server.client().flushall()
    opened = await open_store(server.url)
    await opened.node(KEY).execute("SET", KEY, "value")
    yield opened
    await opened.close()


async def test_a_connection_without_a_lease_writes_again_once_the_server_accepts_writes(
    server: RedisServer, store: Store
) -> None:
    await store.close()
    with refusing_writes(server):
        restarted = await open_store(server.url)
        node = restarted.node(KEY)
        assert await node.execute("GET", KEY) == b"value"
        for write in (
            node.execute("SET", KEY, "other"),
            node.write_all([("SET", KEY, "other")], 0),
            node.blocking("XREAD", "BLOCK", 1, "STREAMS", KEY, 0, timeout_s=0.1),
        ):
            with pytest.raises(StoreUnavailable, match="NOREPLICAS"):
                await write
    await node.execute("SET", KEY, "later")
    await restarted.close()


@pytest.mark.parametrize(
    ("refusing", "error"), [(failing_snapshots, "MISCONF"), (following_another_master, "READONLY")]
)
async def test_a_process_that_reconnects_reads_from_a_server_that_refuses_writes(
    server: RedisServer,
    store: Store,
    refusing: Callable[[RedisServer], contextlib.AbstractContextManager[None]],
    error: str,
) -> None:
    with refusing(server):
        await lease_expires(store)
        kill_connections(server)
        assert await eventually_reads(store) == b"value"
        with pytest.raises(StoreUnavailable, match=error):
            await store.node(KEY).execute("SET", KEY, "other")
        assert await eventually_reads(store) == b"value"

    async def writes() -> bool:
        with contextlib.suppress(StoreUnavailable):
            await store.node(KEY).execute("SET", KEY, "later")
            return True
        return False

    await eventually(writes)


async def test_nothing_is_read_without_a_lease_while_data_moves(server: RedisServer, store: Store) -> None:
    routes = {"posts": MigrationRoute("", "unix:///nowhere/redis.sock")}
    moving = PlacementMap(1, migration=Migration("a", routes, bytes(64)))
    assert await PlacementRegistry(store.topology("posts")).advance_epoch(moving, 0, "")
    await store.close()
    with refusing_writes(server):
        restarted = await open_store(server.url)
        with pytest.raises(StoreUnavailable, match="NOREPLICAS"):
            await restarted.node(KEY).execute("GET", KEY)
        await restarted.close()


async def test_an_unavailable_store_stops_no_other_store(server: RedisServer, other_server: RedisServer) -> None:
    """The server of the placement map stops; the connections to the server of the posts are killed."""
    server.client().flushall()
    store = await open_store(StoreUrls(server.url, {"posts": other_server.url}))
    node = store.node(KEY)
    await node.execute("SET", KEY, "value")
    try:
        server.kill()
        await lease_expires(store)
        kill_connections(other_server)
        assert await eventually_reads(store) == b"value"
        with pytest.raises(StoreUnavailable):
            await node.execute("SET", KEY, "other")
        with other_server.client() as client:  # as a migration does that this process does not know
            client.set(str(fence_key()), 1)
        kill_connections(other_server)
        with pytest.raises(StoreUnavailable, match="cannot connect"):
            await eventually_reads(store)
    finally:
        await store.close()
        server.start()


async def eventually_reads(store: Store) -> bytes:
    """Read a key; repeat the read if its connection was killed."""
    while True:
        try:
            value: bytes = await store.node(KEY).execute("GET", KEY)
        except StoreUnavailable as error:
            if "lost the connection" not in str(error):
                raise
        else:
            return value


async def test_a_writer_gets_the_error_of_the_server_while_another_task_renews_the_lease(
    server: RedisServer, store: Store
) -> None:
    assert isinstance(store.topology_follower, MigrationFollower)
    lease = store.topology_follower.lease
    renewals: list[asyncio.Task[None]] = []

    async def renew_in_each_turn_of_the_loop() -> None:
        while True:
            renewals.append(asyncio.create_task(lease.renew()))
            await asyncio.sleep(0)

    with following_another_master(server):
        await lease_expires(store)
        renewing = asyncio.create_task(renew_in_each_turn_of_the_loop())
        for _ in range(20):
            with pytest.raises(StoreUnavailable, match="READONLY"):
                await lease.require_held()
        renewing.cancel()
        await asyncio.gather(renewing, *renewals, return_exceptions=True)
