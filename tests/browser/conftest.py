"""Fixtures for browser tests: one site and one Chromium per process for all tests of this folder.

Playwright's sync interface occupies the thread's event loop, so it is closed with the package. The async tests
elsewhere then find no running loop.
"""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright

from tests.support.chromium import VIEWPORT, BrowserPage, find_headless_chromium, launch
from tests.support.programs import need
from tests.support.sites import QuickstartSite, running_site
from tests.support.visitor import HttpVisitor

SETTINGS = {
    "DJANGO_SETTINGS_MODULE": "tests.settings",  # hashes passwords fast
    "TRUSTED_PROXIES": "127.0.0.1/32",  # each visitor gets an address, and so rate limits, of their own
    "RATE_LIMIT_POST": "40/m",
    "RATE_LIMIT_FOLLOW": "20/m",
    "RATE_LIMIT_SIGNUP": "off",
    "RATE_LIMIT_LOGIN": "off",
    "RATE_LIMIT_ADDRESS": "off",
}
BROWSER_TESTS_DIR = Path(__file__).parent
OpenReader = Callable[..., BrowserPage]
SignUpVisitor = Callable[[], HttpVisitor]
visitor_numbers = itertools.count(1)
PAGE_TIMEOUT_MS = 30_000
"""Timeout of waits on a busy machine. It says nothing about the site's speed."""
expect.set_options(timeout=PAGE_TIMEOUT_MS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder as `browser` and `slow`."""
    for item in items:
        if item.path.is_relative_to(BROWSER_TESTS_DIR):
            item.add_marker("browser")
            item.add_marker("slow")


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QuickstartSite]:
    with running_site(tmp_path_factory.mktemp("site") / "data", **SETTINGS) as running:
        yield running


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    program = find_headless_chromium() or need("chromium-headless-shell")
    with sync_playwright() as playwright:
        browser = launch(playwright, program)
        yield browser
        browser.close()


def sign_up_visitor(site: QuickstartSite) -> HttpVisitor:
    """Sign up a new account with a unique handle and address."""
    number = next(visitor_numbers)
    return HttpVisitor(site.url, f"reader{number}", address=f"10.0.{number >> 8}.{number & 255}").sign_up()


def open_context(chromium: Browser, visitor: HttpVisitor | None = None, **options: Any) -> BrowserContext:
    headers = visitor.headers if visitor else {}
    usual = {
        "viewport": VIEWPORT,
        "reduced_motion": "reduce",
        "extra_http_headers": headers,
        "service_workers": "block",  # Playwright does not see the requests of a service worker
    }
    context = chromium.new_context(**{**usual, **options})
    context.set_default_timeout(PAGE_TIMEOUT_MS)
    return context


@pytest.fixture
def visitor(site: QuickstartSite) -> Iterator[SignUpVisitor]:
    """Return `visitor()`, which signs up a new account with a unique handle."""
    opened: list[HttpVisitor] = []

    def sign_up() -> HttpVisitor:
        opened.append(sign_up_visitor(site))
        return opened[-1]

    yield sign_up
    for one in opened:
        one.http.close()


@pytest.fixture
def own(visitor: SignUpVisitor) -> HttpVisitor:
    return visitor()


@pytest.fixture
def friend(visitor: SignUpVisitor) -> HttpVisitor:
    """Another visitor, without followers."""
    return visitor()


@pytest.fixture
def reader(site: QuickstartSite, chromium: Browser) -> Iterator[OpenReader]:
    """Return `reader()`, which opens a page in a new browser context; `reader(visitor)` is signed in.

    Fails the test if any of its pages logs a complaint.
    """
    opened: list[BrowserPage] = []
    lines_before = len(site.lines)

    def open_page(visitor: HttpVisitor | None = None, **options: Any) -> BrowserPage:
        page = BrowserPage(open_context(chromium, visitor, **options).new_page(), site.url)
        opened.append(page)
        if visitor:
            page.sign_in_as(visitor)
        return page

    yield open_page
    print(site.printed_since(lines_before))  # the site's output during the test, shown if the test fails
    complaints = [f"{one.page.url}: {text}" for one in opened for text in one.complaints]
    for one in opened:
        one.context.close()
    assert not complaints, "\n".join(complaints)


@pytest.fixture
def me(reader: OpenReader, own: HttpVisitor) -> BrowserPage:
    """The page of a browser in which `own` is signed in."""
    return reader(own)
