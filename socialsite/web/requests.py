"""The border between HTTP and everything below it: what a request is, and the two shapes of an answer.

Each address answers in HTML or, to `Accept: application/json`, in JSON. Bodies are read as
a dict of texts whatever their form. No domain here: what the keys mean is said by the presenters.
"""

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from functools import cache, lru_cache
from http import HTTPStatus
from typing import Any, Concatenate, ParamSpec, Protocol
from urllib.parse import urlencode

import msgspec
from django.conf import settings
from django.contrib.messages import get_messages
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.template import loader
from django.utils.http import url_has_allowed_host_and_scheme

from socialsite.errors import MethodNotAllowed, SignInRequired
from socialsite.ids import AccountId
from socialsite.limits import Caller
from socialsite.web.body import parse_body
from socialsite.web.csrf import get_page_token
from socialsite.web.page_cache import PageViewer, Placeholder, render_page
from socialsite.web.services import SiteServices

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
HTML_TYPE, JSON_TYPE = "text/html", "application/json"
JSON_TYPES = (JSON_TYPE, "application/json; charset=utf-8", "application/json; charset=UTF-8")
"""As clients name it in Accept; its parameter means nothing, but Django compares it."""
ACCEPT_CACHE_MAX_LENGTH = 200  # characters of Accept up to which the answer is kept
NEXT_URL_MAX_LENGTH = 2000  # characters; Django refuses to redirect to more than 2,048


class Viewer(Protocol):
    """The fields of the signed-in account (accounts.models.Account) that pages and limits read."""

    @property
    def id(self) -> int: ...
    @property
    def handle(self) -> str: ...
    @property
    def display_name(self) -> str: ...
    @property
    def is_staff(self) -> bool: ...
    @property
    def is_private(self) -> bool: ...


class Badge(Protocol):
    """The unread notifications beside the bell."""

    @property
    def text(self) -> str: ...
    @property
    def newest(self) -> int: ...


class SiteRequest(ASGIRequest):
    """A request with what the stack has added to it; middleware sets each of these before any view runs."""

    services: SiteServices
    account: Viewer | None
    request_id: str
    client_address: str
    refused_status: HTTPStatus | None
    badge: Badge
    """Set only for pages of a signed-in viewer."""
    render_side_panel: "Callable[[SiteRequest], Placeholder | str]"
    """settings.SIDE_PANEL; not set while the store cannot be opened."""
    deadline: float
    """By the event loop's clock."""
    _form: dict[str, str] | None
    _host: str | None = None

    @property
    def caller(self) -> Caller:
        """The sender of the request, as services take it."""
        return Caller(get_viewer_id(self), self.client_address)

    def get_host(self) -> str:
        """Django's answer, looked for once a request: several of the stack ask."""
        if self._host is None:
            self._host = super().get_host()
        return self._host


P = ParamSpec("P")
AsyncView = Callable[Concatenate[SiteRequest, P], Awaitable[HttpResponseBase]]


class SeeOther(HttpResponseRedirect):
    """303: the answer to a POST is looked at by GET."""

    status_code = HTTPStatus.SEE_OTHER


def wants_json(request: SiteRequest) -> bool:
    """Whether the client prefers JSON. A client that takes anything gets the page."""
    accept = request.META.get("HTTP_ACCEPT", "")
    if "json" not in accept:
        return False
    return _prefers_json(accept) if len(accept) <= ACCEPT_CACHE_MAX_LENGTH else _prefers_json.__wrapped__(accept)


@lru_cache(maxsize=256)
def _prefers_json(accept: str) -> bool:
    """Django's answer; it parses the header as a mail's, which costs more than the session."""
    asked = HttpRequest()
    asked.META["HTTP_ACCEPT"] = accept
    return asked.get_preferred_type([HTML_TYPE, *JSON_TYPES]) in JSON_TYPES


def get_form_data(request: SiteRequest) -> dict[str, str]:
    """The fields of the body, form-encoded or a JSON object alike. Raises Malformed."""
    form = getattr(request, "_form", None)
    if form is None:
        form = request._form = parse_body(request)
    return form


def json_response(data: object, status: int = HTTPStatus.OK, headers: Mapping[str, str] | None = None) -> HttpResponse:
    return HttpResponse(msgspec.json.encode(data), status=status, content_type=JSON_TYPE, headers=headers)


def page_response(
    request: SiteRequest,
    template: str | list[str],
    page: Mapping[str, object],
    status: int = HTTPStatus.OK,
    headers: Mapping[str, str] | None = None,
) -> HttpResponse:
    """A whole HTML page: `page`, and what every page gets. Of several templates the first that exists."""
    found = template if isinstance(template, str) else _first_existing_template(tuple(template))
    html = render_page(found, {**page_context(request), **page}, use_cache=status < HTTPStatus.BAD_REQUEST)
    return HttpResponse(html, status=status, headers=headers)


