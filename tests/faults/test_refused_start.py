"""A wrong configuration ends worker and daphne before they serve, with one sentence of advice.

An unreachable server may come back: daphne answers 503 until then; the worker exits, and its supervisor restarts
it.
"""

import contextlib
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from socialsite.migration.store_factory import open_store
from socialsite.startup import ServerTooOld, require_usable_servers
from socialsite.store import Store
from socialsite.store.partitioners import balanced_partitioner
from socialsite.store.topology.shard_map import ShardMap
from tests.support.cluster import ClusterMember, RedisCluster
from tests.support.daphnes import ROOT
from tests.support.ports import free_ports
from tests.support.redis_server import RedisServer
from tests.support.sites import ProductionSite, running_site
from tests.support.topologies import plain_servers, shards_url
from tests.support.visitor import HttpVisitor

pytestmark = [pytest.mark.slow, pytest.mark.nightly]

WORKER = ("manage.py", "syndicate", "--once", "--verbosity", "0")
ENDS_WITHIN_S = 90.0
"""A generous limit: a process takes a second to start, and half a minute on a busy machine."""


def environment(redis_url: str, **more: str) -> dict[str, str]:
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "SECRET_KEY": secrets.token_urlsafe(50),
        "REDIS_URL": redis_url,
        **more,
    }


