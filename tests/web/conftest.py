"""The whole site in this process: the real ASGI application over a real, empty Redis."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
import pytest_asyncio

from socialsite.asgi import application
from socialsite.configuration import Configuration
from socialsite.middleware.services import loop_services
from socialsite.services import Services, open_services
from tests.support.browser import Browser
from tests.support.world import World

OpenBrowser = Callable[..., Awaitable[Browser]]


@pytest_asyncio.fixture
async def site(services: Services) -> Services:
    """The services that requests of this test get."""
    loop_services.bind(services)
    return services


@pytest_asyncio.fixture
async def limited_site(redis_url: str) -> AsyncIterator[Services]:
    """A site that lets through three posts, two follows and forty requests a minute."""
    limits = {"post": 3, "follow": 2, "address": 40}
    async with open_services(redis_url, Configuration(rate_limits=dict(limits))) as opened:
        loop_services.bind(opened)
        yield opened


@pytest_asyncio.fixture
async def open_browser() -> AsyncIterator[OpenBrowser]:
    """`await open_browser()` for a visitor, `await open_browser("alice")` for somebody newly signed up."""
    opened: list[Browser] = []

    async def start(handle: str | None = None, *, address: str = "203.0.113.9") -> Browser:
        browser = Browser(application, client=(address, 4000))
        opened.append(browser)
        if handle:
            answer = await browser.sign_up(handle)
            assert answer.status_code == 201, answer.text
        return browser

    yield start
    for browser in opened:
        await browser.http.aclose()


@pytest_asyncio.fixture
async def visitor(site: Services, open_browser: OpenBrowser) -> Browser:
    return await open_browser()


@pytest_asyncio.fixture
async def alice(site: Services, open_browser: OpenBrowser) -> Browser:
    return await open_browser("alice")


@pytest_asyncio.fixture
async def bob(site: Services, open_browser: OpenBrowser) -> Browser:
    return await open_browser("bob")


@pytest.fixture
def world(site: Services) -> World:
    return World(site)
