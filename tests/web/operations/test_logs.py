"""Logs are lines of JSON with the id of the request and the client's address, and without secrets."""

import asyncio
import contextlib
import json
import os
import pty
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
import structlog
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus
from websockets.typing import Origin

from socialsite.web.services import LoopServices
from tests.support.daphnes import DaphneFleet
from tests.support.visitor import JSON_HEADERS, PASSWORD, HttpVisitor

SECRET_TEXT = "words that only followers should read"
Line = dict[str, Any]


@pytest.fixture
async def fleet(redis_url):
    async with DaphneFleet(redis_url, 1, LOG_LEVEL="DEBUG", TRUSTED_PROXIES="127.0.0.1") as running:
        yield running


def lines(fleet: DaphneFleet) -> Iterator[Line]:
    """Every line has to be JSON, since log collectors parse each line."""
    return (json.loads(line) for line in fleet.log.splitlines())


def events(fleet: DaphneFleet, name: str) -> list[Line]:
    return [line for line in lines(fleet) if line["event"] == name]


async def test_a_day_of_a_reader_leaves_no_secret_in_the_log(fleet):
    cookies = await asyncio.to_thread(a_day, fleet.origin)
    text = fleet.log
    for secret in (PASSWORD, "wrong password", SECRET_TEXT, "a query", "the-key-of-a-post", *cookies):
        assert secret not in text, secret
    assert "signed_up" in text


def a_day(origin: str) -> list[str]:
    with HttpVisitor(origin, "alice", address="198.51.100.7") as alice:
        alice.sign_up()
        alice.publishes(SECRET_TEXT, idempotency_key="the-key-of-a-post")
        alice.http.get("/public/?q=a query", headers=JSON_HEADERS)
        cookies = [value for name, value in alice.http.cookies.items()]
        alice.post("/accounts/settings/", private="1")
        new = {"new_password1": "other words 8", "new_password2": "other words 8"}
        alice.post("/accounts/password/", old_password="wrong password", **new)
        alice.post("/accounts/logout/")
        alice.post("/accounts/login/", username="alice", password="wrong password")
        return cookies


async def test_security_events_name_account_client_and_request(fleet):
    await asyncio.to_thread(a_day, fleet.origin)
    for event in (
        "signed_up", "signed_in", "privacy_changed", "password_refused", "signed_out", "sign_in_refused",
    ):  # fmt: skip
        matches = events(fleet, event)
        assert len(matches) == 1, event
        assert matches[0]["account"] == 1
        assert matches[0]["client"] == "198.51.100.7"
        assert len(matches[0]["request_id"]) == 16


async def test_a_log_in_over_the_limit_is_a_security_event(redis_url):
    async with DaphneFleet(redis_url, 1, LOG_LEVEL="INFO", RATE_LIMIT_LOGIN="2/m") as fleet:
        with HttpVisitor(fleet.origin, "alice") as alice:
            await asyncio.to_thread(alice.sign_up)
            wrong = {"username": "alice", "password": "wrong password"}
            answers = [await asyncio.to_thread(alice.post, "/accounts/login/", **wrong) for _ in range(5)]
        assert answers[-1].status_code == 429
        assert events(fleet, "sign_in_limited")[-1]["account"] == 1


async def test_the_lines_of_a_request_share_the_id_of_its_answer(fleet):
    async with httpx.AsyncClient(base_url=fleet.origin) as client:
        answer = await client.post("/accounts/login/", data={"username": "a", "password": "b"})
    assert answer.status_code == 403
    mine = [line for line in lines(fleet) if line.get("request_id") == answer.headers["x-request-id"]]
    assert {line["event"].partition(" ")[0] for line in mine} >= {"Forbidden", "request"}


async def test_clients_cannot_forge_log_lines(fleet):
    async with httpx.AsyncClient(base_url=fleet.origin) as client:
        await client.get("/%0A%7B%22event%22:%22forged%22%7D/%1B[2J%E2%80%A8/")
        await client.get("/public/", headers={"X-Request-ID": "forged", "User-Agent": "forged"})
    assert events(fleet, "forged") == []
    assert "\x1b" not in fleet.log
    assert "\u2028" not in fleet.log
    assert all(line.get("request_id") != "forged" for line in lines(fleet))


async def test_a_socket_from_another_site_logs_one_line(fleet):
    url = f"ws://127.0.0.1:{fleet.port}/ws/stream/"
    with pytest.raises(InvalidStatus):
        async with connect(url, origin=Origin("https://evil.example"), proxy=None):
            pass
    (line,) = events(fleet, "origin_refused")
    assert (line["origin"], line["client"]) == ("https://evil.example", "127.0.0.1")


@contextlib.asynccontextmanager
async def open_with_recorded_context() -> AsyncIterator[dict[str, Any]]:
    """An opener of services that yields the log context of the background tasks that it starts."""
    yield await asyncio.create_task(read_log_context())


async def read_log_context() -> dict[str, Any]:
    return structlog.contextvars.get_contextvars()


async def test_background_tasks_do_not_log_the_request_that_opened_the_services(settings: Any) -> None:
    settings.SERVICES_OPENER = f"{__name__}.open_with_recorded_context"
    with structlog.contextvars.bound_contextvars(request_id="of the first visitor"):
        context: Any = await LoopServices().get()
    assert context == {}


@pytest.mark.parametrize("is_terminal", [False, True])
def test_readable_logs_have_colours_on_a_terminal_only(is_terminal: bool) -> None:
    script = "import logging, django; django.setup(); logging.getLogger('site').warning('a warning')"
    environment = {**os.environ, "DEBUG": "1", "DJANGO_SETTINGS_MODULE": "socialsite.settings"}
    reading, writing = pty.openpty() if is_terminal else os.pipe()
    subprocess.run([sys.executable, "-c", script], env=environment, stderr=writing, check=True)
    output = os.read(reading, 10_000)
    os.close(reading)
    os.close(writing)
    assert b"a warning" in output
    assert (b"\x1b[" in output) is is_terminal
