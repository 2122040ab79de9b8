"""Fixtures: two servers and a cluster per module, emptied before each test, and a site on the first server."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.support.active_site import ActiveSite, open_active_site
from tests.support.cluster import RedisCluster
from tests.support.redis_server import RedisServer


@pytest.fixture(scope="module")
def old_server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture(scope="module")
def new_server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture(scope="module")
def running_cluster() -> Iterator[RedisCluster]:
    cluster = RedisCluster().start()
    yield cluster
    cluster.stop()


@pytest.fixture
def old(old_server: RedisServer) -> str:
    old_server.client().flushall()
    return old_server.url


@pytest.fixture
def new(new_server: RedisServer) -> str:
    new_server.client().flushall()
    return new_server.url


@pytest.fixture
def cluster(running_cluster: RedisCluster) -> str:
    running_cluster.flush()
    return running_cluster.url


@pytest.fixture
async def town(old: str) -> AsyncIterator[ActiveSite]:
    async with open_active_site(old) as site:
        yield site
