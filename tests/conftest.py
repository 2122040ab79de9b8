"""Fixtures for everybody: one real Redis server a test process, emptied before each test."""

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from socialsite.configuration import Configuration
from socialsite.services import Services, open_services
from socialsite.store import Store, open_store
from tests.support.redis_server import RedisServer
from tests.support.world import World

pytest_plugins = ["tests.plugins.no_skips"]


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    server = RedisServer().start()
    yield server
    server.stop()


@pytest.fixture
def redis_url(redis_server: RedisServer) -> str:
    """URL of an empty server."""
    with redis_server.client() as client:
        client.flushall()
        client.script_flush()
    return redis_server.url


@pytest_asyncio.fixture
async def store(redis_url: str) -> AsyncIterator[Store]:
    opened = await open_store(redis_url)
    yield opened
    await opened.close()


@pytest_asyncio.fixture
async def services(redis_url: str) -> AsyncIterator[Services]:
    """All services over an empty server, with the clock of the server and no limits."""
    async with open_services(redis_url, Configuration()) as opened:
        yield opened


@pytest.fixture
def world(services: Services) -> World:
    """People over these services, and a worker turned by hand."""
    return World(services)
