"""HTTP requests: their form fields, their viewer and their dispatch to views.

A body in form data, multipart or JSON is read into a dict of texts. Django decodes form data with replacement
characters and keeps NUL. Here a body that is not UTF-8, or that contains NUL or half a surrogate pair, is refused.
JSON is decoded directly into a flat dict, so nested values are refused early.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache, wraps
from http import HTTPStatus
from typing import Any, Concatenate, ParamSpec, Protocol
from urllib.parse import parse_qsl, urlsplit, urlunsplit

import msgspec
from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest
from django.http.request import split_domain_port
from django.http.response import HttpResponseBase
from django.utils.http import url_has_allowed_host_and_scheme

from socialsite.errors import MalformedRequest, MethodNotAllowed, SignInRequired
from socialsite.ids import AccountId
from socialsite.limits import ActionLimits, Caller, find_newcomer_end_ms
from socialsite.recipes.rate_limit import Decision
from socialsite.site.service import SiteService
from socialsite.web.page_cache import Placeholder
from socialsite.web.request_budget import CountedParts, FieldBudget, parse_cookies
from socialsite.web.services import SiteServices

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
HTML_TYPE, JSON_TYPE = "text/html", "application/json"
JSON_TYPES = (JSON_TYPE, "application/json; charset=utf-8", "application/json; charset=UTF-8")
"""Media types of JSON in Accept headers. The charset has no meaning for JSON, but Django compares it."""
ACCEPT_CACHE_MAX_LENGTH = 200  # characters of the longest Accept that is cached
PORT_MAX_DIGITS = 5
NEXT_URL_MAX_LENGTH = 2000  # characters; Django refuses to redirect to more than 2,048

JSON_INTEGER_MAX = 1 << 64  # larger integers are not ids, and are slow to format

_json_object_decoder = msgspec.json.Decoder(dict[str, str | bool | int | list[str | int] | None])
_LIST_INDEX = re.compile(r"\[[0-9]*\]\Z")
_LIST_ITEM = re.compile(r"\[([0-9]*)\]\[([^\[\]]+)\](\[\])?")


class FormFields(dict[str, str]):
    """The fields of a body. The last value of a repeated field counts; `values_of` returns all of them."""

    def __init__(self, fields: Iterable[tuple[str, str]]) -> None:
        super().__init__()
        self.pairs: list[tuple[str, str]] = []
        """All fields in their order, with the repeated ones."""
        self._values: dict[str, list[str]] = {}
        for name, value in fields:
            self.add(name, value)

    def add(self, name: str, value: str) -> None:
        """Add a value to the field, which may have some already."""
        self[name] = value
        self.pairs.append((name, value))
        self._values.setdefault(_LIST_INDEX.sub("", name), []).append(value)

    def replace(self, name: str, values: Iterable[str]) -> None:
        """Replace all values of the field `name` and of `name[]`."""
        for each in (name, f"{name}[]"):
            self.pop(each, None)
        self._values.pop(name, None)
        for value in values:
            self.add(name, value)

    def values_of(self, name: str) -> list[str]:
        """Return the values of the fields `name`, `name[]` and `name[0]`, in their order."""
        return self._values.get(name, [])

    def objects_of(self, name: str) -> list[dict[str, str]]:
        """Return the objects of a list: `name[0][key]` by number, or `name[][key]`, split where a key repeats."""
        objects: dict[str, dict[str, str]] = {}
        unnumbered = 0
        for field, value in self.pairs:
            match = _LIST_ITEM.fullmatch(field.removeprefix(name)) if field.startswith(f"{name}[") else None
            if match is None:
                continue
            number, key = match[1], match[2]
            if not number:
                unnumbered += key in objects.get(f"[{unnumbered}]", {})
                number = f"[{unnumbered}]"
            objects.setdefault(number, {})[key] = value
        return list(objects.values())


class Viewer(Protocol):
    """The attributes of the signed-in account (accounts.models.Account) that pages and limits use."""

    id: int
    handle: str
    display_name: str
    created_ms: int
    is_staff: bool
    is_private: bool
    role: str
    silenced_until_ms: int
    avatar: str
    has_sanctions: bool

    @property
    def opens_warnings(self) -> bool: ...


class Badge(Protocol):
    """The number of unread notifications beside the bell, and the newest of them."""

    @property
    def text(self) -> str: ...
    @property
    def newest(self) -> int: ...


class ApiToken(Protocol):
    """The access token of a request (accounts.sessions.values.AccessToken)."""

    @property
    def id(self) -> str: ...
    @property
    def scopes(self) -> tuple[str, ...]: ...
    @property
    def app_name(self) -> str: ...
    @property
    def grant(self) -> Any: ...


class SiteRequest(ASGIRequest):
    """A request with attributes that the middleware sets before it calls the view."""

    services: SiteServices
    account: Viewer | None
    token: ApiToken | None = None
    """The access token of a request to the API. Pages have none."""
    has_invalid_token: bool = False
    decisions: list[Decision] | None = None
    """What the rate limits decided about a request to the API (socialsite/web/middleware/headers.py)."""
    request_id: str
    client_address: str = ""
    refused_status: HTTPStatus | None
    badge: Badge
    """It is set only for pages of a signed-in viewer."""
    render_side_panel: "Callable[[SiteRequest], dict[str, Placeholder | str]]"
    """The function of settings.SIDE_PANEL. It is not set while the store cannot be opened."""
    deadline: float
    """The time limit of the request, by the event loop's clock."""
    staff_menu: Sequence[Mapping[str, object]] = ()
    """The groups of the menu of /ops/ (socialsite/admin/menu.py). It is set only for pages of /ops/."""
    pending_body: "Any" = None
    """The body with files that is not read yet (socialsite/web/uploads.py)."""
    _form: FormFields | None
    _host: str | None = None

    @cached_property
    def COOKIES(self) -> dict[str, str]:  # type: ignore[override]  # noqa: N802 - Django's name
        return parse_cookies(self.META.get("HTTP_COOKIE", ""))

    @property
    def caller(self) -> Caller:
        silenced_until_ms = 0 if self.account is None else self.account.silenced_until_ms
        return Caller(
            get_viewer_id(self), self.client_address, self.decisions, silenced_until_ms, self._newcomer_until_ms()
        )

    def _newcomer_until_ms(self) -> int:
        """Return the time until which the viewer has the limits of new accounts, or 0."""
        days = self.services[SiteService].settings.newcomer_days
        if not days or self.account is None:
            return 0
        return find_newcomer_end_ms(self.account.created_ms, days, self.services.clock.now_ms())

    @cached_property
    def site_url(self) -> str:
        """The address of the site, without a path. With HTTPS=1 and the host of SITE_URL, it has its port."""
        host, own = self.get_host(), urlsplit(settings.SITE_URL)
        if settings.HTTPS and split_domain_port(host)[0] == split_domain_port(own.netloc)[0]:
            return f"{own.scheme}://{own.netloc}"
        return f"{self.scheme}://{host}"

    def parse_file_upload(self, META: Any, post_data: Any) -> Any:  # noqa: N803 - Django's name
        """Parse a multipart body as Django does, with a maximum of parts."""
        boundary = (self.content_params or {}).get("boundary", "")
        return super().parse_file_upload(META, CountedParts(post_data, boundary))  # type: ignore[arg-type]

    def get_host(self) -> str:
        """Return the host as Django does. Raises DisallowedHost."""
        if self._host is None:
            self._host = _check_host(self._get_raw_host(), tuple(settings.ALLOWED_HOSTS))  # type: ignore[attr-defined]
        return self._host


