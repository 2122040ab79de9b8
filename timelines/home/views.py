"""Home, the welcome page, and the public timeline."""

from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from accounts.errors import SignInNeeded
from socialsite.web.requests import SiteRequest, own_id, page_response, respond, viewer_id, wants_json
from timelines.following.suggestion_views import on_home
from timelines.hashtags.trend_views import trends_slot
from timelines.markers.views import place_in
from timelines.pages.queries import PageQuery
from timelines.pages.responses import timeline, timeline_json
from timelines.publishing.composer import composer, default_audience

TASTE = 10  # public posts on the welcome page


async def home(request: SiteRequest) -> HttpResponseBase:
    """One's own home, or what this place is."""
    if request.account is None:
        return await welcome(request)
    query = PageQuery.of(request.GET)
    asked = place_in(request, "home")
    page = await request.services.reading.home(
        own_id(request), before=query.before, after=query.after, limit=query.limit
    )
    place = await asked
    await request.services.trending.top()  # kept in the process; the panel beside every page shows it
    suggested = await on_home(request, query, page)
    return respond(
        request,
        "timelines/home.html",
        page=lambda: {
            "timeline": timeline(request, query, page, "home", place),
            "suggestions": suggested or "",
            "composer": composer(audience=default_audience(request)),
        },
        data=lambda: timeline_json(request, page),
    )


async def welcome(request: SiteRequest) -> HttpResponseBase:
    if wants_json(request):
        raise SignInNeeded
    query = PageQuery(None, None, TASTE)
    page = await request.services.reading.public(viewer_id=None, limit=TASTE, may_lag=True)
    taste = {"timeline": timeline(request, query, page, "public"), "trends_html": await trends_slot(request)}
    return page_response(request, "timelines/welcome.html", taste)


async def public(request: SiteRequest) -> HttpResponseBase:
    query, me = PageQuery.of(request.GET), viewer_id(request)
    asked = place_in(request, "public")
    page = await request.services.reading.public(
        viewer_id=me, before=query.before, after=query.after, limit=query.limit, may_lag=me is None
    )
    place = await asked
    trends = await trends_slot(request)
    return respond(
        request,
        "timelines/public.html",
        page=lambda: {
            "timeline": timeline(request, query, page, "public", place),
            "trends_html": trends if query.is_first else "",
            "page_title": _("Public"),
        },
        data=lambda: timeline_json(request, page),
    )
