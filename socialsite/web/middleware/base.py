"""What each middleware of the stack is: a coroutine around the next one."""

from collections.abc import Awaitable, Callable

from asgiref.sync import markcoroutinefunction
from django.http.response import HttpResponseBase

from socialsite.web.requests import SiteRequest

PROBE_PATHS = ("/livez", "/readyz", "/metrics")
"""Asked often, and also while the store is down: neither services nor sessions have a part in them."""

GetResponse = Callable[[SiteRequest], Awaitable[HttpResponseBase]]


class Middleware:
    """Async only: Django refuses it under WSGI instead of wrapping it in threads."""

    sync_capable = False
    async_capable = True

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        markcoroutinefunction(self)

    async def __call__(self, request: SiteRequest) -> HttpResponseBase:
        return await self.get_response(request)
