"""HTTP responses: pages, JSON, redirects, and the context that all pages have."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

import msgspec
from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.template import loader

from socialsite.errors import LazyText, MalformedRequest
from socialsite.site.service import SiteService
from socialsite.site.settings import UNKNOWN_SETTINGS, SiteSettings, apply_changes
from socialsite.web.csrf import get_page_token
from socialsite.web.page_cache import Placeholder, render_page
from socialsite.web.requests import JSON_TYPE, SAFE_METHODS, SiteRequest, get_form_data, is_own_url, wants_json

THEMES = ("light", "dark")
"""Values of the theme cookie. Without the cookie the browser chooses the theme."""
TEXT_SIZES = ("small", "large", "larger")
"""Values of the text size cookie. Without the cookie the text has the size that the browser is set to."""


HTML_UTF_8 = "text/html; charset=utf-8"
WARNING_TAG = b'<details class="warned">'
"""The element of templates/timelines/_post.html that folds a post with a content warning."""


class SeeOther(HttpResponseRedirect):
    """A 303 redirect: the client continues with GET after a POST."""

    status_code = HTTPStatus.SEE_OTHER


def json_response(data: object, status: int = HTTPStatus.OK, headers: Mapping[str, str] | None = None) -> HttpResponse:
    return HttpResponse(msgspec.json.encode(data), status=status, content_type=JSON_TYPE, headers=headers)


def page_response(
    request: SiteRequest,
    template: str | list[str],
    page: Mapping[str, object],
    status: int = HTTPStatus.OK,
    headers: Mapping[str, str] | None = None,
) -> HttpResponse:
    """Return an HTML page with the context `page` and `page_context`. Uses the first template that exists."""
    name = template if isinstance(template, str) else _first_existing_template(tuple(template))
    context = page_context(request)
    html = render_page(name, {**context, **page}, use_cache=status < HTTPStatus.BAD_REQUEST)
    if context["opens_warnings"]:  # cached entries are the same for both choices
        html = html.replace(WARNING_TAG, WARNING_TAG[:-1] + b" open>")
    return HttpResponse(html, content_type=HTML_UTF_8, status=status, headers=headers)


def get_site(request: SiteRequest) -> SiteSettings:
    """Return the settings of the site, or the settings in the environment while the store cannot be opened."""
    if hasattr(request, "services"):
        return request.services[SiteService].settings
    return apply_changes(UNKNOWN_SETTINGS, settings.SITE_ENVIRONMENT)


def page_context(request: SiteRequest) -> dict[str, object]:
    """Return the context of base.html. Templates use nothing else of the request, so that pages can be cached."""
    account, path, full_path = getattr(request, "account", None), request.path, request.get_full_path()
    badge, site = getattr(request, "badge", None), get_site(request)
    return {
        "viewer": account
        and {  # shared by all viewers, so that a cached page serves all of them
            "handle": Placeholder(account.handle),
            "role": account.role,
            "has_sanctions": account.has_sanctions and path != "/accounts/sanctions/",
            "may_invite": account.is_staff or get_site(request).members_invite,
            "is_at_own_profile": path == f"/@{account.handle}/",
        },
        "is_logged_out": account is None
        and hasattr(request, "session")
        and settings.SESSION_COOKIE_NAME in request.COOKIES,
        "viewer_avatar": "",
        "viewer_icon": "",
        "site_name": site.title,
        "site_description": site.description,
        "members_only": site.members_only,
        "may_sign_up": site.joining != "closed",
        "accent": site.accent.removeprefix("#"),
        "logo": f"/logo/{site.logo}/" if site.logo else "",
        "site_url": settings.SITE_URL,
        "unread": Placeholder(badge.text) if badge and badge.text else "",
        "newest_notification": Placeholder(str(badge.newest)) if badge else "",
        "trends_aside": "",
        "staff_badge": "",
        **(request.render_side_panel(request) if hasattr(request, "render_side_panel") else {}),
        "theme": theme if (theme := request.COOKIES.get(settings.THEME_COOKIE_NAME)) in THEMES else "",
        "text_size": size if (size := request.COOKIES.get(settings.TEXT_SIZE_COOKIE_NAME)) in TEXT_SIZES else "",
        "opens_warnings": account is not None and account.opens_warnings,
        "messages": _unread_messages(request),
        "page_title": "",
        "staff_menu": getattr(request, "staff_menu", ()),
        "csrf_token": Placeholder(get_page_token(request)),
        "request": {"path": path, "get_full_path": path if full_path == path else Placeholder(full_path)},
    }


def _unread_messages(request: SiteRequest) -> object:
    """Return the one-time messages, or "" if there are none, since an iteration would mark messages as read."""
    storage = messages.get_messages(request)
    return storage if len(storage) else ""


@cache
def _first_existing_template(templates: tuple[str, ...]) -> str:
    name: str = loader.select_template(templates).template.name
    return name


def respond(
    request: SiteRequest,
    template: str,
    *,
    page: Callable[[], Mapping[str, object]],
    data: Callable[[], object],
    status: int = HTTPStatus.OK,
) -> HttpResponse:
    """Respond with JSON or a page, as the client prefers. Only the function of that format is called."""
    if wants_json(request):
        return json_response(data(), status)
    return page_response(request, template, page(), status)


def set_own_cookie(response: HttpResponseBase, name: str, value: str, max_age_s: int | None = None) -> None:
    """Set a cookie that neither scripts nor requests of other sites can use."""
    is_secure = settings.SESSION_COOKIE_SECURE
    response.set_cookie(name, value, max_age_s, secure=is_secure, httponly=True, samesite="Lax")


def set_page_path(request: SiteRequest, path: str) -> None:
    """Set the path that the links of a redisplayed form use, because the form's own path accepts POST only."""
    request.path, request.META["QUERY_STRING"] = path, ""


