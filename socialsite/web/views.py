"""Views of the site itself, for proxies, robots and browsers, and Django's error handlers.

Django calls an error handler for errors that the site does not handle. The page shows only the status.
"""

from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import cast

import msgspec
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponsePermanentRedirect, HttpResponseRedirect
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.utils.translation import gettext as _

from socialsite import __version__
from socialsite.web.health import share_readiness
from socialsite.web.middleware.errors import DEFAULT_MESSAGES, error_response
from socialsite.web.requests import SiteRequest
from socialsite.web.responses import get_site, json_response

SECURITY_TXT_VALIDITY = timedelta(days=180)


async def livez(request: SiteRequest) -> HttpResponse:
    """Respond without using the store."""
    return json_response({"status": "ok"})


async def readyz(request: SiteRequest) -> HttpResponse:
    """Report whether every component answers and accepts writes. If one does not, the status is 503.

    `outbox`, `queues` and `archive` do not affect the status: readers are served while jobs wait for workers.
    """
    ready = await share_readiness()
    status = HTTPStatus.OK if ready.is_ready else HTTPStatus.SERVICE_UNAVAILABLE
    headers = {} if ready.is_ready else {"Retry-After": "2"}
    state = "ok" if ready.is_ready else "down"
    report = {
        "status": state,
        "version": __version__,
        "components": ready.components,
        "outbox": ready.outbox,
        "queues": ready.queues,
        "archive": ready.archive,
    }
    return json_response(report, status, headers)


async def robots_txt(request: SiteRequest) -> HttpResponse:
    lines = ("User-agent: *", "Disallow: /accounts/", "Disallow: /lists/", "Disallow: /search/", "")
    return HttpResponse("\n".join(lines), content_type="text/plain; charset=utf-8")


async def security_txt(request: SiteRequest) -> HttpResponse:
    """Serve security.txt (RFC 9116). Without SECURITY_CONTACT it has the contact of the site, or its page."""
    contact = settings.SECURITY_CONTACT or get_site(request).contact_url
    if contact.startswith("http://") or not contact:
        contact = f"{request.site_url}/about/"
    expires = (datetime.now(UTC) + SECURITY_TXT_VALIDITY).replace(microsecond=0, tzinfo=None).isoformat() + "Z"
    lines = (f"Contact: {contact}", f"Expires: {expires}", "Preferred-Languages: en, de", "")
    return HttpResponse("\n".join(lines), content_type="text/plain; charset=utf-8")


async def change_password(request: SiteRequest) -> HttpResponse:
    """Redirect programs that store passwords (https://www.w3.org/TR/change-password-url/)."""
    return HttpResponseRedirect("/accounts/password/")


async def favicon(request: SiteRequest) -> HttpResponse:
    """Redirect browsers that request the icon without a page."""
    return HttpResponsePermanentRedirect(static("favicon.ico"))


async def manifest(request: SiteRequest) -> HttpResponse:
    """Serve the web app manifest, with which a browser puts the site on a home screen."""
    site = get_site(request)
    icons = [
        {"src": static(f"icon-{size}.png"), "sizes": f"{size}x{size}", "type": "image/png", "purpose": purpose}
        for size in (192, 512)
        for purpose in ("any", "maskable")
    ]
    icons.append({"src": static("favicon.svg"), "sizes": "any", "type": "image/svg+xml"})
    content = {
        "id": "/",
        "name": site.title,
        "short_name": site.title,
        "description": site.description,
        "start_url": "/",
        "scope": "/",
        "display": "standalone",
        "background_color": "#fbfaf8",
        "theme_color": site.accent or "#0b6b55",
        "icons": icons,
        "shortcuts": [{"name": _("New post"), "url": "/#compose"}, {"name": _("Public"), "url": "/public/"}],
    }
    return HttpResponse(msgspec.json.encode(content), content_type="application/manifest+json")


async def service_worker(request: SiteRequest) -> HttpResponse:
    """Serve the service worker from the root of the site, so that it may handle all pages."""
    return HttpResponse(render_to_string("sw.js"), content_type="text/javascript; charset=utf-8")


async def offline(request: SiteRequest) -> HttpResponse:
    """Serve the page that the service worker shows without a connection."""
    return HttpResponse(render_to_string("offline.html"))


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _render_error_page(request, HTTPStatus.BAD_REQUEST)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _render_error_page(request, HTTPStatus.FORBIDDEN)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _render_error_page(request, HTTPStatus.NOT_FOUND)


def server_error(request: HttpRequest) -> HttpResponse:
    return _render_error_page(request, HTTPStatus.INTERNAL_SERVER_ERROR)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Respond to a failed CSRF check (settings.CSRF_FAILURE_VIEW). Django logs the reason."""
    message = _("This page is out of date. Please reload it and send again.")
    if getattr(request, "account", None) is None and not request.path.startswith("/accounts/"):
        message = _("You are logged out. Log in to continue.")
    return error_response(
        cast(SiteRequest, request), HTTPStatus.FORBIDDEN, "csrf", message, template="errors/csrf.html"
    )


def _render_error_page(request: HttpRequest, status: HTTPStatus) -> HttpResponse:
    code, message = DEFAULT_MESSAGES[status]
    return error_response(cast(SiteRequest, request), status, code, message)
