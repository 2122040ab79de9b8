"""Views of an account take its handle from the URL."""

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any

from django.http import HttpResponsePermanentRedirect
from django.http.response import HttpResponseBase

from socialsite.web.requests import SiteRequest

HandleView = Callable[[SiteRequest, str], Coroutine[Any, Any, HttpResponseBase]]


def with_canonical_handle(view: HandleView) -> HandleView:
    """Redirect a page with an upper case handle (301) to lower case. Actions accept any case."""

    @wraps(view)
    async def canonical(request: SiteRequest, handle: str) -> HttpResponseBase:
        lower = handle.lower()
        if lower != handle and request.method in ("GET", "HEAD"):
            return HttpResponsePermanentRedirect(request.get_full_path().replace(f"@{handle}", f"@{lower}", 1))
        return await view(request, lower)

    return canonical
