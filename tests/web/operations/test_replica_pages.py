"""Visitors' pages are read from a fresh replica, and never show deleted posts or suspended accounts."""

import time
from collections.abc import AsyncIterator

import pytest

from socialsite.container import Services
from socialsite.ids import AccountId
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.web.services import loop_services
from tests.support.browser import HttpBrowser
from tests.support.replicas import ReplicatedServer, count_reads, replicated_server
from tests.support.world import World
from tests.web.conftest import OpenBrowser

PAGES = ("/public/", "/@bob/", "/tags/news/", "/@bob/feed.atom")


@pytest.fixture
async def servers() -> AsyncIterator[ReplicatedServer]:
    async with replicated_server() as started:
        yield started


@pytest.fixture
async def site(servers: ReplicatedServer) -> AsyncIterator[Services]:
    async with open_services(servers.url, ServiceConfig()) as opened:
        loop_services.bind(opened)
        yield opened


async def test_visitors_pages_are_read_from_the_replica(
    servers: ReplicatedServer, site: Services, open_browser: OpenBrowser
) -> None:
    bob = await World(site).person("bob")
    await bob.publishes("hello #news")
    visitor = await open_browser()
    for page in PAGES:
        await until_read_there(servers, visitor, page)
        assert "hello" in (await visitor.get(page)).text


async def test_pages_of_signed_in_people_are_read_from_the_master(
    servers: ReplicatedServer, site: Services, open_browser: OpenBrowser
) -> None:
    bob = await World(site).person("bob")
    await bob.publishes("hello #news")
    visitor, alice = await open_browser(), await open_browser("alice")
    await until_read_there(servers, visitor)
    before = count_reads(servers.replica.client())
    for page in ("/", *PAGES[:3]):
        assert (await alice.get(page)).status_code == 200
    assert count_reads(servers.replica.client()) == before


async def test_a_lagging_replica_shows_no_deleted_post_and_no_suspended_account(
    servers: ReplicatedServer, site: Services, open_browser: OpenBrowser
) -> None:
    bob, eve = await World(site).people("bob", "eve")
    first, _ = await bob.publishes("hello #news"), await bob.publishes("second #news")
    await eve.publishes("spam #news")
    visitor = await open_browser()
    await until_read_there(servers, visitor)
    servers.wire.pause()
    await bob.deletes(first)
    await site.accounts.suspend(account_id=AccountId(eve.id))
    assert await asked_while_behind(servers, visitor), "the replica was asked while it was behind"
    await bob.publishes("third #news")
    assert all(["third" in (await visitor.get(page)).text for page in PAGES])


async def asked_while_behind(servers: ReplicatedServer, visitor: HttpBrowser) -> int:
    """Read the pages for longer than a replica may lag; return in how many rounds the replica was read."""
    began, replica_rounds = time.monotonic(), 0
    while time.monotonic() < began + 1.5:
        before = count_reads(servers.replica.client())
        pages = [(await visitor.get(page)).text for page in PAGES]
        replica_rounds += count_reads(servers.replica.client()) > before
        assert not any("hello" in page or "spam" in page for page in pages)
        assert all("second" in page for page in pages)
    return replica_rounds


async def until_read_there(servers: ReplicatedServer, visitor: HttpBrowser, page: str = "/public/") -> None:
    until, before = time.monotonic() + 10, count_reads(servers.replica.client())
    while count_reads(servers.replica.client()) == before:
        assert time.monotonic() < until, f"the replica is never read from for {page}"
        await visitor.get(page)
