"""Parses the query parameter `?date=` of timelines."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from functools import wraps
from typing import Concatenate, ParamSpec

from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from socialsite.errors import MalformedRequest
from socialsite.ids import EPOCH_MS, MAX_ID, PostId, id_at, ms_from_id
from socialsite.web.requests import SiteRequest
from socialsite.web.responses import SeeOther
from timelines.pages.responses import url_with_query

P = ParamSpec("P")


View = Callable[Concatenate[SiteRequest, P], Awaitable[HttpResponseBase]]


def redirect_date_queries(view: View[P]) -> View[P]:
    """Redirect `?date=YYYY-MM-DD` to the page that starts with the newest entry up to this day (303, UTC)."""

    @wraps(view)
    async def by_day(request: SiteRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        text = request.GET.get("date")
        if text is None:
            return await view(request, *args, **kwargs)
        return SeeOther(url_with_query(request, before=parse_day_cursor(text)) or request.path)

    return by_day


def parse_day_cursor(text: str) -> PostId:
    """Return the exclusive cursor at the end of a day. Raises MalformedRequest."""
    try:
        end = datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC) + timedelta(days=1)
    except (ValueError, OverflowError):
        raise MalformedRequest(fields={"date": _("This is not a day.")}) from None
    at_ms = int(end.timestamp() * 1000)
    return id_at(min(max(at_ms, EPOCH_MS), ms_from_id(MAX_ID)))
