"""Without the store, or with a full store, the answer is 503, and no acknowledged data are lost."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator
from os import kill

import pytest

from socialsite.container import Services
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.web.handler import REQUEST_DEADLINE_S
from socialsite.web.services import loop_services
from tests.support.browser import HttpBrowser, cookies_of
from tests.support.redis_server import RedisServer
from tests.support.stalls import StallMonitor
from tests.support.visitor import PASSWORD
from tests.support.waiting import eventually


@pytest.fixture
async def site(server: RedisServer) -> AsyncIterator[Services]:
    async with open_services(server.url, ServiceConfig(rate_limits={"address": 10_000})) as opened:
        loop_services.bind(opened)
        yield opened


PAGES = ("/", "/public/", "/@alice/", "/@alice/7/", "/lists/", "/accounts/settings/", "/accounts/login/")


async def test_every_page_is_503_while_the_store_is_unreachable(alice: HttpBrowser, server: RedisServer):
    server.kill()
    for path in PAGES:
        page, data = await alice.get(path), await alice.get_json(path)
        assert (page.status_code, data.status_code) == (503, 503)
        assert int(page.headers["retry-after"]) > 0
        assert data.json()["error"] == "unavailable"
        assert "Traceback" not in page.text
        assert str(server.directory) not in page.text + data.text


async def test_a_page_whose_commands_are_denied_is_503_until_the_right_is_granted(
    alice: HttpBrowser, server: RedisServer
):
    with server.client() as client:
        client.execute_command("ACL", "SETUSER", "default", "-@scripting")
        page, data = await alice.get("/"), await alice.post_json("/posts/", text="hello")
        client.execute_command("ACL", "SETUSER", "default", "+@scripting")
    assert data.status_code == 503
    assert int(data.headers["retry-after"]) > 0
    assert "NOPERM" not in page.text + data.text
    assert (await alice.post_json("/posts/", text="hello")).status_code == 201


async def test_a_sign_up_succeeds_although_the_mail_to_its_address_cannot_be_stored(
    visitor: HttpBrowser, server: RedisServer
):
    fields = {"handle": "alice", "password1": PASSWORD, "password2": PASSWORD, "address": "alice@example.org"}
    with server.client() as client:
        client.execute_command("ACL", "SETUSER", "default", "-xadd")
    assert (await visitor.post_json("/accounts/signup/", **fields)).status_code == 201
    assert (await visitor.get_json("/accounts/mail/")).json()["pending"] == "alice@example.org"


async def test_an_unreachable_store_ends_no_session(alice: HttpBrowser, server: RedisServer):
    server.kill()
    answer = await alice.get("/")
    assert "sessionid" not in cookies_of(answer)
    assert "location" not in answer.headers


async def test_a_post_without_a_store_keeps_its_text(alice: HttpBrowser, server: RedisServer):
    await alice.get("/")
    server.kill()
    answer = await alice.post("/posts/", text="long in the writing", idempotency_key="the-key")
    assert answer.status_code == 503
    assert "long in the writing" in answer.text


async def test_the_site_reconnects_to_the_store(alice: HttpBrowser, server: RedisServer):
    server.kill()
    assert (await alice.get("/")).status_code == 503
    server.start()
    assert (await alice.get("/public/")).status_code == 200


async def test_a_hanging_store_is_503_within_the_deadline(alice: HttpBrowser, server: RedisServer):
    kill(server.pid, signal.SIGSTOP)
    began = time.monotonic()
    try:
        requests = (alice.get("/"), alice.get("/public/"), alice.get_json("/lists/"), alice.post("/posts/", text="x"))
        with StallMonitor() as stalls:
            answers = await asyncio.gather(*requests)
        took_s = time.monotonic() - began
    finally:
        kill(server.pid, signal.SIGCONT)
    assert took_s < REQUEST_DEADLINE_S + 1 + stalls.total_s
    assert [answer.status_code for answer in answers] == [503] * 4
    assert all(answer.headers["retry-after"] for answer in answers)
    assert (await alice.get("/public/")).status_code == 200


async def test_probes_distinguish_life_from_readiness(visitor: HttpBrowser, server: RedisServer):
    ready = await visitor.get("/readyz")
    assert ready.status_code == 200
    assert set(ready.json()["components"].values()) == {"ok"}
    assert {"accounts", "posts", "timelines", "follows", "jobs"} <= set(ready.json()["components"])
    server.kill()

    async def is_down() -> bool:  # requests of one second share a check
        return (await visitor.get("/readyz")).status_code == 503

    await eventually(is_down)
    down = await visitor.get("/readyz")
    assert (down.status_code, down.json()["status"]) == (503, "down")
    assert "ok" not in down.json()["components"].values()
    assert (await visitor.get("/livez")).status_code == 200


async def test_a_full_store_refuses_posts_and_serves_readers(alice: HttpBrowser, server: RedisServer):
    await alice.publish("before")
    with server.client() as client:
        client.config_set("maxmemory", "1mb")
    answer = await alice.post("/posts/", text="long in the writing", idempotency_key="the-key")
    assert answer.status_code == 503
    assert answer.headers["retry-after"]
    assert 'value="the-key"' in answer.text
    assert ">\nlong in the writing</textarea>" in answer.text
    assert "before" in (await alice.get("/public/")).text


async def test_a_home_that_cannot_be_built_in_a_full_store_is_read_from_profiles(
    alice: HttpBrowser, server: RedisServer
):
    await alice.publish("before")
    await alice.get("/")
    with server.client() as client:
        assert client.delete(*client.scan_iter("timelines:*:home")) == 1
        client.config_set("maxmemory", "1mb")
        page = await alice.get("/")
        assert (page.status_code, "before" in page.text) == (200, True)
        client.config_set("maxmemory", 0)
    assert "before" in (await alice.get("/")).text


async def test_a_failed_write_of_the_sessions_last_use_hides_no_page(alice: HttpBrowser, server: RedisServer):
    """The server refuses every write, as with a full disk, and answers reads."""
    await alice.publish("before")
    await alice.get("/")
    with server.client() as client:
        for index in client.scan_iter("sessions:*", _type="zset"):
            for session_id, used_ms in client.zrange(index, 0, -1, withscores=True):
                client.zadd(index, {session_id: used_ms - 120_000})
        client.config_set("min-replicas-to-write", 1)
    assert "before" in (await alice.get("/")).text
    assert (await alice.post("/posts/", text="meanwhile")).status_code == 503
