"""The ONE table from errors to HTTP, and the two shapes a refusal has (docs/interface.md, Errors).

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
from socialsite.web.requests import SiteRequest, json_response, login_redirect, page_response, wants_json
from timelines import errors as timelines
from timelines.publishing.draft import TEMPLATE, kept_post

log = structlog.get_logger("socialsite.errors")

Text = str | Promise
RETRY_AFTER_S = 3
"""When to try again after store trouble: a restart or failover takes about this long."""

STATUS: Mapping[type[Exception], int] = {
    site.Malformed: 400,
    site.NotAllowed: 405,
    site.RateLimited: 429,
    site.TooSlow: 503,
    accounts.FieldErrors: 422,
    accounts.HandleTaken: 409,
    accounts.AccountNotFound: 404,
    accounts.WrongLogin: 401,
    accounts.SignInNeeded: 401,
    ops.OwnAccount: 409,
    ops.LetterGone: 404,
    timelines.PostNotFound: 404,
    timelines.TimelineNotFound: 404,
    timelines.ListNotFound: 404,
    timelines.PostRefused: 422,
    timelines.BoostRefused: 422,
    timelines.ListTitleInvalid: 422,
    timelines.ListInvalid: 422,
    timelines.ListIsVirtual: 409,
    timelines.FollowingYourself: 422,
    timelines.IdempotencyConflict: 409,
    timelines.FollowingCapReached: 409,
    timelines.RequesterAtCap: 409,
    timelines.MembersCapReached: 409,
    timelines.ListsCapReached: 409,
    timelines.FollowedTagsCapReached: 409,
    timelines.RelatingToYourself: 422,
    timelines.RelationsCapReached: 409,
    timelines.RequestsCapReached: 409,
    timelines.MuteRefused: 422,
    timelines.FilterNotFound: 404,
    timelines.FilterRefused: 422,
    timelines.FiltersCapReached: 409,
    timelines.Unconfirmed: 503,
    StoreUnavailable: 503,
    Http404: 404,
    PermissionDenied: 403,
    BadRequest: 400,
    MultiPartParserError: 400,
    SuspiciousOperation: 400,
    RequestDataTooBig: 413,
}

WORDS: Mapping[int, tuple[str, Text]] = {
    400: ("malformed", site.Malformed.message),
    403: ("forbidden", _("This is not yours to do.")),
    404: ("not_found", _("There is nothing at this address.")),
    413: ("too_large", site.TooLarge.message),
    500: ("defect", _("Something went wrong on our side.")),
    503: (site.TooSlow.code, site.TooSlow.message),
}
"""Code and message for errors that have none of their own: Django's and the store's."""

EXPECTED: tuple[type[Exception], ...] = (*STATUS, site.TooLarge)


def status_of(error: Exception) -> int:
    """The status of an error or of its nearest known ancestor; 500 if nothing is known."""
    if isinstance(error, site.TooLarge):
        return int(error.status)
    return next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 500)


def answer_to(request: SiteRequest, error: Exception) -> HttpResponse:
    """The refusal, as a page or as JSON."""
    status = status_of(error)
    if isinstance(error, StoreUnavailable):
        log.warning("store unavailable", kind=type(error).__name__, reason=str(error))
    if isinstance(error, site.RateLimited) and hasattr(request, "services"):
        request.services.statistics.meter.refused(error.rule)
    if isinstance(error, accounts.SignInNeeded) and not wants_json(request):
        return login_redirect(request)
    code, message = WORDS.get(status, WORDS[500])
    return refusal(
        request,
        status,
        getattr(error, "code", code),
        getattr(error, "message", message),
        fields=getattr(error, "fields", {}),
        headers=_headers(error, status),
        retry_after_s=getattr(error, "retry_after_s", None),
    )


def refusal(
    request: SiteRequest,
    status: int,
    code: str,
    message: Text,
    *,
    fields: Mapping[str, Text] | None = None,
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
    if kept := kept_post(request, status, texts.get("text") or str(message)):
        page |= kept
        templates = [TEMPLATE, *templates] if "composer" in kept else templates
    return page_response(request, templates, page, status, headers)


def _headers(error: Exception, status: int) -> dict[str, str]:
    if isinstance(error, site.RateLimited):
        return {"Retry-After": str(error.retry_after_s)}
    if isinstance(error, site.NotAllowed):
        return {"Allow": ", ".join(error.allowed)}
    return {"Retry-After": str(RETRY_AFTER_S)} if status == HTTPStatus.SERVICE_UNAVAILABLE else {}


class ErrorsMiddleware(Middleware):
    """Answers what views raise. Under the site's own handler this is called on the loop (handler.py)."""

    def process_exception(self, request: SiteRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, EXPECTED):
            return None
        return answer_to(request, error)
