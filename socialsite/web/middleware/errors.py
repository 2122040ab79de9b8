"""Turn errors into HTTP responses, as a page or as JSON (docs/reference/interface.md, Errors).

Each base class of socialsite/errors.py has one status. Errors of the store get 503: the effect is unknown, and the
client may safely repeat the request. An error of any other class is a defect and gets 500, without details.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import wraps
from http import HTTPStatus

import structlog
from django.conf import settings
from django.core.exceptions import BadRequest, PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.http import Http404, HttpResponse
from django.http.multipartparser import MultiPartParserError
from django.http.response import HttpResponseBase
from django.urls import Resolver404, resolve
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from socialsite import errors as site
from socialsite.analytics.metrics import REFUSALS
from socialsite.disk import is_storage_failure
from socialsite.store.errors import StoreUnavailable
from socialsite.web.middleware.base import Middleware
from socialsite.web.requests import SAFE_METHODS, AsyncView, ErrorPageHook, P, SiteRequest, is_api_path, wants_json
from socialsite.web.responses import json_response, page_response, redirect_with_next

log = structlog.get_logger("socialsite.errors")

LazyText = str | Promise
Details = Mapping[str, Sequence[tuple[str, LazyText]]]
RETRY_AFTER_S = 3
"""Retry-After for an unavailable store, since a restart or failover takes about this time."""

STATUS_BY_ERROR: Mapping[type[Exception], int] = {
    site.MalformedRequest: 400,
    site.Unauthorized: 401,
    site.Forbidden: 403,
    site.NotFound: 404,
    site.MethodNotAllowed: 405,
    site.Conflict: 409,
    site.RequestTooLarge: 413,
    site.Invalid: 422,
    site.RateLimited: 429,
    site.Unavailable: 503,
    StoreUnavailable: 503,
    Http404: 404,
    PermissionDenied: 403,
    BadRequest: 400,
    MultiPartParserError: 400,
    SuspiciousOperation: 400,
    RequestDataTooBig: 413,
}

DEFAULT_MESSAGES: Mapping[int, tuple[str, LazyText]] = {
    400: (site.MalformedRequest.code, site.MalformedRequest.message),
    403: (site.Forbidden.code, site.Forbidden.message),
    404: (site.NotFound.code, site.NotFound.message),
    413: (site.RequestTooLarge.code, site.RequestTooLarge.message),
    500: ("defect", _("Something went wrong on our side.")),
    503: (site.Unavailable.code, site.Unavailable.message),
}
"""Status -> code and message, for errors of Django and of the store without a code and message."""

API_MESSAGES: Mapping[int, LazyText] = {404: _("Record not found")}
"""Status -> the message in the API, where it differs from pages."""

HANDLED_ERRORS: tuple[type[Exception], ...] = (*STATUS_BY_ERROR, OSError)


def get_error_status(error: Exception | None) -> int:
    """Return the status of the error's class or its nearest base class: 500 for unknown classes, 200 for None."""
    if error is None:
        return HTTPStatus.OK
    if isinstance(error, site.RequestTooLarge):
        return int(error.status)
    return next((STATUS_BY_ERROR[kind] for kind in type(error).__mro__ if kind in STATUS_BY_ERROR), 500)


