"""Requests to the staff site: access, the actor for the audit log, the container, cursors of pages."""

from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.http import Http404
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path

from accounts.accounts.staff import StaffService
from accounts.factors.service import FactorService
from accounts.models import Account
from accounts.roles import Right, has_right
from socialsite.admin.audit_log import Actor, AuditLog
from socialsite.admin.errors import FactorRequired, MissingRight
from socialsite.admin.menu import OPS_PATH, build_menu, read_queue_counts
from socialsite.container import Services
from socialsite.ids import AccountId
from socialsite.limits import ActionLimits
from socialsite.web.requests import (
    SAFE_METHODS,
    AsyncView,
    P,
    SiteRequest,
    dispatch_by_method,
    require_viewer,
    wants_json,
)
from socialsite.web.responses import SeeOther
from timelines.reports.service import ReportService

SECURITY_PATH = "/accounts/security/"

AnyView = Callable[..., Awaitable[HttpResponseBase]]
StaffView = Callable[Concatenate[SiteRequest, P], Coroutine[Any, Any, HttpResponseBase]]


def staff_urls(right: Right, *rows: tuple[str, str, AnyView | None, AnyView | None]) -> list[URLPattern]:
    """Return the URLs of rows of route, name, view of GET and view of POST, which counts for a rate limit.

    They answer 404 to accounts that are not staff, and 403 to staff without the right. With STAFF_SECOND_FACTOR the
    account also needs a second factor. Without one the page redirects to its set-up.
    """
    patterns = []
    for route, name, show, act in rows:
        dispatch = dispatch_by_method(**{method: view for method, view in {"GET": show, "POST": act}.items() if view})
        patterns.append(path(route, _require_right(right, dispatch), name=name))
    return patterns


def _require_right(right: Right, view: AsyncView[P]) -> StaffView[P]:
    """Check each request, so that a role that is taken has no effect any more."""

    @wraps(view)
    async def check_and_call(request: SiteRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        account = request.account
        if not isinstance(account, Account) or not account.role:
            raise Http404
        if not await request.services[StaffService].has_listed_role(account):
            raise Http404
        if not has_right(account, right):
            if request.path == OPS_PATH and (groups := build_menu(account, OPS_PATH, {})):
                return SeeOther(groups[0]["path"])
            raise MissingRight
        factors = request.services[FactorService]
        if settings.STAFF_SECOND_FACTOR and not (await factors.find(AccountId(account.id))).is_set:
            if wants_json(request):
                raise FactorRequired
            messages.warning(request, str(FactorRequired.message), fail_silently=True)
            return SeeOther(SECURITY_PATH)
        if not request.services[ReportService].is_backlog_fresh:
            await request.services[ReportService].open_reports()  # the menu shows the number
        if request.method not in SAFE_METHODS:  # also if nothing changes, because the audit log has an entry
            await request.services[ActionLimits].enforce(request.caller, "staff")
        if not wants_json(request):
            counts = await read_queue_counts(get_services(request))  # the page of a refused form also shows the counts
            request.staff_menu = build_menu(account, request.path, counts)
        return await view(request, *args, **kwargs)

    check_and_call.right = right  # type: ignore[attr-defined]  # read by the test that walks the URLs
    return check_and_call


def get_actor(request: SiteRequest) -> Actor:
    """Return the actor for the audit log. Raises SignInRequired."""
    return Actor(require_viewer(request).id, request.request_id)


async def record_action(request: SiteRequest, action: str, target: str, detail: str = "") -> None:
    """Write an action of the viewer to the audit log, before the action."""
    await AuditLog(request.services.store).record(get_actor(request), action, target, detail)


def get_services(request: SiteRequest) -> Services:
    """Return the container, because the staff site reads data of all apps."""
    services = request.services
    assert isinstance(services, Services)
    return services


def build_next_url(request: SiteRequest, cursor: object | None, **query: str) -> str | None:
    """Return the URL of this page from `cursor` on, or None if there is no cursor."""
    return None if cursor is None else f"{request.path}?{urlencode({**query, 'cursor': cursor})}"
