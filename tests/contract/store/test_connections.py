"""Connections that are lost, and connections with TLS."""

import asyncio
import contextlib
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from functools import partial

import pytest

from socialsite.migration.commands import MigrationSite, migrate
from socialsite.migration.store_factory import open_store
from socialsite.recipes.job_worker import Worker
from socialsite.startup import NotUsable, open_services
from socialsite.store import InvalidStoreUrl, Key, NotDurable, Store, StoreUnavailable, StoreUrls
from socialsite.store.aof import track_nodes, wait_for_aof
from socialsite.store.factory import create_topology
from socialsite.store.pubsub import Subscription
from tests.support.certificates import Certificates
from tests.support.jobs import open_queue
from tests.support.ports import free_ports
from tests.support.redis_server import RedisServer
from tests.support.stores import opened_store
from tests.support.topologies import plain_servers
from tests.support.twemproxy import running_twemproxy
from tests.support.waiting import eventually, repeat_while_refused, wait_until

WORK = Key("posts", tag="1", name="counts")


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with RedisServer(aof=True) as started:
        yield started


@pytest.fixture
async def store(server: RedisServer) -> AsyncIterator[Store]:
    async with opened_store(StoreUrls(server.url)) as opened:
        yield opened


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
    await store.node(WORK).execute("CONFIG", "SET", "min-replicas-to-write", 1)
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
        await asyncio.wait_for(repeat_while_refused(lambda: store.execute_all(writes), StoreUnavailable), 30)
        await asyncio.gather(*(node.execute("PING") for node in store.nodes))
        with track_nodes() as nodes:
            await store.execute_all(writes)
        servers[0].kill()
        with pytest.raises(StoreUnavailable):
            await wait_for_aof(nodes)
        await store.close()


KEYS = [Key("posts", tag=str(number), name="post") for number in range(40)]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


@contextlib.contextmanager
def servers(certificates: Certificates, count: int, *options: str) -> Iterator[list[tuple[RedisServer, int]]]:
    """Run servers that listen by TLS only (and on a socket, for the test)."""
    running: list[tuple[RedisServer, int]] = []
    try:
        for port in free_ports(count):
            server = RedisServer(
                options=(*certificates.server_options(port), "--repl-diskless-sync-delay", "0", *options)
            )
            running.append((server.start(), port))
        yield running
    finally:
        for server, _ in running:
            server.stop()


def hosts(running: list[tuple[RedisServer, int]]) -> str:
    return ",".join(f"127.0.0.1:{port}" for _, port in running)


@contextlib.contextmanager
def single(certificates: Certificates) -> Iterator[str]:
    with servers(certificates, 1) as running:
        yield f"rediss://{hosts(running)}/0?{certificates.query}"


@contextlib.contextmanager
def read_replica(certificates: Certificates) -> Iterator[str]:
    with servers(certificates, 2) as ((_, port), (replica, replica_port)):
        with replica.client() as client:
            client.replicaof("127.0.0.1", str(port))
            wait_until(lambda: client.info("replication")["master_link_status"] == "up", "the replica to follow")
        yield f"rediss://127.0.0.1:{port}/0?replica=127.0.0.1:{replica_port}&{certificates.query}"


@contextlib.contextmanager
def shards(certificates: Certificates) -> Iterator[str]:
    with servers(certificates, 3) as running:
        yield f"rediss+shards://{hosts(running)}?partitioner=hash&{certificates.query}"


@contextlib.contextmanager
def cluster(certificates: Certificates) -> Iterator[str]:
    options = ("--cluster-enabled", "yes", "--tls-cluster", "yes")
    with servers(certificates, 2, *options) as running:
        for number, (server, _) in enumerate(running):
            with server.client() as client:
                client.execute_command("CLUSTER", "ADDSLOTSRANGE", number * 8192, number * 8192 + 8191)
                client.execute_command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        with running[0][0].client() as client:
            client.execute_command("CLUSTER", "MEET", "127.0.0.1", running[1][1])
        for server, _ in running:
            wait_until(partial(is_whole, server), "the cluster to be whole")
        yield f"rediss+cluster://127.0.0.1:{running[0][1]}?{certificates.query}"


def is_whole(server: RedisServer) -> bool:
    with server.client() as client:
        return bool(client.execute_command("CLUSTER INFO")["cluster_state"] == "ok")


