"""REQUIRE_REPLICAS=1: a post is acknowledged once a replica has it, else "unconfirmed", safe to repeat."""

import signal
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from socialsite.configuration import Configuration
from socialsite.services import Services, open_services
from tests.support.cluster import RedisCluster
from tests.support.world import World
from timelines.errors import Unconfirmed


@pytest.fixture(scope="module")
def cluster() -> Iterator[RedisCluster]:
    started = RedisCluster(masters=1, replicas=1)
    try:
        yield started.start()
    finally:
        started.stop()


@pytest_asyncio.fixture
async def services(cluster: RedisCluster) -> AsyncIterator[Services]:
    cluster.flush()
    async with open_services(cluster.url, Configuration(require_replicas=1)) as opened:
        yield opened


async def test_a_confirmed_post_is_on_the_replica(services: Services, cluster: RedisCluster) -> None:
    world = World(services)
    author, reader = await world.people("author", "reader")
    await reader.follows(author)
    assert await reader.home_ids() == []
    post = await author.publishes("hello")
    await world.work()
    assert await reader.home_ids() == [post.id]
    with cluster.replicas[0].client() as replica:
        replica.execute_command("READONLY")
        assert replica.zscore(f"timelines:{{{author.id}}}:profile", str(post.id)) == post.id
        assert replica.lrange(f"timelines:{{{reader.id}}}:home", 0, -1) == [str(post.id), "-0"]


async def test_without_the_replica_nothing_is_acknowledged_and_a_retry_publishes_once(
    services: Services, cluster: RedisCluster
) -> None:
    world = World(services)
    alice = await world.person("alice")
    cluster.replicas[0].signal(signal.SIGSTOP)
    try:
        with pytest.raises(Unconfirmed):
            await alice.publishes("hello", key="k")
    finally:
        cluster.replicas[0].signal(signal.SIGCONT)
    post = await alice.publishes("hello", key="k")
    again = await alice.publishes("hello", key="k")
    assert post.id == again.id
    await world.work()
    assert await alice.home_ids() == await alice.profile_ids() == [post.id]
