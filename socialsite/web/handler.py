"""Django's ASGI handler without its threads.

Django's own handler starts and joins a thread for every request (ThreadSensitiveContext), closes the response in
another thread, and runs sync receivers, hooks and log calls in threads. That takes three quarters of a small page's CPU
time. The code in those threads only computes, so this handler runs it on the event loop. The rest is as in Django: a
view is cancelled if its client disconnects, streams are closed, request_started and request_finished are sent (sync
receivers of the latter run on the loop), and a body is read once, up to its limit
(middleware/request_size.py). A body with files is read later (uploads.py).
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import lru_cache
from io import BytesIO
from typing import Any, cast

from asgiref.sync import iscoroutinefunction, sync_to_async
from django.conf import settings
from django.core import signals
from django.core.cache import close_caches
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.core.handlers.base import reset_urlconf
from django.db import close_old_connections, reset_queries
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import ResolverMatch, URLResolver, get_resolver, set_script_prefix

from socialsite.web.asgi_types import Message, Receive, Scope, Send
from socialsite.web.daphne.flow_control import PIECE_BYTES, WHOLE_BYTES, send_body, waiting_for_reader
from socialsite.web.middleware.errors import HANDLED_ERRORS
from socialsite.web.middleware.request_size import InvalidBody, check_head, parse_content_length, read_body
from socialsite.web.requests import SiteRequest
from socialsite.web.uploads import PendingBody, find_rules_of_scope, leave_body_unread, receive_files

REQUEST_DEADLINE_S = 6.0
"""Time limit of a request (middleware/deadline.py). It is a little longer than the time-out of one store call."""

DISCONNECT_WATCH_DELAY_S = 0.2
"""Time after which the handler watches for a disconnect of the client."""

CACHED_PATHS, CACHED_PATH_MAX_LENGTH = 1_024, 100
"""The number of paths whose views are cached, and their length: Django tries the patterns of all URLs in turn."""

MiddlewareChain = Callable[[HttpRequest], Awaitable[HttpResponseBase]]


def disconnect_database_receivers() -> None:
    """Disconnect Django's receivers for SQL, caches and the URLs of a request, because the site does not need them."""
    signals.request_started.disconnect(reset_queries)
    signals.request_started.disconnect(close_old_connections)
    signals.request_finished.disconnect(close_old_connections)
    signals.request_finished.disconnect(close_caches)
    signals.request_finished.disconnect(reset_urlconf)


class AsyncHandler(ASGIHandler):
    """Serves HTTP on the event loop. Only a sync view runs in a thread."""

    request_class = SiteRequest

    def __init__(self, deadline_s: float = REQUEST_DEADLINE_S) -> None:
        super().__init__()
        self.deadline_s = deadline_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise ValueError(f"only HTTP is handled here, not {scope['type']}")
        await self.handle(scope, receive, send)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body up to its limit and respond, unless the client disconnects first."""
        if scope["method"] == "HEAD":
            send = drop_response_body(send)
        max_bytes: int = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        set_script_prefix(get_script_prefix(scope))
        rules = find_rules_of_scope(scope)
        refused_status, body = check_head(scope, max_bytes if rules is None else rules.max_bytes), b""
        declared = parse_content_length(scope) if refused_status is None else None
        is_large = rules is not None and (declared is None or declared > max_bytes)
        if refused_status is None and not is_large:
            try:
                body = await read_body(receive, declared, max_bytes)
            except RequestAborted:
                return
            except InvalidBody as error:
                refused_status = error.status
        await signals.request_started.asend(sender=self.__class__, scope=scope)
        request, bad_request = self.create_request(scope, BytesIO(body))
        if bad_request is not None:
            await self.send_response(bad_request, send)
            bad_request.close()
            return
        assert isinstance(request, SiteRequest)
        request.refused_status = refused_status
        if rules is not None and is_large and refused_status is None:
            leave_body_unread(request, PendingBody(rules, receive, declared))
        else:
            request._body = body
        deadline_s = rules.deadline_s if rules is not None and rules.deadline_s is not None else self.deadline_s
        request.deadline = asyncio.get_running_loop().time() + deadline_s
        await self._respond_until_disconnect(request, receive, send)

    async def _respond_until_disconnect(self, request: SiteRequest, receive: Receive, send: Send) -> None:
        """Run the view and watch for a disconnect at the same time, as Django does. Wait until both have ended."""
        watch, response = DisconnectWatcher(receive, request.pending_body), None
        try:
            response = await self.run_get_response(request)
            await self.send_response(response, send, request.client_address)
        except asyncio.CancelledError:
            if not (watch.is_disconnected or (request.pending_body and request.pending_body.is_disconnected)):
                raise
        finally:
            await watch.stop()
        if response is None:
            signals.request_finished.send(sender=self.__class__)
            request.close()
        else:
            response.close()

    async def send_response(self, response: HttpResponseBase, send: Send, address: str = "") -> None:
        """Send a page as one message, or in large pieces, each when the reader has read the piece before."""
        if response.streaming:
            async with waiting_for_reader(send, address) as send_and_wait:
                await super().send_response(response, send_and_wait)
            return
        stored = response.headers._store.values()  # `items` looks each name up again
        headers = [(encode_header_name(name), value.encode("latin1")) for name, value in stored]
        for cookie in response.cookies.values():
            headers.append((b"Set-Cookie", cookie.output(header="").encode("ascii").strip()))
        await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
        content: bytes = response.content  # type: ignore[attr-defined]
        size = WHOLE_BYTES if len(content) <= WHOLE_BYTES else PIECE_BYTES
        await send_body(send, (content[start : start + size] for start in range(0, len(content), size)), address)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        """Return the response as Django does, but without Django's log call in a thread. The site logs it itself."""
        chain: MiddlewareChain = self._middleware_chain  # type: ignore[attr-defined]
        response = await chain(request)
        response._resource_closers.append(request.close)  # type: ignore[attr-defined]
        return response

    def resolve_request(self, request: HttpRequest) -> ResolverMatch:
        """Return the view as Django does. Raises Resolver404. The site has one URLconf, so paths are cached."""
        find_view = _find_view if len(request.path_info) <= CACHED_PATH_MAX_LENGTH else _find_view.__wrapped__
        request.resolver_match = find_view(get_resolver(), request.path_info)
        return request.resolver_match

    async def _get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        """Call the view and its middleware. Errors with a known status become responses."""
        try:
            return await self._call_view(cast(SiteRequest, request))
        except HANDLED_ERRORS as error:
            response: HttpResponseBase | None = self.process_exception_by_middleware(error, request)
            if response is None:
                raise
            return response

    async def _call_view(self, request: SiteRequest) -> HttpResponseBase:
        view, args, kwargs = self.resolve_request(request)
        await receive_files(request)
        response: HttpResponseBase | None = None
        for hook in self._view_middleware:  # type: ignore[attr-defined]
            response = await hook(request, view, args, kwargs)
            if response:
                return response
        call = view if iscoroutinefunction(view) else sync_to_async(view, thread_sensitive=True)
        response = await call(request, *args, **kwargs)
        if not isinstance(response, HttpResponseBase):
            self.check_response(response, view)  # raises Django's error; slow, so only called in this case
        return _render_response(response)


