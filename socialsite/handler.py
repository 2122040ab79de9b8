"""Django's ASGI handler without its threads (docs/architecture.md).

The stock handler starts and joins a thread for every request (ThreadSensitiveContext), closes the response in
one, and sends each sync receiver, hook and log line through another: three quarters of a small page's CPU.
All that Django does in those threads only computes, so it runs on the loop here. What the stock handler
promises is kept: a client that leaves cancels the view, streams are closed, request_started and
request_finished are sent (sync receivers of the latter are called on the loop), a body is read once, and
within its limit (middleware/limits.py).
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
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

from .http import SiteRequest
from .middleware.errors import EXPECTED
from .middleware.limits import (
    BodyRefused,
    Message,
    Receive,
    Scope,
    Send,
    declared_length,
    read_bounded,
    refusal_of_head,
)

DEADLINE_S = 6.0
"""For all that a request does (middleware/deadline.py): one call of the store that hangs, and little more."""

Chain = Callable[[HttpRequest], Awaitable[HttpResponseBase]]


def drop_database_receivers() -> None:
    """Disconnect the receivers that tidy up after SQL and caches: there is nothing to tidy, and each is a
    hop.
    """
    signals.request_started.disconnect(reset_queries)
    signals.request_started.disconnect(close_old_connections)
    signals.request_finished.disconnect(close_old_connections)
    signals.request_finished.disconnect(close_caches)


class LoopHandler(ASGIHandler):
    """HTTP on the event loop; only a sync view still goes to a thread."""

    request_class = SiteRequest

    def __init__(self, deadline_s: float = DEADLINE_S) -> None:
        super().__init__()
        self.deadline_s = deadline_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise ValueError(f"only HTTP is handled here, not {scope['type']}")
        await self.handle(scope, receive, send)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body within its limit, answer, and stop answering when the client is gone."""
        if scope["method"] == "HEAD":
            send = without_body(send)
        max_bytes: int = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        refused, body = refusal_of_head(scope, max_bytes), b""
        if refused is None:
            try:
                body = await read_bounded(receive, declared_length(scope), max_bytes)
            except RequestAborted:
                return
            except BodyRefused as error:
                refused = error.status
        set_script_prefix(get_script_prefix(scope))
        await signals.request_started.asend(sender=self.__class__, scope=scope)
        request, bad_request = self.create_request(scope, BytesIO(body))
        if bad_request is not None:
            await self.send_response(bad_request, send)
            bad_request.close()
            return
        assert isinstance(request, SiteRequest)
        request._body, request.refused = body, refused
        request.deadline = asyncio.get_running_loop().time() + self.deadline_s
        await self._answer_unless_gone(request, receive, send)

    async def _answer_unless_gone(self, request: SiteRequest, receive: Receive, send: Send) -> None:
        """Race the answer against the disconnect, as the stock handler does, and wait for both to end."""
        leaving = asyncio.create_task(_disconnect(receive))
        answering = asyncio.create_task(self._answer(request, send))
        try:
            await asyncio.wait((leaving, answering), return_when=asyncio.FIRST_COMPLETED)
        finally:
            await _end(leaving)
            await _end(answering)
        if not leaving.cancelled():
            leaving.result()  # receive() may fail: that is the server's to know
        if answering.cancelled():
            signals.request_finished.send(sender=self.__class__)
            request.close()
        else:
            answering.result().close()

    async def _answer(self, request: SiteRequest, send: Send) -> HttpResponseBase:
        response = await self.run_get_response(request)
        with suppress(
            asyncio.CancelledError
        ):  # the client left meanwhile; the response is still to be closed
            await self.send_response(response, send)
        return response

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        """As the stock handler's, without its log line in a thread: the access log says more."""
        set_urlconf(settings.ROOT_URLCONF)
        chain: Chain = self._middleware_chain  # type: ignore[attr-defined]
        response = await chain(request)
        response._resource_closers.append(request.close)  # type: ignore[attr-defined]
        return response

    async def _get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        """Resolve, pass the view middleware, call the view.

        What the table of errors knows is answered here.
        """
        try:
            return await self._view_response(request)
        except EXPECTED as error:
            response: HttpResponseBase | None = self.process_exception_by_middleware(error, request)
            if response is None:
                raise
            return response

    async def _view_response(self, request: HttpRequest) -> HttpResponseBase:
        view, args, kwargs = self.resolve_request(request)
        response: HttpResponseBase | None = None
        for hook in self._view_middleware:  # type: ignore[attr-defined]
            response = await hook(request, view, args, kwargs)
            if response:
                return response
        call = view if iscoroutinefunction(view) else sync_to_async(view, thread_sensitive=True)
        response = await call(request, *args, **kwargs)
        self.check_response(response, view)
        return _rendered(response)


def without_body(send: Send) -> Send:
    """For HEAD: daphne drops the first piece of a body alone, and what came after it (Django sends 64 kB at
    a time) would be read as the next answer on the connection.
    """

    async def send_head(message: Message) -> None:
        if message["type"] != "http.response.body":
            await send(message)
        elif not message.get("more_body", False):
            await send({"type": "http.response.body", "body": b""})

    return send_head


def _rendered(response: Any) -> HttpResponseBase:
    """A TemplateResponse is rendered on the loop; no hook of this stack wants to see it before."""
    done: HttpResponseBase = response.render() if callable(getattr(response, "render", None)) else response
    return done


async def _disconnect(receive: Receive) -> None:
    """Return when the client is gone. What still comes of a refused body is dropped, piece by piece."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _end(task: "asyncio.Task[Any]") -> None:
    """Cancel a task that still runs and wait until it has: views may clean up. Its error is the caller's."""
    if not task.done():
        task.cancel()
    await asyncio.wait((task,))
