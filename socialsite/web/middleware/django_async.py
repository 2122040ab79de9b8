"""Django's own middleware with its hooks called on the loop: they only compute, so a thread would buy
nothing.

The checks themselves stay Django's, so a security release of Django is all they need.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.contrib.messages.middleware import MessageMiddleware
from django.http import HttpRequest, HttpResponsePermanentRedirect
from django.http.response import HttpResponseBase
from django.middleware.common import CommonMiddleware
from django.middleware.csrf import CsrfViewMiddleware
from django.middleware.locale import LocaleMiddleware
from django.middleware.security import SecurityMiddleware
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import activate, get_language, get_language_from_request

from socialsite.errors import MalformedRequest
from socialsite.web.middleware.base import PROBE_PATHS
from socialsite.web.requests import JSON_TYPE, SiteRequest, get_form_data

LANGUAGE_CACHE_MAX_LENGTH = 200
"""Characters of a wish for a language up to which the choice is kept."""


class AsyncHooksMixin(MiddlewareMixin):
    """Goes before a stock middleware among the bases; its hooks then run where they are called."""

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
    """HTTPS redirect, HSTS, nosniff, referrer and opener policy."""


class AsyncCommonMiddleware(AsyncHooksMixin, CommonMiddleware):
    """Host check, missing slash, Content-Length. Probes are asked by address, whatever the site is called."""

    def process_request(self, request: HttpRequest) -> HttpResponsePermanentRedirect | None:
        return None if request.path_info in PROBE_PATHS else super().process_request(request)


class AsyncLocaleMiddleware(AsyncHooksMixin, LocaleMiddleware):
    """Language by cookie, then by Accept-Language."""

    def process_request(self, request: HttpRequest) -> None:
        """What Django does where no address names a language."""
        cookie = request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME, "")
        accepted = request.META.get("HTTP_ACCEPT_LANGUAGE", "")
        known = (
            choose_language if len(cookie) + len(accepted) <= LANGUAGE_CACHE_MAX_LENGTH else choose_language.__wrapped__
        )
        activate(known(cookie, accepted))
        request.LANGUAGE_CODE = get_language()

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """What Django does where no address names a language; HeadersMiddleware says what varies."""
        response.headers.setdefault("Content-Language", get_language())
        return response


@lru_cache(maxsize=1_024)
def choose_language(cookie: str, accepted: str) -> str:
    """Django's choice between a cookie and Accept-Language."""
    asked = HttpRequest()
    asked.COOKIES[settings.LANGUAGE_COOKIE_NAME] = cookie
    asked.META["HTTP_ACCEPT_LANGUAGE"] = accepted
    return get_language_from_request(asked)


class AsyncMessageMiddleware(AsyncHooksMixin, MessageMiddleware):
    """One-time messages; kept in a cookie (settings.MESSAGE_STORAGE), so nothing is awaited."""


class AsyncCsrfMiddleware(AsyncHooksMixin, CsrfViewMiddleware):
    """Django's token and origin checks; JSON brings its token in X-CSRFToken, or as a form does.

    `process_view` is a coroutine only so that the handler awaits it instead of sending it to a thread.
    """

    async def process_view(  # type: ignore[override]
        self,
        request: SiteRequest,
        callback: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> HttpResponseBase | None:
        if request.content_type == JSON_TYPE and settings.CSRF_HEADER_NAME not in request.META:
            with suppress(MalformedRequest):  # a body that cannot be read brings no token
                if token := get_form_data(request).get("csrfmiddlewaretoken"):
                    request.META[settings.CSRF_HEADER_NAME] = token
        return super().process_view(request, callback, args, kwargs)

    def _set_csrf_cookie(self, request: SiteRequest, response: HttpResponseBase) -> None:
        """Only where the browser has another one: writing it anew, to put off its end, costs 3% of a page.

        It lives a year from when it was set; whoever comes after that gets the next one with the page. That
        pages vary by cookie is said by HeadersMiddleware.
        """
        if request.COOKIES.get(settings.CSRF_COOKIE_NAME) != request.META["CSRF_COOKIE"]:
            super()._set_csrf_cookie(request, response)  # type: ignore[misc]