@lru_cache(maxsize=256)
def _check_host(host: str, patterns: tuple[str, ...]) -> str:
    """Return the host if Django allows it. `patterns` is settings.ALLOWED_HOSTS, a part of the cache key."""
    request = HttpRequest()
    request.META["HTTP_HOST"] = host
    _, port = split_domain_port(host)
    if len(port) > PORT_MAX_DIGITS or int(port or 1) not in range(1, 1 << 16):
        raise DisallowedHost("The port of Host is not a port.")
    return request.get_host()


P = ParamSpec("P")
AsyncView = Callable[Concatenate[SiteRequest, P], Awaitable[HttpResponseBase]]


API_PREFIX = "/api/"
TOKEN_PATHS = ("/oauth/token", "/oauth/revoke")


def is_api_path(path: str) -> bool:
    """Return whether the URL belongs to the API. Its requests have access tokens, and their cookies are ignored."""
    return path.startswith(API_PREFIX) or path in TOKEN_PATHS


def wants_json(request: SiteRequest) -> bool:
    """Return whether the client prefers JSON. A client that accepts any type gets HTML."""
    accept = request.META.get("HTTP_ACCEPT", "")
    if "json" not in accept:
        return False
    return _prefers_json(accept) if len(accept) <= ACCEPT_CACHE_MAX_LENGTH else _prefers_json.__wrapped__(accept)


