"""Sentinel with the files of deploy/: the site's user finds the master, and a replica takes over from a killed one."""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import redis

from socialsite.migration.store_factory import open_store
from socialsite.store import Key, StoreError
from tests.deploy.support import DEPLOY, PASSWORDS, users_file
from tests.support.ports import free_ports
from tests.support.waiting import eventually, wait_until

ASK = "password-of-the-sentinels"

pytestmark = [pytest.mark.slow, pytest.mark.nightly]


def fill_in(source: str, target: Path, **values: str) -> Path:
    """Copy a file of deploy/ with other texts. Each must be there."""
    text = (DEPLOY / source).read_text()
    for old, new in values.items():
        assert old in text, old
        text = text.replace(old, new)
    target.write_text(text)
    return target


@contextmanager
def running(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["redis-server", *arguments], stdout=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait(10)


def server_arguments(directory: Path, port: int, users: Path) -> list[str]:
    directory.mkdir()
    replica_conf = fill_in("redis/replica.conf", directory / "replica.conf", PASSWORD=PASSWORDS["replica"])
    conf = fill_in("redis/redis.conf", directory / "redis.conf")  # a copy, since Sentinel has the server rewrite it
    return [
        str(conf), "--port", str(port), "--dir", str(directory), "--aclfile", str(users),
        "--supervised", "no", "--logfile", str(directory / "log"), "--include", str(replica_conf),
        "--min-replicas-to-write", "0", "--repl-diskless-sync-delay", "0",
    ]  # fmt: skip


async def test_the_site_follows_a_failover_as_its_own_user(tmp_path: Path) -> None:
    first, second, sentinel = free_ports(3)
    users = users_file(tmp_path)

    def operator(port: int) -> redis.Redis:
        return redis.Redis(port=port, username="operator", password=PASSWORDS["operator"])

    with ExitStack() as stack:
        master = stack.enter_context(running(*server_arguments(tmp_path / "first", first, users)))
        replica_arguments = ["--replicaof", f"127.0.0.1 {first}"]
        stack.enter_context(running(*server_arguments(tmp_path / "second", second, users), *replica_arguments))
        wait_until(lambda: is_online(operator(first)), "the replica to follow its master")
        conf = fill_in("sentinel.conf", tmp_path / "sentinel.conf")
        text = conf.read_text()
        for old, new in (
            ("port 26379", f"port {sentinel}"), ("bind 10.0.0.1 127.0.0.1", "bind 127.0.0.1"),
            ("dir /var/lib/redis", f"dir {tmp_path}"), ("logfile /var/log/redis", f"logfile {tmp_path}"),
            ("requirepass ASK", f"requirepass {ASK}"), ("site 10.0.0.1 6379 2", f"site 127.0.0.1 {first} 1"),
            ("auth-pass site PASSWORD", f"auth-pass site {PASSWORDS['sentinel']}"),
            ("down-after-milliseconds site 5000", "down-after-milliseconds site 600"),
        ):  # fmt: skip
            assert old in text, old
            text = text.replace(old, new)
        conf.write_text(text)
        stack.enter_context(running(str(conf), "--sentinel"))
        asked = redis.Redis(port=sentinel, password=ASK)
        wait_until(lambda: knows_replica(asked), "the Sentinel to find the replica")
        url = f"redis+sentinel://web:{PASSWORDS['web']}@127.0.0.1:{sentinel}/site?sentinel_password={ASK}"
        store = await open_store(url)
        key = Key("posts", tag="7", name="post")
        await store.node(key).execute("SET", key, "before")
        wait_until(lambda: operator(second).get(key) == b"before", "the replica to get the key")
        master.kill()

        async def is_written() -> bool:
            try:
                await store.node(key).execute("SET", key, "after")
            except StoreError:
                return False
            return True

        await eventually(is_written, timeout_s=60)
        await store.close()
        assert operator(second).get(key) == b"after"
        assert [(entry["username"], entry["object"]) for entry in operator(second).acl_log()] == []


def is_online(client: redis.Redis) -> bool:
    try:
        return "online" in str(client.info("replication").get("slave0", ""))
    except redis.ConnectionError:
        return False


def knows_replica(client: redis.Redis) -> bool:
    try:
        return len(client.sentinel_slaves("site")) == 1
    except redis.ConnectionError:
        return False
