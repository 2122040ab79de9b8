"""deploy/redis/create-cluster.sh forms a cluster of running servers; the site runs on the URL that it prints."""

import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import redis

from socialsite.migration.store_factory import open_store
from socialsite.store.key import Key
from tests.deploy.support import DEPLOY
from tests.support.cluster import ClusterMember
from tests.support.programs import need
from tests.support.waiting import wait_until


@pytest.fixture
def members(tmp_path: Path) -> Iterator[list[ClusterMember]]:
    started = [ClusterMember(tmp_path) for _ in range(3)]
    for member in started:
        member.start()
    yield started
    for member in started:
        member.stop()


def _answers(member: ClusterMember) -> bool:
    with suppress(redis.ConnectionError):
        return bool(member.client().ping())
    return False


async def test_three_servers_become_a_cluster(members):
    need("redis-cli")
    wait_until(lambda: all(_answers(member) for member in members))
    result = subprocess.run(
        [str(DEPLOY / "redis/create-cluster.sh"), *(member.address for member in members)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    name, _, url = result.stdout.splitlines()[-1].partition("=")
    assert name == "REDIS_URL"
    store = await open_store(url)
    key = Key("posts", tag="7", name="post")
    await store.node(key).execute("SET", key, "here")
    assert await store.node(key).execute("GET", key) == b"here"
    await store.close()


def test_the_script_prints_its_usage_for_too_few_servers():
    script = str(DEPLOY / "redis/create-cluster.sh")
    result = subprocess.run([script, "10.0.0.1:1"], capture_output=True, text=True)
    assert result.returncode == 2
    assert "six running servers" in result.stderr
