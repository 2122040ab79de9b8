"""Every topology over TLS, with a CA and clients' certificates, on real servers."""

import contextlib
import subprocess
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from socialsite.migration.commands import MigrationSite, migrate
from socialsite.migration.store_factory import open_store
from socialsite.startup import NotUsable, open_services
from socialsite.store import InvalidStoreUrl, Key, Store, StoreUnavailable
from socialsite.store.factory import create_topology
from socialsite.store.pubsub import Subscription
from tests.support.certificates import Certificates
from tests.support.ports import free_ports
from tests.support.redis_server import RedisServer
from tests.support.waiting import eventually, wait_until

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
