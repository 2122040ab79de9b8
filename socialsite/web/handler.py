"""Django's ASGI handler without its threads (docs/reference/architecture.md).

The stock handler starts and joins a thread for every request (ThreadSensitiveContext), closes the response in
one, and sends each sync receiver, hook and log line through another: three quarters of a small page's CPU.
All that Django does in those threads only computes, so it runs on the loop here. What the stock handler
promises is kept: a client that leaves cancels the view, streams are closed, request_started and
request_finished are sent (sync receivers of the latter are called on the loop), a body is read once, and
within its limit (middleware/limits.py).
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import lru_cache
from io import BytesIO
from typing import Any

from asgiref.sync import iscoroutinefunction, sync_to_async
from django.conf import settings
from django.core import signals
from django.core.cache import close_caches
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.db import close_old_connections, reset_queries
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import set_script_prefix, set_urlconf

from socialsite.web.middleware.errors import HANDLED_ERRORS
from socialsite.web.middleware.limits import (
    InvalidBody,
    Message,
    Receive,
    Scope,
    Send,
    check_head,
    parse_content_length,
    read_body,
)
from socialsite.web.requests import SiteRequest

REQUEST_DEADLINE_S = 6.0
"""For all that a request does (middleware/deadline.py): one call of the store that hangs, and little more."""

DISCONNECT_WATCH_DELAY_S = 0.2
"""For so long nobody looks whether a client is still there."""

MiddlewareChain = Callable[[HttpRequest], Awaitable[HttpResponseBase]]


def disconnect_database_receivers() -> None:
    """Disconnect the receivers that tidy up after SQL and caches: there is nothing to tidy, and each is a
    hop.
    """
    signals.request_started.disconnect(reset_queries)
    signals.request_started.disconnect(close_old_connections)
    signals.request_finished.disconnect(close_old_connections)
    signals.request_finished.disconnect(close_caches)


class AsyncHandler(ASGIHandler):
    """HTTP on the event loop; only a sync view still goes to a thread."""

    request_class = SiteRequest

    def __init__(self, deadline_s: float = REQUEST_DEADLINE_S) -> None:
        super().__init__()
        self.deadline_s = deadline_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise ValueError(f"only HTTP is handled here, not {scope['type']}")
        await self.handle(scope, receive, send)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body within its limit, answer, and stop answering when the client is gone."""
        if scope["method"] == "HEAD":
            send = drop_response_body(send)
        max_bytes: int = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        refused, body = check_head(scope, max_bytes), b""
        if refused is None:
            try:
                body = await read_body(receive, parse_content_length(scope), max_bytes)
            except RequestAborted:
                return
            except InvalidBody as error:
                refused = error.status
        set_script_prefix(get_script_prefix(scope))
        await signals.request_started.asend(sender=self.__class__, scope=scope)
        request, bad_request = self.create_request(scope, BytesIO(body))
        if bad_request is not None:
            await self.send_response(bad_request, send)
            bad_request.close()
            return
        assert isinstance(request, SiteRequest)
        request._body, request.refused_status = body, refused
        request.deadline = asyncio.get_running_loop().time() + self.deadline_s
        await self._respond_until_disconnect(request, receive, send)

    async def _respond_until_disconnect(self, request: SiteRequest, receive: Receive, send: Send) -> None:
        """Race the answer against the disconnect, as the stock handler does, and wait for both to end."""
        watch, response = DisconnectWatcher(receive), None
        try:
            response = await self.run_get_response(request)
            await self.send_response(response, send)
        except asyncio.CancelledError:
            if not watch.is_disconnected:
                raise
        finally:
            await watch.stop()
        if response is None:
            signals.request_finished.send(sender=self.__class__)
            request.close()
        else:
            response.close()

    async def send_response(self, response: HttpResponseBase, send: Send) -> None:
        """A page leaves whole: Django's copies it out in pieces of 64 kB."""
        if response.streaming:
            await super().send_response(response, send)
            return
        headers = [(encode_header_name(name), value.encode("latin1")) for name, value in response.items()]
        for cookie in response.cookies.values():
            headers.append((b"Set-Cookie", cookie.output(header="").encode("ascii").strip()))
        start = {"type": "http.response.start", "status": response.status_code, "headers": headers}
        await send(start)
        await send({"type": "http.response.body", "body": response.content})  # type: ignore[attr-defined]

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        """As the stock handler's, without its log line in a thread: the access log says more."""
        set_urlconf(settings.ROOT_URLCONF)
        chain: MiddlewareChain = self._middleware_chain  # type: ignore[attr-defined]
        response = await chain(request)
        response._resource_closers.append(request.close)  # type: ignore[attr-defined]
        return response

    async def _get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        """Resolve, pass the view middleware, call the view.

        What the table of errors knows is answered here.
        """
        try:
            return await self._call_view(request)
        except HANDLED_ERRORS as error:
            response: HttpResponseBase | None = self.process_exception_by_middleware(error, request)
            if response is None:
                raise
            return response

    async def _call_view(self, request: HttpRequest) -> HttpResponseBase:
        view, args, kwargs = self.resolve_request(request)
        response: HttpResponseBase | None = None
        for hook in self._view_middleware:  # type: ignore[attr-defined]
            response = await hook(request, view, args, kwargs)
            if response:
                return response
        call = view if iscoroutinefunction(view) else sync_to_async(view, thread_sensitive=True)
        response = await call(request, *args, **kwargs)
        if not isinstance(response, HttpResponseBase):
            self.check_response(response, view)  # it refuses no response; its looking costs more
        return _render_response(response)