@lru_cache(maxsize=256)
def _prefers_json(accept: str) -> bool:
    """Return Django's decision. It is cached, because parsing the header costs more than reading the session."""
    request = HttpRequest()
    request.META["HTTP_ACCEPT"] = accept
    return request.get_preferred_type([HTML_TYPE, *JSON_TYPES]) in JSON_TYPES


def get_form_data(request: SiteRequest) -> FormFields:
    """Return the fields of the body, which is parsed once. Raises MalformedRequest."""
    form = getattr(request, "_form", None)
    if form is None:
        form = request._form = parse_body(request)
    return form


def get_changed_fields(request: SiteRequest) -> dict[str, str]:
    """Return the fields of the body that differ from the values that the page showed (`initial-<name>`).

    An old page therefore does not undo a later change. Raises MalformedRequest.
    """
    sent = get_form_data(request)
    return {name: value for name, value in sent.items() if sent.get(f"initial-{name}") != value}


def parse_body(request: SiteRequest) -> FormFields:
    """Parse the body. A JSON null is an absent field, and a JSON array a repeated field. Raises MalformedRequest."""
    match request.content_type:
        case "application/json":
            return reject_invalid_text(_parse_json(request.body))
        case "multipart/form-data":
            return reject_invalid_text(parse_multipart(request))
        case "application/x-www-form-urlencoded":
            return reject_invalid_text(parse_urlencoded(request.body))
    if request.body:
        raise MalformedRequest
    return FormFields(())


def _parse_json(body: bytes) -> Iterable[tuple[str, str]]:
    try:
        fields = _json_object_decoder.decode(body)
    except ValueError as error:  # errors of msgspec, and UnicodeDecodeError
        raise MalformedRequest from error
    for name, value in fields.items():
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, int) and abs(each) > JSON_INTEGER_MAX:
                raise MalformedRequest
            if each is not None:
                yield name, str(each)


def parse_urlencoded(body: bytes) -> Iterable[tuple[str, str]]:
    """Return the fields of form data or a query string. Raises MalformedRequest."""
    try:
        return parse_qsl(
            body.decode(),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=settings.DATA_UPLOAD_MAX_NUMBER_FIELDS,
        )
    except ValueError as error:  # also UnicodeDecodeError
        raise MalformedRequest from error


def parse_multipart(request: SiteRequest) -> Iterable[tuple[str, str]]:
    """Parse multipart with Django. Django replaces invalid UTF-8, which is refused here in bodies without files."""
    fields = request.POST
    if not request.FILES:
        try:
            getattr(request, "_body", b"").decode()
        except UnicodeDecodeError as error:
            raise MalformedRequest from error
    return [(name, str(value)) for name, values in fields.lists() for value in values]


def reject_invalid_text(fields: Iterable[tuple[str, str]]) -> FormFields:
    """Return the fields, with one character for each line end, as browsers count it.

    Raises MalformedRequest for NUL, half a surrogate pair, and fields beyond the budget.
    """
    form, budget = FormFields(()), FieldBudget()
    for name, value in fields:
        budget.count(name)
        for text in (name, value):
            if "\x00" in text or not (text.isascii() or _is_unicode(text)):
                raise MalformedRequest
        form.add(name, value.replace("\r\n", "\n") if "\r" in value else value)
    return form


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_own_url(request: SiteRequest, url: str) -> bool:
    """Return whether `url` is a path or URL of this site."""
    if not url.startswith(("/", "http")) or len(url) > NEXT_URL_MAX_LENGTH or not url.isprintable():
        return False
    return url_has_allowed_host_and_scheme(url, {request.get_host()}, require_https=request.is_secure())


