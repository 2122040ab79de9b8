"""`?date=` on timelines."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Concatenate, ParamSpec

from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from socialsite.errors import Malformed
from socialsite.ids import EPOCH_MS, MAX_ID, PostId, id_at, ms_of
from socialsite.web.requests import SeeOther, SiteRequest
from timelines.pages.responses import link

P = ParamSpec("P")


View = Callable[Concatenate[SiteRequest, P], Awaitable[HttpResponseBase]]


def dated(view: View[P]) -> View[P]:
    """`?date=YYYY-MM-DD` on a timeline: 303 to the entries of that day (UTC) and before."""

    async def by_day(request: SiteRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        text = request.GET.get("date")
        if text is None:
            return await view(request, *args, **kwargs)
        return SeeOther(link(request, before=before_of(text)) or request.path)

    return by_day


def before_of(text: str) -> PostId:
    """The exclusive cursor at the end of a day. Raises Malformed."""
    try:
        end = datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC) + timedelta(days=1)
    except (ValueError, OverflowError):
        raise Malformed(fields={"date": _("This is not a day.")}) from None
    at_ms = int(end.timestamp() * 1000)
    return id_at(min(max(at_ms, EPOCH_MS), ms_of(MAX_ID)))