def ended(*arguments: str, redis_url: str, **more: str) -> tuple[int, str]:
    """Run a program of the site to its end; return its status and the last line of its output."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment(redis_url, **more),
        capture_output=True,
        text=True,
        timeout=ENDS_WITHIN_S,
        check=False,
    )
    last_line = (done.stderr.strip().splitlines() or [""])[-1]
    return done.returncode, last_line.removeprefix("CommandError: ")


def require_refused(reason: str, redis_url: str, **more: str) -> None:
    """Check that worker and daphne exit with status 1 and one sentence."""
    (port,) = free_ports(1)
    daphne = ("-m", "daphne", "-b", "127.0.0.1", "-p", str(port), "-v", "0", "socialsite.asgi:application")
    for program in (WORKER, daphne):
        status, message = ended(*program, redis_url=redis_url, **more)
        assert status == 1, message
        assert re.search(reason, message), message
        assert message.startswith("The store cannot be used: "), message


def test_a_url_without_a_server_is_refused() -> None:
    require_refused("is not a redis\\+shards URL: 'b' is not \"host:port\"", "redis+shards://a:1,b")


def test_another_number_of_follow_partitions_is_refused(redis_url: str) -> None:
    assert ended(*WORKER, redis_url=redis_url)[0] == 0
    require_refused(
        "created with FOLLOW_PARTITIONS=16, but the setting is 8: restore the old number .*--follow-partitions N",
        redis_url,
        FOLLOW_PARTITIONS="8",
    )


def test_another_number_of_profile_partitions_is_refused(redis_url: str) -> None:
    assert ended(*WORKER, redis_url=redis_url)[0] == 0
    require_refused(
        "created with PROFILE_PARTITIONS=1, but the setting is 4: restore the old number; .*cannot be changed",
        redis_url,
        PROFILE_PARTITIONS="4",
    )


def test_shards_of_two_epochs_are_refused() -> None:
    with plain_servers(2) as servers:
        url = shards_url(servers, "hash")
        assert ended(*WORKER, redis_url=url)[0] == 0
        with servers[1].client() as client:
            key = "map:{shards}:shard"
            later = ShardMap(client.hget(key, "id").decode(), 2, balanced_partitioner("hash", 2))
            client.hset(key, mapping={"epoch": later.epoch, "checksum": later.checksum})
        require_refused("holds epoch 2 of the map and .* epoch 1: a move was broken off, finish it", url)


@contextlib.contextmanager
def lone_member() -> Iterator[ClusterMember]:
    cluster = RedisCluster(masters=1)
    try:
        cluster.masters[0].start()
        yield cluster.masters[0]
    finally:
        cluster.stop()


def test_a_cluster_that_is_not_finished_is_refused_and_daphne_names_it() -> None:
    with lone_member() as member:
        status, message = ended(*WORKER, redis_url=f"redis+cluster://{member.address}")
        assert status == 1
        assert re.search("16384 of 16384 slots of the cluster have no master: finish its creation", message)
        require_refused("member of a cluster", f"redis://{member.address}")


def test_a_server_that_is_no_member_of_a_cluster_is_refused() -> None:
    (port,) = free_ports(1)
    with RedisServer(options=("--port", str(port), "--bind", "127.0.0.1")) as server:
        require_refused("not a member of a cluster, so write redis://", f"redis+cluster://127.0.0.1:{port}")
        require_refused("remove the password from the URL", f"redis://:secret@127.0.0.1:{port}")
        require_refused("correct the number of the database", f"redis://127.0.0.1:{port}/99")
        with server.client() as client:
            client.config_set("requirepass", "secret")
        require_refused("put user and password into the URL", f"redis://127.0.0.1:{port}")
        require_refused("correct user and password", f"redis://:other@127.0.0.1:{port}")


def test_a_replica_instead_of_its_master_is_refused(redis_server: RedisServer, redis_url: str) -> None:
    with redis_server.client() as client:
        client.replicaof("127.0.0.1", str(free_ports(1)[0]))
        try:
            require_refused("this server is a replica: name its master", redis_url)
        finally:
            client.replicaof("NO", "ONE")


def test_data_of_a_newer_embedded_server_are_refused_by_an_older_one(tmp_path: Path) -> None:
    url = f"embedded://{tmp_path / 'data'}"
    assert ended(*WORKER, redis_url=url)[0] == 0
    record = tmp_path / "data" / "server.json"
    record.write_text(json.dumps({**json.loads(record.read_text()), "version": "99.0.0"}))
    require_refused("99.0", url)


async def test_a_server_without_the_commands_needed_is_refused(redis_url: str) -> None:
    store: Store = await open_store(redis_url)
    try:
        await require_usable_servers(store)
        with pytest.raises(ServerTooOld, match=r"runs version .* needs 99\.0 or newer: upgrade it"):
            await require_usable_servers(store, (99, 0))
    finally:
        await store.close()


def test_an_unreachable_server_ends_the_worker_and_daphne_waits_for_it(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    url = f"redis://127.0.0.1:{port}"
    status, message = ended(*WORKER, redis_url=url)
    assert status == 1
    assert re.search(f"cannot connect to 127.0.0.1:{port}: .*: start it, or correct its URL", message), message
    site = ProductionSite(url, tmp_path)
    try:
        site.start_web()
        until = time.monotonic() + ENDS_WITHIN_S
        while site.status("/readyz") != 503:
            assert time.monotonic() < until, site.log
            time.sleep(0.05)
        assert site.status("/public/") == 503
        assert "start it, or correct its URL" in site.log
        with RedisServer(options=("--port", str(port), "--bind", "127.0.0.1")):
            while site.status("/public/") != 200:
                assert time.monotonic() < until, site.log
                time.sleep(0.05)
    finally:
        site.stop()


def test_a_server_lost_later_affects_only_the_data_on_it(redis_url: str) -> None:
    with RedisServer() as server, running_site(redis_url, REDIS_TIMELINES_URL=server.url) as site:
        alice = HttpVisitor(site.url, "alice").sign_up()
        post = alice.publishes("hello")
        server.kill(signal.SIGKILL)
        anybody = ("/public/", f"/@alice/{post['id']}/", "/@alice/followers/", "/accounts/login/")
        assert [site.status(path) for path in anybody] == [200] * len(anybody)
        assert alice.http.get("/accounts/settings/").status_code == 200
        for path in ("/", "/@alice/"):
            answer = alice.http.get(path)
            assert answer.status_code == 503
            assert "Retry-After" in answer.headers
        server.start()
        assert alice.http.get("/").status_code == 200