def shows_errors(
    show: Callable[..., Awaitable[HttpResponse]], *kinds: type[site.ApiError]
) -> Callable[[AsyncView[P]], AsyncView[P]]:
    """Let `show` respond if the view raises one of the errors. The page shows the error beside its field.

    `show` takes the arguments of the view, and `error`. A JSON client gets the error itself.
    """

    def decorate(view: AsyncView[P]) -> AsyncView[P]:
        @wraps(view)
        async def call(request: SiteRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            try:
                return await view(request, *args, **kwargs)
            except kinds as error:
                if wants_json(request):
                    raise
                return await show(request, *args, error=error, **kwargs)

        return call

    return decorate


def respond_to_error(request: SiteRequest, error: Exception) -> HttpResponse:
    """Return the response to an error, as a page or as JSON. Refusals are counted, and store errors are logged."""
    status = get_error_status(error)
    if isinstance(error, StoreUnavailable):
        log.warning("store unavailable", kind=type(error).__name__, reason=str(error))
    if isinstance(error, site.RateLimited) and hasattr(request, "services"):
        request.services.statistics.meter.count(REFUSALS, error.rule)
    is_api = is_api_path(request.path_info)
    if isinstance(error, (site.SignInRequired, site.StepUpRequired)) and not is_api and not wants_json(request):
        is_step_up = isinstance(error, site.StepUpRequired)
        return redirect_with_next(request, settings.CONFIRM_URL if is_step_up else settings.LOGIN_URL)
    code, message = DEFAULT_MESSAGES.get(status, DEFAULT_MESSAGES[500])
    return error_response(
        request,
        status,
        getattr(error, "code", code),
        getattr(error, "message", message),
        fields=getattr(error, "fields", {}),
        headers=_error_headers(error, status),
        api_message=getattr(error, "api_message", ""),
        details=getattr(error, "details", {}),
    )


def error_response(
    request: SiteRequest,
    status: int,
    code: str,
    message: LazyText,
    *,
    fields: Mapping[str, LazyText] | None = None,
    headers: Mapping[str, str] | None = None,
    template: str | None = None,
    api_message: LazyText = "",
    details: Details | None = None,
    **page: object,
) -> HttpResponse:
    """Return an error as JSON or as a page. The view's `on_error_page` may add context, for example a post's text."""
    texts = {name: str(value) for name, value in (fields or {}).items()}
    if is_api_path(request.path_info):
        return _api_error_response(status, message, texts, headers, api_message, details)
    if wants_json(request):
        return json_response({"error": code, "message": str(message), "fields": texts}, status, headers)
    reason = next(iter(texts.values())) if texts and status == HTTPStatus.UNPROCESSABLE_ENTITY else str(message)
    page |= {"status": status, "message": reason, "page_title": reason}
    templates = [template or f"errors/{status}.html", "errors/error.html"]
    if on_error_page := _find_error_page_hook(request):
        own_template, own_context = on_error_page(request, status, reason)
        page |= own_context
        templates = [own_template, *templates] if own_template else templates
    return page_response(request, templates, page, status, headers)


def _api_error_response(
    status: int,
    message: LazyText,
    fields: Mapping[str, str],
    headers: Mapping[str, str] | None,
    api_message: LazyText,
    details: Details | None,
) -> HttpResponse:
    """Return an error in the form of Mastodon's API. Its clients know 422 where pages have 409."""
    data: dict[str, object] = {"error": str(API_MESSAGES.get(status, message))}
    if status == HTTPStatus.CONFLICT:
        status = HTTPStatus.UNPROCESSABLE_ENTITY
    if status == HTTPStatus.UNPROCESSABLE_ENTITY and fields:
        data["error"] = str(api_message) or _("Validation failed: %s") % " ".join(dict.fromkeys(fields.values()))
        faults = details or {name: [("ERR_INVALID", text)] for name, text in fields.items()}
        data["details"] = {
            name: [{"error": code, "description": str(text)} for code, text in each] for name, each in faults.items()
        }
    return json_response(data, status, headers)


def _find_error_page_hook(request: SiteRequest) -> ErrorPageHook | None:
    """Return the hook of the view at this URL. It is also used if an error occurred before the view was called."""
    if request.method in SAFE_METHODS:
        return None
    try:
        view = (request.resolver_match or resolve(request.path_info)).func
    except Resolver404:
        return None
    return getattr(view, "on_error_page", None)


def _error_headers(error: Exception, status: int) -> Mapping[str, str]:
    retry = {"Retry-After": str(RETRY_AFTER_S)} if status == HTTPStatus.SERVICE_UNAVAILABLE else {}
    return {**retry, **getattr(error, "headers", {})}


class ErrorsMiddleware(Middleware):
    """Responds to errors of views. The site's handler calls it on the event loop (handler.py)."""

    def process_exception(self, request: SiteRequest, error: Exception) -> HttpResponse | None:
        if is_storage_failure(error):
            log.error("storage_unavailable", reason=str(error), exc_info=error)
            error = site.StorageUnavailable()
        return respond_to_error(request, error) if isinstance(error, tuple(STATUS_BY_ERROR)) else None
