"""Fixtures for contract tests: accounts and repositories over `services`, and further servers.

A PostgreSQL server is started once per test process, a Redis Cluster once per module, by the first test that uses it.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from socialsite.container import Services
from socialsite.store import Store, StoreUrls
from tests.support.cluster import RedisCluster
from tests.support.fakes import FakeAccountDirectory
from tests.support.notifications import ThreePeople
from tests.support.postgres import PostgresServer
from tests.support.redis_server import RedisServer
from tests.support.sample_site import SampleSite
from tests.support.world import Person, World
from timelines.graph.blocks_and_mutes_repository import BlocksAndMutes
from timelines.graph.repository import Follows


@pytest.fixture
async def three(world: World) -> ThreePeople:
    """Alice, Bob and Carol, who have no relations with each other."""
    alice, bob, carol = await world.people("alice", "bob", "carol")
    return alice, bob, carol


@pytest.fixture
async def alice(world: World) -> Person:
    return await world.person("alice")


@pytest.fixture
async def bob(world: World) -> Person:
    return await world.person("bob")


@pytest.fixture
async def carol(world: World) -> Person:
    return await world.person("carol")


@pytest.fixture
async def dave(world: World) -> Person:
    return await world.person("dave")


@pytest.fixture
async def town(world: World) -> SampleSite:
    return await SampleSite.build(world)


@pytest.fixture
def follows(store: Store) -> Follows:
    return Follows(store, partitions=16, following_cap=5_000)


@pytest.fixture
def relations(services: Services) -> BlocksAndMutes:
    return services.repositories.blocks_and_mutes


@pytest.fixture
def people() -> FakeAccountDirectory:
    return FakeAccountDirectory(range(1, 101))


@pytest.fixture
def here(redis_urls: StoreUrls, settings: Any) -> None:
    """Let commands of manage.py use the servers of the test."""
    settings.REDIS_URL, settings.REDIS_COMPONENT_URLS = redis_urls.default, redis_urls.component_urls


@pytest.fixture(scope="module")
def cluster() -> Iterator[RedisCluster]:
    started = RedisCluster(masters=3)
    yield started.start()
    started.stop()


@pytest.fixture
def own_server() -> Iterator[RedisServer]:
    """A server that the test may stop."""
    with RedisServer() as server:
        yield server


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    server = PostgresServer().start()
    yield server
    server.stop()


@pytest.fixture
def postgres(postgres_server: PostgresServer) -> PostgresServer:
    """A running server with an empty archive."""
    postgres_server.truncate()
    return postgres_server
