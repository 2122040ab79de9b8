"""A web process is killed while it exchanges a code: the code is unused or used up, and no token is half stored."""

import asyncio
import contextlib
import os
import signal

import httpx
import pytest

from socialsite.ids import AccountId
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from tests.support.api import OAuthClient
from tests.support.browser import HttpBrowser
from tests.support.daphnes import running_daphne
from tests.support.random_tests import mostly_nightly

DELAYS_S = (0.004, 0.0, 0.012)


@pytest.mark.parametrize("delay_s", mostly_nightly(DELAYS_S, 1))
async def test_a_kill_between_code_and_token_leaves_no_usable_half(redis_url: str, delay_s: float) -> None:
    with running_daphne(redis_url) as daphne:
        async with HttpBrowser(base_url=daphne.origin) as browser:
            assert (await browser.sign_up("alice")).status_code == 201
            app = await OAuthClient.register(browser.http)
            code = await app.get_code(browser)
            exchange = asyncio.create_task(app.exchange(code))
            await asyncio.sleep(delay_s)
            os.kill(daphne.pid, signal.SIGKILL)
            first = None
            with contextlib.suppress(httpx.TransportError):
                first = await exchange
    with running_daphne(redis_url) as daphne:
        async with httpx.AsyncClient(base_url=daphne.origin, timeout=20) as http:
            app.http = http
            second = await app.exchange(code)
    assert second.status_code in (200, 400)
    assert first is None or first.status_code != 200 or second.status_code == 400
    async with open_services(redis_url, ServiceConfig()) as services:
        account = await services.accounts.get_by_handle("alice")
        tokens = await services.access_tokens.list_tokens(AccountId(account.id))
        assert len(tokens) <= 1
        assert len(await services.repositories.tokens.list_sessions(AccountId(account.id))) == len(tokens)
