"""Fixtures for web tests: the real ASGI application over a real, empty Redis, in this process or in a daphne."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import pytest

from socialsite.asgi import application
from socialsite.clock import FixedClock
from socialsite.container import Services
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.web.services import loop_services
from tests.support.browser import HttpBrowser
from tests.support.daphnes import DaphneProcess, running_daphne
from tests.support.redis_server import RedisServer
from tests.support.world import World

OpenBrowser = Callable[..., Awaitable[HttpBrowser]]


@pytest.fixture
def server() -> Iterator[RedisServer]:
    """A server for one test, which may stop or fill it."""
    with RedisServer() as started:
        yield started


@pytest.fixture
async def site(services: Services) -> Services:
    """The services that the requests of this test use."""
    loop_services.bind(services)
    return services


@pytest.fixture
async def limited_site(redis_url: str) -> AsyncIterator[Services]:
    """A site with limits of three posts, two follows and forty requests per minute.

    Its clock is fixed in the middle of a minute: in the next minute each second gives back a fortieth.
    """
    config = ServiceConfig(rate_limits={"post": 3, "follow": 2, "address": 40})
    async with open_services(redis_url, config) as opened:
        now_ms = opened.clock.now_ms()
        limited_services = Services(opened.store, FixedClock(now_ms - now_ms % 60_000 + 30_000), config)
        await limited_services.site.refresh()
        loop_services.bind(limited_services)
        yield limited_services


@pytest.fixture
async def open_browser() -> AsyncIterator[OpenBrowser]:
    """Return `open_browser()`, which opens a visitor's browser; `open_browser("alice")` also signs up."""
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


@pytest.fixture
async def visitor(site: Services, open_browser: OpenBrowser) -> HttpBrowser:
    return await open_browser()


@pytest.fixture
async def alice(site: Services, open_browser: OpenBrowser) -> HttpBrowser:
    return await open_browser("alice")


@pytest.fixture
async def bob(site: Services, open_browser: OpenBrowser) -> HttpBrowser:
    return await open_browser("bob")


@pytest.fixture(scope="module")
def daphne(redis_server: RedisServer) -> Iterator[DaphneProcess]:
    """The site in a process of its own, over the same store."""
    redis_server.flush()  # a site does not start on what some tests leave
    with running_daphne(redis_server.url) as started:
        yield started


@pytest.fixture
def world(site: Services) -> World:
    return World(site)
