"""The whole site in this process: the real ASGI application over a real, empty Redis; and one in a daphne."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import pytest
import pytest_asyncio

from socialsite.asgi import application
from socialsite.clock import FixedClock
from socialsite.container import Services
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.web.services import loop_services
from tests.support.browser import HttpBrowser
from tests.support.redis_server import RedisServer
from tests.support.sockets import DaphneProcess, running_daphne
from tests.support.world import World

OpenBrowser = Callable[..., Awaitable[HttpBrowser]]


@pytest.fixture
def server() -> Iterator[RedisServer]:
    """One for a test alone, to be stopped or filled."""
    started = RedisServer().start()
    yield started
    started.stop()


@pytest_asyncio.fixture
async def site(services: Services) -> Services:
    """The services that requests of this test get."""
    loop_services.bind(services)
    return services


@pytest_asyncio.fixture
async def limited_site(redis_url: str) -> AsyncIterator[Services]:
    """A site that lets through three posts, two follows and forty requests a minute.

    It is the middle of a minute for as long as a test takes: a second of the next one gives a fortieth back.
    """
    config = ServiceConfig(rate_limits={"post": 3, "follow": 2, "address": 40})
    async with open_services(redis_url, config) as opened:
        now_ms = opened.clock.now_ms()
        standing = Services(opened.store, FixedClock(now_ms - now_ms % 60_000 + 30_000), config)
        loop_services.bind(standing)
        yield standing


@pytest_asyncio.fixture
async def open_browser() -> AsyncIterator[OpenBrowser]:
    """`await open_browser()` for a visitor, `await open_browser("alice")` for somebody newly signed up."""
    opened: list[HttpBrowser] = []

    async def start(handle: str | None = None, *, address: str = "203.0.113.9") -> HttpBrowser:
        browser = HttpBrowser(application, client=(address, 4000))
        opened.append(browser)
        if handle:
            answer = await browser.sign_up(handle)
            assert answer.status_code == 201, answer.text
        return browser

    yield start
    for browser in opened:
        await browser.http.aclose()


@pytest_asyncio.fixture
async def visitor(site: Services, open_browser: OpenBrowser) -> HttpBrowser:
    return await open_browser()


@pytest_asyncio.fixture
async def alice(site: Services, open_browser: OpenBrowser) -> HttpBrowser:
    return await open_browser("alice")


@pytest_asyncio.fixture
async def bob(site: Services, open_browser: OpenBrowser) -> HttpBrowser:
    return await open_browser("bob")


@pytest.fixture(scope="module")
def daphne(redis_server: RedisServer) -> Iterator[DaphneProcess]:
    """The site in a process of its own, over the same store."""
    with running_daphne(redis_server.url) as started:
        yield started


@pytest.fixture
def world(site: Services) -> World:
    return World(site)
