"""Fixtures for all tests: real Redis servers, one set per test process, emptied before each test.

`pytest --topology=NAME` (or TEST_TOPOLOGY) selects their topology; `make contract` runs the suite on all topologies.
"""

import os
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.core.cache import cache
from hypothesis import settings

from socialsite.container import Services
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.store import Store, StoreUrls
from socialsite.translations import compile_translations
from tests.support.programs import server_version, use_server
from tests.support.reactions import PersonReactions
from tests.support.redis_server import RedisServer
from tests.support.stores import opened_store
from tests.support.topologies import TOPOLOGIES, Deployment, clients_of
from tests.support.world import World

pytest_plugins = ["tests.plugins.skips", "tests.plugins.slow_first"]

SERVER = pytest.StashKey[str]()

# An example takes up to 0.2 s on a busy machine.
settings.register_profile("unhurried", parent=settings(), deadline=None)
settings.load_profile("unhurried")


def pytest_configure(config: pytest.Config) -> None:
    if "PYTEST_XDIST_WORKER" in os.environ:  # has the PATH of the main process
        return
    compile_translations()
    config.stash[SERVER] = use_server()


def pytest_report_header(config: pytest.Config) -> str:
    server = config.stash.get(SERVER, None)
    return f"server: {server_version(server)} ({server})" if server else ""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--topology",
        default=os.environ.get("TEST_TOPOLOGY", "single"),
        choices=sorted(TOPOLOGIES),
        help="where `store` and `services` stand",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests without `deployment` on other topologies: they start their own servers and ran on "single"."""
    if config.getoption("--topology") == "single":
        return
    topology_items = [item for item in items if "deployment" in getattr(item, "fixturenames", ())]
    config.hook.pytest_deselected(items=[item for item in items if item not in topology_items])
    items[:] = topology_items


@pytest.fixture(autouse=True)
def empty_django_cache() -> None:
    """Clear Django's cache: it outlives the store of a test."""
    cache.clear()


@pytest.fixture(autouse=True)
def empty_media_folder() -> None:
    """Delete the pictures of earlier tests, whose rows were deleted with their store."""
    for child in Path(django_settings.MEDIA_ROOT).iterdir():
        shutil.rmtree(child, ignore_errors=True)


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """A plain server, for every topology."""
    with RedisServer() as server:
        yield server


@pytest.fixture
def redis_url(redis_server: RedisServer) -> str:
    """The URL of an empty plain server."""
    redis_server.flush()
    return redis_server.url


@pytest.fixture(scope="session")
def deployment(request: pytest.FixtureRequest) -> Iterator[Deployment]:
    """The servers of the selected topology; for "single", the plain server."""
    name = request.config.getoption("--topology")
    if name == "single":
        server = request.getfixturevalue("redis_server")
        yield Deployment(StoreUrls(server.url), lambda: clients_of([server]))
        return
    with TOPOLOGIES[name]() as started:
        yield started


@pytest.fixture
def redis_urls(deployment: Deployment) -> StoreUrls:
    """The URLs of the selected topology's servers, empty."""
    deployment.flush()
    return deployment.urls


@pytest.fixture
async def store(redis_urls: StoreUrls) -> AsyncIterator[Store]:
    async with opened_store(redis_urls) as opened:
        yield opened


@pytest.fixture
async def services(redis_urls: StoreUrls) -> AsyncIterator[Services]:
    """All services over empty servers, with the server's clock and no limits."""
    async with open_services(redis_urls, ServiceConfig()) as opened:
        yield opened


@pytest.fixture
def world(services: Services) -> World:
    """Accounts over these services, and a worker that runs when a test calls it."""
    return World(services)


@pytest.fixture
def acts(services: Services) -> PersonReactions:
    """What these accounts do with posts."""
    return PersonReactions(services)
