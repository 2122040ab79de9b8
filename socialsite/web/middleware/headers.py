"""Set the headers of every response: Content-Security-Policy, caching and compression.

Django's SecurityMiddleware sets HSTS, nosniff, referrer and opener policy (django_async.py).
"""

import re
import time
from functools import lru_cache

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpResponse
from django.http.response import HttpResponseBase, ResponseHeaders
from django.templatetags.static import static
from django.utils.http import http_date

from socialsite.recipes.rate_limit import MINUTE_MS
from socialsite.web.compression import compress_page
from socialsite.web.middleware.base import Middleware
from socialsite.web.requests import SiteRequest, is_api_path
from socialsite.web.responses import format_iso_time

API_VARY_HEADER = "Accept-Language, Authorization, Origin"
VARY_HEADER = "Accept, Accept-Encoding, Accept-Language, Cookie"
OPEN_PREFIXES = ("/api/", "/oauth/token", "/oauth/revoke", "/nodeinfo/", "/.well-known/")
"""Addresses that pages of other sites may request. They need an access token or no rights, and ignore cookies."""
CORS_HEADERS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": (
        "Link, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id, Idempotency-Key"
    ),
}
"""Without Access-Control-Allow-Credentials, browsers send no cookies with these requests."""
PREFLIGHT_HEADERS = {
    "Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, Idempotency-Key, Accept, Accept-Language",
    "Access-Control-Max-Age": "86400",
}
AUTHORIZATION_PATH = "/oauth/authorize"
AUTHORIZATION_URL = re.compile(rf"(https?://[^/?#]*)?{AUTHORIZATION_PATH}\b")
PERMISSIONS_POLICY = "camera=(), geolocation=(), microphone=(), payment=(), usb=()"
_date_header = lru_cache(maxsize=1)(http_date)


@lru_cache(maxsize=64)
def content_security_policy(websocket_origin: str, leads_to_app: bool = False) -> str:
    """Return a policy that allows this host only, without inline scripts and styles.

    A page that leads to an app has no `form-action`: browsers would apply it to all redirects after the form, and an
    app may redirect to another host or scheme (w3c/webappsec-csp#8).
    Some browsers do not count websockets as 'self', so their origin is listed.
    """
    return "; ".join(
        (
            "default-src 'self'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self'",
            f"connect-src 'self' {websocket_origin}".rstrip(),
            "object-src 'none'",
            "base-uri 'none'",
            *(() if leads_to_app else ("form-action 'self'",)),
            "frame-ancestors 'none'",
        )
    )


@lru_cache(maxsize=128)
def _common_headers(policy: str, is_page: bool) -> dict[str, tuple[str, str]]:
    """Return the headers that are the same for all pages, or all other responses, as Django stores them.

    Django would check each value for each response. By the header Link, the browser loads the style sheet while it
    reads the page.
    """
    headers = {"X-Frame-Options": "DENY", "Permissions-Policy": PERMISSIONS_POLICY, "Vary": VARY_HEADER}
    if policy:
        headers["Content-Security-Policy"] = policy
    if is_page:
        headers["Link"] = f"<{static('css/site.css')}>; rel=preload; as=style"
    return ResponseHeaders(headers)._store