def drop_response_body(send: Send) -> Send:
    """Return a `send` for HEAD that sends an empty body.

    Without it, daphne drops only the first piece of a body, and clients read the next piece as the next response.
    """

    async def send_head(message: Message) -> None:
        if message["type"] != "http.response.body":
            await send(message)
        elif not message.get("more_body", False):
            await send({"type": "http.response.body", "body": b""})

    return send_head


@lru_cache(maxsize=CACHED_PATHS)
def _find_view(resolver: URLResolver, path: str) -> ResolverMatch:
    return resolver.resolve(path)


def _render_response(response: Any) -> HttpResponseBase:
    """Render a TemplateResponse on the loop. No middleware of the site needs the unrendered response."""
    rendered: HttpResponseBase = response.render() if callable(getattr(response, "render", None)) else response
    return rendered


@lru_cache(maxsize=256)
def encode_header_name(name: str) -> bytes:
    return name.encode("ascii")


class DisconnectWatcher:
    """Cancels the task that created it if the client disconnects.

    It starts after DISCONNECT_WATCH_DELAY_S, when most requests have a response. A task for every request would
    cost as much as reading the session.
    """

    def __init__(self, receive: Receive, pending_body: PendingBody | None = None) -> None:
        self._receive = receive
        self._pending_body = pending_body
        self._request_task = asyncio.current_task()
        self._watch_task: asyncio.Task[None] | None = None
        self._start_timer = asyncio.get_running_loop().call_later(DISCONNECT_WATCH_DELAY_S, self._start_watching)
        self.is_disconnected = False
        """Whether the client disconnected or the server's `receive` failed."""

    async def stop(self) -> None:
        """Stop watching. If `receive` failed, its error is raised, so that the server gets it."""
        self._start_timer.cancel()
        watch_task = self._watch_task
        if watch_task is None:
            return
        watch_task.remove_done_callback(self._cancel_request)
        if not watch_task.done():
            watch_task.cancel()
            await asyncio.wait((watch_task,))
        if self.is_disconnected and self._request_task is not None:
            self._request_task.uncancel()
        if not watch_task.cancelled():
            watch_task.result()

    def _start_watching(self) -> None:
        if self._pending_body is not None and not self._pending_body.is_read:  # the view reads the body first
            self._start_timer = asyncio.get_running_loop().call_later(DISCONNECT_WATCH_DELAY_S, self._start_watching)
            return
        self._watch_task = asyncio.create_task(_wait_for_disconnect(self._receive))
        self._watch_task.add_done_callback(self._cancel_request)

    def _cancel_request(self, watch_task: "asyncio.Task[None]") -> None:
        self.is_disconnected = True
        if self._request_task is not None:
            self._request_task.cancel()


async def _wait_for_disconnect(receive: Receive) -> None:
    """Wait until the client disconnects. The rest of a refused body is read and dropped."""
    while (await receive())["type"] != "http.disconnect":
        pass
