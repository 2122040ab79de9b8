"""Who may see /ops/: staff. For everybody else there is nothing at these addresses."""

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate

from django.http import Http404
from django.http.response import HttpResponseBase

from socialsite.admin.audit_log import Actor
from socialsite.container import Services
from socialsite.web.requests import AsyncView, P, SiteRequest, require_viewer

StaffView = Callable[Concatenate[SiteRequest, P], Coroutine[Any, Any, HttpResponseBase]]


def staff_only(view: AsyncView[P]) -> StaffView[P]:
    """404 unless the account that asks is staff at this moment; it was read with this very request."""

    @wraps(view)
    async def guarded(request: SiteRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if request.account is None or not request.account.is_staff:
            raise Http404
        return await view(request, *args, **kwargs)

    return guarded


def get_actor(request: SiteRequest) -> Actor:
    """For the audit trail."""
    return Actor(require_viewer(request).id, request.request_id)


def get_services(request: SiteRequest) -> Services:
    """Return the container itself: the staff site reads of every app."""
    services = request.services
    assert isinstance(services, Services)
    return services