@contextlib.contextmanager
def sentinel(certificates: Certificates) -> Iterator[str]:
    with servers(certificates, 1) as [(server, port)]:
        (sentinel_port,) = free_ports(1)
        options = [option.removeprefix("--") for option in certificates.server_options(sentinel_port)]
        lines = [f"{name} {value}" for name, value in zip(options[::2], options[1::2], strict=True)]
        configuration = server.directory / "sentinel.conf"
        configuration.write_text("\n".join(["port 0", *lines, f"sentinel monitor site 127.0.0.1 {port} 1\n"]))
        process = subprocess.Popen(["redis-server", str(configuration), "--sentinel", "--logfile", "sentinel.log"],
                                   cwd=server.directory)  # fmt: skip
        try:
            yield f"rediss+sentinel://127.0.0.1:{sentinel_port}/site?{certificates.query}"
        finally:
            process.kill()
            process.wait(10)


async def open_when_ready(url: str) -> Store:
    stores: list[Store] = []

    async def opens() -> bool:
        with contextlib.suppress(Exception):
            stores.append(await open_store(url))
        return bool(stores)

    await eventually(opens, timeout_s=20)
    return stores[0]


@pytest.mark.parametrize("topology", [single, read_replica, shards, cluster, sentinel])
async def test_a_store_is_used_over_tls(
    certificates: Certificates, topology: Callable[[Certificates], contextlib.AbstractContextManager[str]]
) -> None:
    with topology(certificates) as url:
        store = await open_when_ready(url)
        await store.execute_all([("SET", key, number) for number, key in enumerate(KEYS)])
        assert [int(reply) for reply in await store.execute_all([("GET", key) for key in KEYS])] == list(range(40))
        channel = Key("live", tag="1", name="channel")
        node = store.serving_node(channel)
        subscription = Subscription(node, [channel])
        await subscription.open()
        await node.execute("SPUBLISH", channel, b"x" * 100_000)
        assert await subscription.receive() == b"x" * 100_000
        subscription.close()
        await store.close()


async def test_a_site_is_migrated_over_tls(certificates: Certificates) -> None:
    with single(certificates) as source, shards(certificates) as target:
        store = await open_store(source)
        await store.execute_all([("SET", key, number) for number, key in enumerate(KEYS)])
        await migrate(MigrationSite(source, {}, ["posts"], create_topology), target)
        assert [int(reply) for reply in await store.execute_all([("GET", key) for key in KEYS])] == list(range(40))
        await store.close()


STARTS = 5

"""With TLS 1.3 the connection may be lost before the server's alert is read."""


async def why_a_start_fails(url: str) -> str:
    with pytest.raises((NotUsable, StoreUnavailable)) as failed:
        async with open_services(url):
            pass
    return str(failed.value)


@pytest.mark.parametrize(
    ("removed", "reason"),
    [
        (("ssl_ca_certs", "ssl_certfile", "ssl_keyfile"), "name the CA that signed"),
        (("ssl_certfile", "ssl_keyfile"), "name the client's certificate"),
    ],
)
async def test_a_missing_certificate_is_named_at_the_start(
    certificates: Certificates, removed: tuple[str, ...], reason: str
) -> None:
    with single(certificates) as url:
        base, _, query = url.partition("?")
        kept = "&".join(part for part in query.split("&") if not part.startswith(removed))
        said = [await why_a_start_fails(f"{base}?{kept}") for _ in range(STARTS)]
    assert any(reason in text for text in said), said


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("rediss://a:1?ssl_ca_certs=/nowhere/ca.crt", "files of its TLS parameters cannot be used: No such file"),
        ("redis://a:1?ssl_ca_certs=/nowhere/ca.crt", "'ssl_ca_certs' is not among its parameters"),
        ("redis+shards://a:1,b:2?ssl_ca_certs=/nowhere/ca.crt", "'ssl_ca_certs' is not among its parameters"),
        ("rediss+twemproxy://a:1?nodes=b:2", "Twemproxy has no TLS"),
    ],
)
def test_wrong_tls_urls_are_refused(url: str, reason: str) -> None:
    with pytest.raises(InvalidStoreUrl, match=reason):
        create_topology(url)
