"""Limits on password guesses, from one address at many accounts and from many addresses at one account.

ATTACK_GUESSES (300 in five minutes, 10000 in an hour in the long form) are spread evenly over a clock that the
test advances: the result does not depend on the speed of this machine.
"""

import os
from collections.abc import AsyncIterator

import pytest

from socialsite.clock import FixedClock
from socialsite.container import Services
from socialsite.limits import NETWORKS_PER_HANDLE
from socialsite.migration.store_factory import open_store
from socialsite.service_config import ServiceConfig
from socialsite.web.services import loop_services
from tests.support.world import World
from tests.web.conftest import OpenBrowser

GUESSES = int(os.environ.get("ATTACK_GUESSES", "300"))
MINUTES = 60 if GUESSES >= 10_000 else 5
LOG_INS = 10 if GUESSES >= 10_000 else 4
"""Log-ins per minute. The long form of the test uses the default of RATE_LIMIT_LOGIN."""
MAX_CHECKED_LOG_INS = (MINUTES + 2) * LOG_INS
"""Limit for one address in all minutes, including the first and the last. For one account it is ten times higher."""


@pytest.fixture
async def timed_site(redis_url: str) -> AsyncIterator[Services]:
    """Services with a clock that only the test advances."""
    store = await open_store(redis_url)
    limits = {"login": LOG_INS, "address": None}
    services = Services(store, FixedClock(1_900_000_000_000), ServiceConfig(rate_limits=limits))
    loop_services.bind(services)
    yield services
    await store.close()


@pytest.mark.parametrize(
    ("sources", "victims"),
    [(1, 1), (1, 50), (1_000, 1)],
    ids=["from one at one", "from one at fifty", "from a thousand at one"],
)
async def test_guesses_are_limited_by_address_and_by_account(
    timed_site: Services, open_browser: OpenBrowser, sources: int, victims: int
) -> None:
    names = (f"victim{number}" for number in range(victims))
    handles = [person.handle for person in await World(timed_site).people(*names)]
    addresses = (f"203.0.{n // 250}.{n % 250}" for n in range(min(sources, GUESSES)))
    browsers = [await open_browser(address=address) for address in addresses]
    await browsers[0].fetch_csrf_token()
    clock, checked_guesses = timed_site.clock, 0
    assert isinstance(clock, FixedClock)
    for guess in range(GUESSES):
        clock.advance(MINUTES * 60_000 // GUESSES)
        browser = browsers[guess % len(browsers)]
        browser.http.cookies = browsers[0].http.cookies
        wrong = {"username": handles[guess % victims], "password": f"guess {guess}"}
        answer = await browser.post_json("/accounts/login/", **wrong)
        assert answer.status_code in (401, 429), answer.text
        assert answer.status_code == 401 or int(answer.headers["retry-after"]) >= 1
        checked_guesses += answer.status_code == 401
    print(f"{GUESSES} guesses in {MINUTES} min, {sources} addresses, {victims} accounts: {checked_guesses} looked at")
    bounds = 1 if sources == 1 else victims * NETWORKS_PER_HANDLE  # with many addresses, the limit per account applies
    assert MAX_CHECKED_LOG_INS * bounds < GUESSES
    assert MINUTES * LOG_INS * 0.8 * bounds <= checked_guesses <= MAX_CHECKED_LOG_INS * bounds
