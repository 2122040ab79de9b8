"""Django's middleware with its hooks called on the event loop, because they only compute.

The checks themselves are Django's, so a security release of Django is enough to update them.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.contrib.messages.middleware import MessageMiddleware
from django.http import HttpRequest, HttpResponse, HttpResponsePermanentRedirect
from django.http.response import HttpResponseBase
from django.middleware.common import CommonMiddleware
from django.middleware.csrf import CsrfViewMiddleware
from django.middleware.locale import LocaleMiddleware
from django.middleware.security import SecurityMiddleware
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import activate, get_language, get_language_from_request

from socialsite.errors import MalformedRequest
from socialsite.web.display import find_language
from socialsite.web.middleware.base import ADDRESS_HOST, PROBE_PATHS
from socialsite.web.requests import JSON_TYPE, SiteRequest, get_form_data

LANGUAGE_CACHE_MAX_LENGTH = 200
"""Maximum characters of a language cookie and an Accept-Language header whose language is cached."""


class AsyncHooksMixin(MiddlewareMixin):
    """Calls the hooks of Django's middleware on the event loop. It must be the first base class."""

    sync_capable = False

    async def __acall__(self, request: HttpRequest) -> HttpResponseBase:
        response: HttpResponseBase | None = None
        if before := getattr(self, "process_request", None):
            response = before(request)
        if response is None:
            response = await self.get_response(request)  # type: ignore[misc]
        if after := getattr(self, "process_response", None):
            response = after(request, response)
        return response


class AsyncSecurityMiddleware(AsyncHooksMixin, SecurityMiddleware):
    """Redirects to HTTPS, and sets HSTS, nosniff, referrer and opener policy."""

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        super().__init__(get_response)
        self._headers_by_security: dict[bool, dict[str, tuple[str, str]]] = {}

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """Set those of Django's headers that the response lacks. They differ only between HTTP and HTTPS."""
        headers = self._headers_by_security.get(request.is_secure())
        if headers is None:
            headers = super().process_response(request, HttpResponse()).headers._store
            del headers["content-type"]
            self._headers_by_security[request.is_secure()] = headers
        response.headers._store = {**headers, **response.headers._store}
        return response


class AsyncCommonMiddleware(AsyncHooksMixin, CommonMiddleware):
    """Checks the host, appends missing slashes and sets Content-Length. Probes may use any IP address as host."""

    def process_request(self, request: HttpRequest) -> HttpResponsePermanentRedirect | None:
        host = request.META.get("HTTP_HOST", "localhost")
        is_probe = request.path_info in PROBE_PATHS and ADDRESS_HOST.fullmatch(host)
        return None if is_probe else super().process_request(request)


class AsyncLocaleMiddleware(AsyncHooksMixin, LocaleMiddleware):
    """Chooses the language by its cookie or, without a cookie, by Accept-Language."""

    def process_request(self, request: HttpRequest) -> None:
        """Activate the language as Django does if URLs contain no language."""
        cookie = request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME, "")
        request.LANGUAGE_CODE = choose_language(cookie, request.META.get("HTTP_ACCEPT_LANGUAGE", ""))
        activate(request.LANGUAGE_CODE)

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Set Content-Language as Django does if URLs contain no language. HeadersMiddleware sets Vary."""
        response.headers.setdefault("Content-Language", get_language())
        return response


def choose_language(cookie: str, accepted: str, default: str = "") -> str:
    """Return the language that Django chooses for this cookie and Accept-Language header.

    If they ask for no language of the site, return the one of the tag `default`.
    """
    is_short = len(cookie) + len(accepted) <= LANGUAGE_CACHE_MAX_LENGTH
    code = (_choose_language if is_short else _choose_language.__wrapped__)(cookie, accepted)
    is_asked = code != settings.LANGUAGE_CODE or cookie == code or code in accepted.lower()
    return code if is_asked else find_language(default) or code


@lru_cache(maxsize=1_024)
def _choose_language(cookie: str, accepted: str) -> str:
    request = HttpRequest()
    request.COOKIES[settings.LANGUAGE_COOKIE_NAME] = cookie
    request.META["HTTP_ACCEPT_LANGUAGE"] = accepted
    return get_language_from_request(request)


class AsyncMessageMiddleware(AsyncHooksMixin, MessageMiddleware):
    """Stores one-time messages in a cookie (settings.MESSAGE_STORAGE)."""


class AsyncCsrfMiddleware(AsyncHooksMixin, CsrfViewMiddleware):
    """Checks token and origin as Django does. The token may also be a field of a JSON body.

    `process_view` is a coroutine so that the handler awaits it instead of running it in a thread.
    """

    async def process_view(  # type: ignore[override]
        self, request: SiteRequest, callback: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> HttpResponseBase | None:
        if getattr(callback, "csrf_exempt", False):
            return None
        if request.content_type == JSON_TYPE and settings.CSRF_HEADER_NAME not in request.META:
            with suppress(MalformedRequest):  # a malformed body has no token
                if token := get_form_data(request).get("csrfmiddlewaretoken"):
                    request.META[settings.CSRF_HEADER_NAME] = token
        return super().process_view(request, callback, args, kwargs)

    def _set_csrf_cookie(self, request: SiteRequest, response: HttpResponseBase) -> None:
        """Set the cookie only if the browser has another value, because setting it costs 3 % of a page's time.

        The cookie expires after a year, and the next page sets a new one. HeadersMiddleware sets Vary.
        """
        if request.COOKIES.get(settings.CSRF_COOKIE_NAME) != request.META["CSRF_COOKIE"]:
            super()._set_csrf_cookie(request, response)  # type: ignore[misc]