class HeadersMiddleware(Middleware):
    """Sets the headers. If the request or the response has a cookie, the response is private."""

    async def __call__(self, request: SiteRequest) -> HttpResponseBase:
        is_open = request.path_info.startswith(OPEN_PREFIXES)
        response = await (self._respond_to_any_origin(request) if is_open else self._respond(request))
        response.headers["Date"] = _date_header(int(time.time()))  # daphne sends no Date, which apps need
        return response

    async def _respond(self, request: SiteRequest) -> HttpResponseBase:
        response = await self.get_response(request)
        headers = response.headers
        is_file = headers.get("Content-Security-Policy", "").startswith("sandbox")  # the view sets the headers
        is_page = headers.get("Content-Type", "").startswith("text/html")
        leads_to_app = _leads_to_app(request)
        policy = "" if is_file else content_security_policy(_websocket_origin(request), leads_to_app)
        if leads_to_app:
            headers["Cross-Origin-Opener-Policy"] = "unsafe-none"  # otherwise a popup loses the page of the app
        headers._store.update(_common_headers(policy, is_page))
        if is_file and not response.cookies:
            del headers["Vary"]
            return response
        if "HTTP_COOKIE" in request.META or response.cookies or response.status_code >= 400:
            if is_page and _may_enter_back_forward_cache(request, response):
                headers["Cache-Control"] = "private, no-cache"
                headers["Vary"] = "*"  # Back otherwise shows an old copy from the HTTP cache without a request
            else:
                headers["Cache-Control"] = "private, no-store"
        else:
            headers.setdefault("Cache-Control", "no-cache")
        if settings.COMPRESS_PAGES:
            compress_page(request, response)
        return response

    async def _respond_to_any_origin(self, request: SiteRequest) -> HttpResponseBase:
        """Answer a request of the API, with the headers of CORS (https://fetch.spec.whatwg.org/).

        Some clients end an address with a slash.
        """
        request.path_info = request.path_info.rstrip("/")
        is_preflight = request.method == "OPTIONS" and "HTTP_ACCESS_CONTROL_REQUEST_METHOD" in request.META
        preflight = HttpResponse(status=204, headers=PREFLIGHT_HEADERS) if is_preflight else None
        response = preflight or await self.get_response(request)
        headers = response.headers
        for name, value in CORS_HEADERS.items():
            headers[name] = value
        for name, value in rate_limit_headers(request).items():
            headers[name] = value
        headers["Vary"] = API_VARY_HEADER
        headers.setdefault("Cache-Control", "private, no-store" if is_api_path(request.path_info) else "no-cache")
        headers["Content-Security-Policy"] = "default-src 'none'; frame-ancestors 'none'"
        headers["X-Frame-Options"] = "DENY"
        return response


def rate_limit_headers(request: SiteRequest) -> dict[str, str]:
    """Return the headers that name the limit with the fewest further requests, as Mastodon does."""
    limited = [decision for decision in request.decisions or () if decision.limit]
    decision = min(limited, key=lambda each: each.remaining, default=None)
    if decision is None:
        return {}
    now_ms = request.services.clock.now_ms()
    reset_ms = (now_ms // MINUTE_MS + 1) * MINUTE_MS if decision.granted else now_ms + 1000 * decision.retry_after_s
    return {
        "X-RateLimit-Limit": str(decision.limit),
        "X-RateLimit-Remaining": str(decision.remaining),
        "X-RateLimit-Reset": format_iso_time(reset_ms),
    }


def _leads_to_app(request: SiteRequest) -> bool:
    """Return whether this is the consent page, or a step of a log-in that returns to it."""
    if not request.path_info.startswith(settings.LOGIN_URL):
        return request.path_info.startswith(AUTHORIZATION_PATH)
    fields = getattr(request, "_form", None) or request.GET  # a body that was not read has no form
    return AUTHORIZATION_URL.match(fields.get("next", "")) is not None


def _may_enter_back_forward_cache(request: SiteRequest, response: HttpResponseBase) -> bool:
    """Return whether static/js/backforward.js runs in the browser: it checks the viewer when the page is shown again.

    Pages of settings and of staff are loaded again in every case.
    """
    return (
        settings.VIEWER_COOKIE_NAME in request.COOKIES
        and request.method == "GET"
        and response.status_code == 200
        and not request.path_info.startswith(("/accounts/", "/ops/"))
    )


def _websocket_origin(request: SiteRequest) -> str:
    try:
        return f"{'wss' if request.is_secure() else 'ws'}://{request.get_host()}"
    except DisallowedHost:
        return ""