def drop_response_body(send: Send) -> Send:
    """For HEAD: daphne drops the first piece of a body alone, and what came after it (Django sends 64 kB at
    a time) would be read as the next answer on the connection.
    """

    async def send_head(message: Message) -> None:
        if message["type"] != "http.response.body":
            await send(message)
        elif not message.get("more_body", False):
            await send({"type": "http.response.body", "body": b""})

    return send_head


def _render_response(response: Any) -> HttpResponseBase:
    """A TemplateResponse is rendered on the loop; no hook of this stack wants to see it before."""
    done: HttpResponseBase = response.render() if callable(getattr(response, "render", None)) else response
    return done


@lru_cache(maxsize=256)
def encode_header_name(name: str) -> bytes:
    return name.encode("ascii")


class DisconnectWatcher:
    """Cancels the task that made it when its client is gone.

    Looks from DISCONNECT_WATCH_DELAY_S on: most answers are out by then, and a task for each request costs as much as
    its session.
    """

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._request_task = asyncio.current_task()
        self._watch_task: asyncio.Task[None] | None = None
        self._start_timer = asyncio.get_running_loop().call_later(DISCONNECT_WATCH_DELAY_S, self._start_watching)
        self.is_disconnected = False
        """Whether the client is gone, or the server's `receive` failed."""

    async def stop(self) -> None:
        """Raises what `receive` raised: that is the server's to know."""
        self._start_timer.cancel()
        looking = self._watch_task
        if looking is None:
            return
        looking.remove_done_callback(self._cancel_request)
        if not looking.done():
            looking.cancel()
            await asyncio.wait((looking,))
        if self.is_disconnected and self._request_task is not None:
            self._request_task.uncancel()
        if not looking.cancelled():
            looking.result()

    def _start_watching(self) -> None:
        self._watch_task = asyncio.create_task(_wait_for_disconnect(self._receive))
        self._watch_task.add_done_callback(self._cancel_request)

    def _cancel_request(self, looking: "asyncio.Task[None]") -> None:
        self.is_disconnected = True
        if self._request_task is not None:
            self._request_task.cancel()


async def _wait_for_disconnect(receive: Receive) -> None:
    """Return when the client is gone. What still comes of a refused body is dropped, piece by piece."""
    while (await receive())["type"] != "http.disconnect":
        pass
