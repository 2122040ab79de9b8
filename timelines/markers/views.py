"""Where a reader is: places kept, preferences, and the way to a day."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Concatenate, ParamSpec

from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from socialsite.errors import Malformed
from socialsite.ids import EPOCH_MS, MAX_ID, PostId, id_at, ms_of
from socialsite.web.requests import SeeOther, SiteRequest, form_data, own_id, viewer_id, wants_json
from timelines.markers.marker import ReadingPlace
from timelines.pages.action_response import done
from timelines.pages.queries import find_id
from timelines.pages.responses import link

P = ParamSpec("P")
View = Callable[Concatenate[SiteRequest, P], Awaitable[HttpResponseBase]]


def place_in(request: SiteRequest, timeline: str) -> Awaitable[ReadingPlace]:
    """How far the reader has read, asked now; programs keep that themselves."""
    return request.services.positions.begin(None if wants_json(request) else viewer_id(request), timeline)


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


async def move(request: SiteRequest) -> HttpResponseBase:
    """Keep how far a timeline was read: `timeline`, `post`; with `back` it may be less than before."""
    me, fields = own_id(request), form_data(request)
    post_id, timeline = find_id(fields.get("post", "")), fields.get("timeline", "")
    if post_id is None:
        raise Malformed(fields={"post": _("This is not the id of a post.")})
    back = fields.get("back", "") not in ("", "0")
    held = await request.services.positions.move(me, timeline, PostId(post_id), back=back)
    return done(request, {"timeline": timeline, "post": str(held)}, default="/")


async def prefer(request: SiteRequest) -> HttpResponseBase:
    """How one likes to read: `scroll` is on (older posts come by themselves) or off."""
    me, scroll = own_id(request), form_data(request).get("scroll", "")
    if scroll not in ("on", "off"):
        raise Malformed(fields={"scroll": _("This is none of the choices.")})
    await request.services.positions.prefer(me, scrolls=scroll == "on")
    return done(request, {"scroll": scroll}, default="/")