def page_context(request: SiteRequest) -> dict[str, object]:
    """What base.html takes. Nothing else of the request goes into templates, so that shells can be kept."""
    account, path, full_path = getattr(request, "account", None), request.path, request.get_full_path()
    badge = getattr(request, "badge", None)
    return {
        "viewer": account and PageViewer(account.id, account.handle, account.display_name, account.is_staff),
        "site_name": settings.SITE_NAME,
        "unread": Placeholder(badge.text) if badge and badge.text else "",
        "newest_notification": Placeholder(str(badge.newest)) if badge else "",
        "trends_aside": request.render_side_panel(request) if hasattr(request, "render_side_panel") else "",
        "messages": _unread_messages(request),
        "page_title": "",
        "csrf_token": Placeholder(get_page_token(request)),
        "request": {
            "path": path,
            "get_full_path": path if full_path == path else Placeholder(full_path),
        },
    }


def _unread_messages(request: SiteRequest) -> object:
    """The one-time messages, or "": looking for them would mark them as read."""
    storage = get_messages(request)
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
    """The answer in the shape the client wants; only that one is made."""
    if wants_json(request):
        return json_response(data(), status)
    return page_response(request, template, page(), status)


def set_page_path(request: SiteRequest, path: str) -> None:
    """Show a refused form on the page `path`: its links lead there, as the action answers only POST."""
    request.path, request.META["QUERY_STRING"] = path, ""


def redirect_to_next(request: SiteRequest, default: str) -> SeeOther:
    """303 to the form's `next` if that is on this host, else to `default`."""
    wanted = get_form_data(request).get("next", "")
    return SeeOther(wanted if is_own_url(request, wanted) else default)


def is_own_url(request: SiteRequest, url: str) -> bool:
    """Whether `url` is a path or address of this very site."""
    if not url.startswith(("/", "http")) or len(url) > NEXT_URL_MAX_LENGTH or not url.isprintable():
        return False
    return url_has_allowed_host_and_scheme(url, {request.get_host()}, require_https=request.is_secure())


def redirect_to_login(request: SiteRequest) -> SeeOther:
    """To the log-in page and back; back to a page, never to an action, which answers only POST."""
    back = request.get_full_path() if request.method in ("GET", "HEAD") else "/"
    return SeeOther(f"{settings.LOGIN_URL}?{urlencode({'next': back})}")


def get_viewer_id(request: SiteRequest) -> AccountId | None:
    return None if request.account is None else AccountId(request.account.id)


def require_viewer_id(request: SiteRequest) -> AccountId:
    """The id of the signed-in account. Raises SignInRequired."""
    return AccountId(require_viewer(request).id)


def require_viewer(request: SiteRequest) -> Viewer:
    """The signed-in account. Raises SignInRequired."""
    if request.account is None:
        raise SignInRequired
    return request.account


ErrorPageHook = Callable[[SiteRequest, int, str], tuple[str | None, Mapping[str, object]]]
"""(request, status, reason) -> (template of the error page or None, further context of it)."""


def error_page(hook: ErrorPageHook) -> Callable[[AsyncView[P]], AsyncView[P]]:
    """Have `hook` shape the error pages of a POST view, also of an error that came before the view was called."""

    def mark(view: AsyncView[P]) -> AsyncView[P]:
        view.on_error_page = hook  # type: ignore[attr-defined]  # read by middleware/errors.py
        return view

    return mark


def dispatch_by_method(**views: AsyncView[P]) -> Callable[..., Any]:
    """One view of several, by method: `methods(GET=index, POST=create)`.

    HEAD goes with GET, others answer 405.
    """
    if "GET" in views:
        views.setdefault("HEAD", views["GET"])

    async def dispatch(request: SiteRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        view = views.get(request.method or "")
        if view is None:
            raise MethodNotAllowed(views)
        return await view(request, *args, **kwargs)

    dispatch.methods = frozenset(views)  # type: ignore[attr-defined]  # read by the tests that walk the URLs
    dispatch.on_error_page = getattr(views.get("POST"), "on_error_page", None)  # type: ignore[attr-defined]
    return dispatch


def format_iso_time(ms: int) -> str:
    """Unix milliseconds as clients get them: 2026-11-20T15:14:00.123Z."""
    moment = datetime.fromtimestamp(ms // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{ms % 1000:03d}Z"


def done(request: SiteRequest, data: object, *, default: str, status: int = HTTPStatus.OK) -> HttpResponse:
    """JSON, or 303 to the form's `next`, else to `default`."""
    return json_response(data, status) if wants_json(request) else redirect_to_next(request, default)
