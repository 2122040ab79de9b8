"""The ONE table from errors to HTTP, and the two shapes a refusal has (docs/reference/interface.md, Errors).

Services and requests raise; here each class has its status. What is not in the table is a defect: 500, and
the page says nothing about it. Errors of the store are 503: the effect is unknown, repeating is safe.
"""

from collections.abc import Mapping
from http import HTTPStatus

import structlog
from django.core.exceptions import BadRequest, PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.http import Http404, HttpResponse
from django.http.multipartparser import MultiPartParserError
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts import errors as accounts
from socialsite import errors as site
from socialsite.admin import errors as ops
from socialsite.store.errors import StoreUnavailable
from socialsite.web.middleware.base import Middleware
from socialsite.web.requests import SiteRequest, json_response, page_response, redirect_to_login, wants_json
from timelines import errors as timelines
from timelines.publishing.draft import COMPOSE_TEMPLATE, preserve_draft

log = structlog.get_logger("socialsite.errors")

LazyText = str | Promise
RETRY_AFTER_S = 3
"""When to try again after store trouble: a restart or failover takes about this long."""

STATUS_BY_ERROR: Mapping[type[Exception], int] = {
    site.MalformedRequest: 400,
    site.MethodNotAllowed: 405,
    site.RateLimited: 429,
    site.DeadlineExceeded: 503,
    accounts.FieldErrors: 422,
    accounts.HandleTaken: 409,
    accounts.AccountNotFound: 404,
    accounts.InvalidCredentials: 401,
    accounts.SignInRequired: 401,
    ops.CannotModerateSelf: 409,
    ops.DeadLetterNotFound: 404,
    timelines.PostNotFound: 404,
    timelines.TimelineNotFound: 404,
    timelines.ListNotFound: 404,
    timelines.PostInvalid: 422,
    timelines.NotBoostable: 422,
    timelines.ListTitleInvalid: 422,
    timelines.ListInvalid: 422,
    timelines.ListIsVirtual: 409,
    timelines.CannotFollowSelf: 422,
    timelines.IdempotencyConflict: 409,
    timelines.FollowingCapReached: 409,
    timelines.RequesterFollowingCapReached: 409,
    timelines.ListMembersCapReached: 409,
    timelines.ListsCapReached: 409,
    timelines.FollowedHashtagsCapReached: 409,
    timelines.CannotBlockOrMuteSelf: 422,
    timelines.BlocksAndMutesCapReached: 409,
    timelines.FollowRequestsCapReached: 409,
    timelines.MuteDurationInvalid: 422,
    timelines.FilterNotFound: 404,
    timelines.FilterInvalid: 422,
    timelines.FiltersCapReached: 409,
    timelines.PostUnconfirmed: 503,
    StoreUnavailable: 503,
    Http404: 404,
    PermissionDenied: 403,
    BadRequest: 400,
    MultiPartParserError: 400,
    SuspiciousOperation: 400,
    RequestDataTooBig: 413,
}

DEFAULT_MESSAGES: Mapping[int, tuple[str, LazyText]] = {
    400: ("malformed", site.MalformedRequest.message),
    403: ("forbidden", _("This is not yours to do.")),
    404: ("not_found", _("There is nothing at this address.")),
    413: ("too_large", site.RequestTooLarge.message),
    500: ("defect", _("Something went wrong on our side.")),
    503: (site.DeadlineExceeded.code, site.DeadlineExceeded.message),
}
"""Code and message for errors that have none of their own: Django's and the store's."""

HANDLED_ERRORS: tuple[type[Exception], ...] = (*STATUS_BY_ERROR, site.RequestTooLarge)


def get_error_status(error: Exception) -> int:
    """The status of an error or of its nearest known ancestor; 500 if nothing is known."""
    if isinstance(error, site.RequestTooLarge):
        return int(error.status)
    return next((STATUS_BY_ERROR[kind] for kind in type(error).__mro__ if kind in STATUS_BY_ERROR), 500)


def respond_to_error(request: SiteRequest, error: Exception) -> HttpResponse:
    """The refusal, as a page or as JSON."""
    status = get_error_status(error)
    if isinstance(error, StoreUnavailable):
        log.warning("store unavailable", kind=type(error).__name__, reason=str(error))
    if isinstance(error, site.RateLimited) and hasattr(request, "services"):
        request.services.statistics.meter.count_refusal(error.rule)
    if isinstance(error, accounts.SignInRequired) and not wants_json(request):
        return redirect_to_login(request)
    code, message = DEFAULT_MESSAGES.get(status, DEFAULT_MESSAGES[500])
    return error_response(
        request,
        status,
        getattr(error, "code", code),
        getattr(error, "message", message),
        fields=getattr(error, "fields", {}),
        headers=_error_headers(error, status),
        retry_after_s=getattr(error, "retry_after_s", None),
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
    **page: object,
) -> HttpResponse:
    """One error in the shape the client wants. A refused post comes back in its box (refused_post.py)."""
    texts = {name: str(value) for name, value in (fields or {}).items()}
    if wants_json(request):
        return json_response({"error": code, "message": str(message), "fields": texts}, status, headers)
    page |= {"status": status, "message": message, "page_title": message, "rule": texts.get("rule")}
    templates = [template or f"errors/{status}.html", "errors/error.html"]
    if kept := preserve_draft(request, status, texts.get("text") or str(message)):
        page |= kept
        templates = [COMPOSE_TEMPLATE, *templates] if "composer" in kept else templates
    return page_response(request, templates, page, status, headers)


def _error_headers(error: Exception, status: int) -> dict[str, str]:
    if isinstance(error, site.RateLimited):
        return {"Retry-After": str(error.retry_after_s)}
    if isinstance(error, site.MethodNotAllowed):
        return {"Allow": ", ".join(error.allowed_methods)}
    return {"Retry-After": str(RETRY_AFTER_S)} if status == HTTPStatus.SERVICE_UNAVAILABLE else {}


class ErrorsMiddleware(Middleware):
    """Answers what views raise. Under the site's own handler this is called on the loop (handler.py)."""

    def process_exception(self, request: SiteRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, HANDLED_ERRORS):
            return None
        return respond_to_error(request, error)