def find_own_path(request: SiteRequest, url: str) -> str:
    """Return the path and the query of a URL of this site, or "" for another text.

    A path such as that of https://example.org//elsewhere.example/ is an address of another site.
    """
    parts = urlsplit(url if is_own_url(request, url) else "")
    path = urlunsplit(("", "", parts.path, parts.query, ""))
    return path if path.startswith("/") and is_own_url(request, path) else ""


def get_viewer_id(request: SiteRequest) -> AccountId | None:
    return None if request.account is None else AccountId(request.account.id)


def require_viewer_id(request: SiteRequest) -> AccountId:
    """Return the id of the signed-in account. Raises SignInRequired."""
    return AccountId(require_viewer(request).id)


def require_viewer(request: SiteRequest) -> Viewer:
    """Return the signed-in account. Raises SignInRequired."""
    if request.account is None:
        raise SignInRequired
    return request.account


ErrorPageHook = Callable[[SiteRequest, int, str], tuple[str | None, Mapping[str, object]]]
"""(request, status, reason) -> (template of the error page or None, additional context of the template)."""


def error_page(hook: ErrorPageHook) -> Callable[[AsyncView[P]], AsyncView[P]]:
    """Let `hook` choose the error pages of a POST view. It is also used for errors before the view is called."""

    def mark(view: AsyncView[P]) -> AsyncView[P]:
        view.on_error_page = hook  # type: ignore[attr-defined]  # read by middleware/errors.py
        return view

    return mark


def dispatch_by_method(**views: AsyncView[P]) -> Callable[..., Any]:
    """Return a view that calls one view for each method: `dispatch_by_method(GET=index, POST=create)`.

    HEAD is handled like GET. Other methods raise MethodNotAllowed.
    """
    if "GET" in views:
        views.setdefault("HEAD", views["GET"])

    async def dispatch(request: SiteRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        view = views.get(request.method or "")
        if view is None:
            raise MethodNotAllowed(views)
        return await view(request, *args, **kwargs)

    dispatch.views = views  # type: ignore[attr-defined]  # read by the documents, and by the tests that walk the URLs
    dispatch.on_error_page = getattr(views.get("POST"), "on_error_page", None)  # type: ignore[attr-defined]
    dispatch.upload_rules = {  # type: ignore[attr-defined]
        method: rules for method, view in views.items() if (rules := getattr(view, "upload_rules", None))
    }
    dispatch.csrf_exempt = all(getattr(view, "csrf_exempt", False) for view in views.values())  # type: ignore[attr-defined]
    return dispatch


def limited(rule: str, view: AsyncView[P], **others: AsyncView[P]) -> Callable[..., Any]:
    """Dispatch POST to the view, and count it for a rate limit (`counted`)."""
    return dispatch_by_method(POST=counted(rule, view), **others)


def writing(view: AsyncView[P]) -> AsyncView[P]:
    """Return the view of an action that a silenced account may not do. It raises AccountSilenced."""

    @wraps(view)
    async def check_and_call(request: SiteRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        request.services[ActionLimits].require_may_write(request.caller)
        return await view(request, *args, **kwargs)

    return check_and_call


def counted(rule: str, view: AsyncView[P]) -> AsyncView[P]:
    """Return the view with a rate limit, which counts before the view reads anything.

    If the view raises an exception, the hit is subtracted. Use it for actions on one post or account.
    """

    @wraps(view)
    async def count_and_call(request: SiteRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        async with request.services[ActionLimits].refundable(request.caller, rule):
            return await view(request, *args, **kwargs)

    count_and_call.limit_rule = rule  # type: ignore[attr-defined]  # read by the documents
    return count_and_call
