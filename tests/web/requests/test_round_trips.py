"""A network delays every message between site and store, so that the time of a request counts its round trips."""

import time
from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace
from typing import cast

import pytest

from socialsite.container import Services
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.store import StoreUrls
from socialsite.web.requests import SiteRequest
from socialsite.web.services import loop_services
from tests.support.browser import HttpBrowser
from tests.support.fault_proxy import Fault, FaultProxy
from tests.support.redis_server import RedisServer
from tests.support.world import World
from timelines.following.presenters import accounts_with_follow_state

ROUND_TRIP_S = 0.4
MAX_PUBLISH_ROUND_TRIPS = 5
ATTEMPTS = 3  # the machine may pause during one attempt


@pytest.fixture
def proxy(redis_server: RedisServer, redis_url: str) -> Iterator[FaultProxy]:
    assert redis_url == redis_server.url  # emptied
    with redis_server.client() as client:
        client.config_set("appendonly", "yes")
        with FaultProxy(redis_server.socket, delay_s=ROUND_TRIP_S / 2) as started:
            yield started
        client.config_set("appendonly", "no")


@pytest.fixture
async def site(proxy: FaultProxy) -> AsyncIterator[Services]:
    async with open_services(StoreUrls(proxy.url), ServiceConfig(rate_limits={"address": 900, "post": 900})) as opened:
        loop_services.bind(opened)
        yield opened


@pytest.mark.parametrize("hashtag", ["#tea", "#new{}"], ids=["a known hashtag", "a new hashtag"])
async def test_publishing_takes_five_round_trips_until_the_answer(
    alice: HttpBrowser, proxy: FaultProxy, hashtag: str
) -> None:
    """Session; limits, id, idempotency key and hashtags; job; post and timelines; announcement and append-only file."""
    await alice.post("/posts/", text="connections are open now, and #tea exists", idempotency_key="first")
    rounds = []
    with proxy.with_fault(Fault.DELAY):
        for attempt in range(ATTEMPTS):
            started = time.monotonic()
            text = f"hello {hashtag.format(attempt)}"
            answer = await alice.post("/posts/", text=text, idempotency_key=f"k{attempt}")
            rounds.append((time.monotonic() - started) / ROUND_TRIP_S)
            assert answer.status_code == 303
            if rounds[-1] < MAX_PUBLISH_ROUND_TRIPS + 1:
                break
    assert MAX_PUBLISH_ROUND_TRIPS - 1 < min(rounds) < MAX_PUBLISH_ROUND_TRIPS + 1, rounds


async def test_accounts_and_their_follow_state_take_one_round_trip(
    alice: HttpBrowser, site: Services, proxy: FaultProxy
) -> None:
    """Accounts, follows and follow requests are read together, for pages of accounts and the search page."""
    people = await World(site).people("bob", "carol")
    await people[1].locks()
    account_ids = [person.id for person in people]
    request = cast(SiteRequest, SimpleNamespace(services=site, account=await site.accounts.get_by_handle("alice")))
    await accounts_with_follow_state(request, account_ids)
    rounds = []
    with proxy.with_fault(Fault.DELAY):
        for _ in range(ATTEMPTS):
            started = time.monotonic()
            rows = await accounts_with_follow_state(request, account_ids)
            rounds.append((time.monotonic() - started) / ROUND_TRIP_S)
            if rounds[-1] < 2:
                break
    assert [row["is_private"] for row in rows] == [False, True]
    assert 0.9 < min(rounds) < 2, rounds
