"""Requests to the staff site: access, the actor for the audit log, the container, cursors of pages."""

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate
from urllib.parse import urlencode

from django.http import Http404
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from socialsite.admin.audit_log import Actor
from socialsite.container import Services
from socialsite.errors import MalformedRequest
from socialsite.recipes.job_queue import STREAM_ID
from socialsite.web.requests import AsyncView, P, SiteRequest, require_viewer

StaffView = Callable[Concatenate[SiteRequest, P], Coroutine[Any, Any, HttpResponseBase]]


def staff_only(view: AsyncView[P]) -> StaffView[P]:
    """Respond with 404 unless the viewer is staff. Each request reads the account, so a revocation is immediate."""

    @wraps(view)
    async def guarded_view(request: SiteRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if request.account is None or not request.account.is_staff:
            raise Http404
        return await view(request, *args, **kwargs)

    return guarded_view


def get_actor(request: SiteRequest) -> Actor:
    """Return the actor for the audit log. Raises SignInRequired."""
    return Actor(require_viewer(request).id, request.request_id)


def get_services(request: SiteRequest) -> Services:
    """Return the container, because the staff site reads data of all apps."""
    services = request.services
    assert isinstance(services, Services)
    return services


def parse_cursor(request: SiteRequest) -> str | None:
    """Return the parameter `?cursor=`, the id of a stream entry. Raises MalformedRequest."""
    text = request.GET.get("cursor")
    if text is not None and not STREAM_ID.fullmatch(text):
        raise MalformedRequest(fields={"cursor": _("This cursor is not valid.")})
    return text


def build_next_url(request: SiteRequest, cursor: object | None, **query: str) -> str | None:
    """Return the URL of this page from `cursor` on, or None if there is no cursor."""
    return None if cursor is None else f"{request.path}?{urlencode({**query, 'cursor': cursor})}"
