"""Markers and the scrolling preference of a reader."""

from collections.abc import Awaitable

from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from socialsite.errors import MalformedRequest
from socialsite.ids import PostId, parse_id
from socialsite.web.requests import SiteRequest, get_form_data, get_viewer_id, require_viewer_id, wants_json
from socialsite.web.responses import done
from timelines.markers.marker import Marker
from timelines.markers.service import MarkerService


def load_marker(request: SiteRequest, timeline: str) -> Awaitable[Marker]:
    """Start to read the marker of a page. JSON clients store their own markers."""
    return request.services[MarkerService].find(None if wants_json(request) else get_viewer_id(request), timeline)


async def save_marker(request: SiteRequest) -> HttpResponseBase:
    """Store the marker from the fields `timeline` and `post`. With the field `back`, the marker may move back."""
    me, fields = require_viewer_id(request), get_form_data(request)
    post_id, timeline = parse_id(fields.get("post", "")), fields.get("timeline", "")
    if post_id is None:
        raise MalformedRequest(fields={"post": _("This is not the id of a post.")})
    back = fields.get("back", "") not in ("", "0")
    marker = await request.services[MarkerService].move(me, timeline, PostId(post_id), back=back)
    return done(request, {"timeline": timeline, "post": str(marker)}, default="/")


async def save_reading_preference(request: SiteRequest) -> HttpResponseBase:
    """Store the preference `scroll`: "on" (pages load older posts by themselves) or "off"."""
    me, scroll = require_viewer_id(request), get_form_data(request).get("scroll", "")
    if scroll not in ("on", "off"):
        raise MalformedRequest(fields={"scroll": _("This is not one of the choices.")})
    await request.services[MarkerService].markers.set_scroll_preference(me, scrolls=scroll == "on")
    return done(request, {"scroll": scroll}, default="/")