def redirect_to_next(request: SiteRequest, default: str) -> SeeOther:
    """Redirect to the form's `next` if it is on this site, else to `default`."""
    next_url = get_form_data(request).get("next", "")
    return SeeOther(next_url if is_own_url(request, next_url) else default)


def redirect_with_next(request: SiteRequest, url: str) -> SeeOther:
    """Redirect to a page that later redirects back to this page. After a POST it redirects to `next`, the page of the
    form, or "/"."""
    back = request.get_full_path()
    if request.method not in SAFE_METHODS:
        back = request.headers.get("Referer", "")
        with suppress(MalformedRequest):
            back = get_form_data(request).get("next") or back
        back = back if is_own_url(request, back) else "/"
    return SeeOther(f"{url}?{urlencode({'next': back})}")


def format_iso_time(ms: int) -> str:
    """Format Unix milliseconds as in JSON: 2026-11-20T15:14:00.123Z."""
    moment = datetime.fromtimestamp(ms // 1000, UTC).isoformat()  # strftime takes 1.5 times as long
    return f"{moment[:19]}.{ms % 1000:03d}Z"


def select_fields(value: Any, names: str, **others: object) -> dict[str, object]:
    """Return attributes of a value as JSON has them, and `others`. Spaces separate the names.

    `created_at` is the attribute `created_ms` as an ISO time, or None if that is 0. `id` is a text.
    """
    fields: dict[str, object] = {}
    for name in names.split():
        if name == "at" or name.endswith("_at"):
            ms = getattr(value, "at_ms" if name == "at" else f"{name.removesuffix('_at')}_ms")
            fields[name] = format_iso_time(ms) if ms else None
        else:
            fields[name] = str(value.id) if name == "id" else getattr(value, name)
    return fields | others


def done(
    request: SiteRequest, data: object, *, default: str, status: int = HTTPStatus.OK, message: LazyText = ""
) -> HttpResponse:
    """Respond to an action: with JSON, or with a redirect to the form's `next` or `default` and a one-time message."""
    if wants_json(request):
        return json_response(data, status)
    if message:
        messages.success(request, str(message), fail_silently=True)
    return redirect_to_next(request, default)
