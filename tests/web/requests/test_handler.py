"""The handler keeps Django's guarantees without its threads: disconnects, streams, signals, sync views."""

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from django.core import signals

from socialsite.asgi import application
from socialsite.web.handler import AsyncHandler
from tests.support import handler_views as views
from tests.support.handler_views import view_log
from tests.support.waiting import eventually

Message = dict[str, Any]


@pytest.fixture(autouse=True)
def urlconf(settings):
    settings.ROOT_URLCONF = views.__name__
    settings.MIDDLEWARE = ["socialsite.web.middleware.errors.ErrorsMiddleware"]
    view_log.clear()


@pytest.fixture
def handler() -> AsyncHandler:
    return AsyncHandler()


@pytest.fixture
async def client(handler) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(handler, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as opened:
        yield opened


def scope_of(path: str) -> Message:
    return {
        "type": "http", "method": "GET", "path": path, "headers": [], "query_string": b"", "scheme": "http",
    }  # fmt: skip


def part_of(body: bytes, *, is_last: bool = False) -> Message:
    return {"type": "http.request", "body": body, "more_body": not is_last}


class Client:
    """An ASGI client that disconnects at a chosen moment."""

    def __init__(self, *said: Message) -> None:
        self.incoming: asyncio.Queue[Message] = asyncio.Queue()
        for message in said or (part_of(b"", is_last=True),):
            self.incoming.put_nowait(message)
        self.sent: list[Message] = []

    async def send(self, message: Message) -> None:
        self.sent.append(message)

    async def asks(self, application: Any, scope: Message) -> None:
        await application(scope, self.incoming.get, self.send)

    def leave(self) -> None:
        self.incoming.put_nowait({"type": "http.disconnect"})


async def test_a_request_starts_no_thread(client):
    await client.get("/hello")
    before = threading.active_count()
    for _ in range(50):
        assert (await client.get("/hello")).text == "hello"
    assert view_log.threads == {threading.get_ident()}
    assert threading.active_count() == before


async def test_a_sync_view_still_works_in_a_thread(client):
    assert (await client.get("/sync")).text == "hello from a thread"
    assert view_log.threads != {threading.get_ident()}


async def test_a_client_that_leaves_cancels_its_view(handler):
    client = Client()
    answering = asyncio.create_task(client.asks(handler, scope_of("/slow")))
    await eventually(lambda: view_log.events == ["began"], timeout_s=20)
    client.leave()
    await answering
    assert view_log.events == ["began", "cancelled"]
    assert client.sent == []


async def test_a_client_that_leaves_closes_its_stream(handler):
    client = Client()
    answering = asyncio.create_task(client.asks(handler, scope_of("/stream")))
    await eventually(lambda: len(client.sent) > 3, timeout_s=20)
    client.leave()
    await answering
    assert view_log.events == ["stream closed"]
    assert len(client.sent) < 900


async def test_a_server_that_stops_leaves_no_task_behind(handler):
    client = Client()
    answering = asyncio.create_task(client.asks(handler, scope_of("/slow")))
    await eventually(lambda: view_log.events == ["began"], timeout_s=20)
    answering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await answering
    assert view_log.events == ["began", "cancelled"]
    assert len(asyncio.all_tasks()) == 1


async def test_a_client_that_leaves_while_sending_gets_no_answer(handler):
    client = Client(part_of(b"half"))
    client.leave()
    await client.asks(handler, scope_of("/echo"))
    assert client.sent == []


async def test_the_rest_of_a_refused_body_is_dropped(handler):
    """This stack has no RequestSizeMiddleware; the handler stops reading the body at 64 kB."""
    client = Client(*[part_of(b"a" * 50_000)] * 5)
    await client.asks(handler, scope_of("/hello"))
    assert client.sent[0]["status"] == 200


async def test_request_signals_are_sent_on_the_loop(client):
    sent_signals = []

    def started(**_: object) -> None:
        sent_signals.append("started")

    def finished(**_: object) -> None:
        sent_signals.append("finished")
        view_log.threads.add(threading.get_ident())

    signals.request_started.connect(started)
    signals.request_finished.connect(finished)
    try:
        await client.get("/hello")
    finally:
        signals.request_started.disconnect(started)
        signals.request_finished.disconnect(finished)
    assert sent_signals == ["started", "finished"]
    assert view_log.threads == {threading.get_ident()}


async def test_a_defect_is_500_without_details(client, site, settings):
    settings.MIDDLEWARE = []
    answer = await client.get("/broken", headers={"Accept": "application/json"})
    assert (answer.status_code, answer.json()["error"]) == (500, "defect")
    page = await client.get("/broken")
    assert page.status_code == 500
    assert "secret" not in page.text + answer.text
    assert "ZeroDivision" not in page.text + answer.text


async def test_a_view_over_its_deadline_is_cancelled_and_503(site, settings):
    settings.MIDDLEWARE = ["socialsite.web.middleware.deadline.DeadlineMiddleware", *settings.MIDDLEWARE]
    transport = httpx.ASGITransport(AsyncHandler(deadline_s=0.05), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as client:
        answer = await client.get("/slow", headers={"Accept": "application/json"})
    assert (answer.status_code, answer.json()["error"]) == (503, "unavailable")
    assert answer.headers["retry-after"]
    assert view_log.events == ["began", "cancelled"]


async def test_another_protocol_is_an_error_of_the_server(handler):
    client = Client()
    with pytest.raises(ValueError, match="only HTTP"):
        await client.asks(handler, {"type": "websocket"})
    with pytest.raises(ValueError, match="No application"):
        await client.asks(application, {"type": "smtp"})


async def test_startup_and_shutdown_are_confirmed_to_servers_with_lifespan():
    client = Client({"type": "lifespan.startup"}, {"type": "lifespan.shutdown"})
    await client.asks(application, {"type": "lifespan"})
    assert [message["type"] for message in client.sent] == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
