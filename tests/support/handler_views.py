"""Views for tests of the handler, which record their events: `ROOT_URLCONF` of tests/web/requests/test_handler.py."""

import asyncio
import threading
from collections.abc import AsyncIterator

from django.http import HttpResponse, StreamingHttpResponse
from django.urls import path

from socialsite.web.requests import SiteRequest


class ViewLog:
    """The events and threads of the views."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.threads: set[int] = set()

    def clear(self) -> None:
        self.events.clear()
        self.threads.clear()


view_log = ViewLog()


async def hello(request: SiteRequest) -> HttpResponse:
    view_log.threads.add(threading.get_ident())
    return HttpResponse("hello")


def sync_hello(request: SiteRequest) -> HttpResponse:
    view_log.threads.add(threading.get_ident())
    return HttpResponse("hello from a thread")


async def slow(request: SiteRequest) -> HttpResponse:
    view_log.events.append("began")
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        view_log.events.append("cancelled")
        raise
    return HttpResponse("too late")


async def stream(request: SiteRequest) -> StreamingHttpResponse:
    async def parts() -> AsyncIterator[bytes]:
        try:
            for _ in range(1_000):
                yield b"part"
                await asyncio.sleep(0.01)
        finally:
            view_log.events.append("stream closed")

    return StreamingHttpResponse(parts())


async def broken(request: SiteRequest) -> HttpResponse:
    raise ZeroDivisionError("a secret of the code")


async def echo(request: SiteRequest) -> HttpResponse:
    return HttpResponse(request.body)


urlpatterns = [
    path("hello", hello), path("sync", sync_hello), path("slow", slow),
    path("stream", stream), path("broken", broken), path("echo", echo),
]  # fmt: skip
handler400 = handler403 = handler404 = "socialsite.web.views.not_found"
handler500 = "socialsite.web.views.server_error"
