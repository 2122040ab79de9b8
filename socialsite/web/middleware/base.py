"""The base class of the site's middleware."""

import re
from collections.abc import Awaitable, Callable

from asgiref.sync import markcoroutinefunction
from django.http.response import HttpResponseBase

from socialsite.web.requests import SiteRequest

PROBE_PATHS = ("/livez", "/readyz", "/metrics")
"""Paths that monitoring requests, also while the store is unavailable. They use neither services nor sessions."""
ADDRESS_HOST = re.compile(r"(localhost|[0-9.]+|\[[0-9a-fA-F:.]+\])(:\d+)?")
"""A Host header without a domain name. A page of another site cannot send one (DNS rebinding)."""

GetResponse = Callable[[SiteRequest], Awaitable[HttpResponseBase]]


class Middleware:
    """Async middleware. Under WSGI, Django raises an error instead of running it in threads."""

    sync_capable = False
    async_capable = True

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        markcoroutinefunction(self)

    async def __call__(self, request: SiteRequest) -> HttpResponseBase:
        return await self.get_response(request)
