"""The views of the home timeline, the welcome page and the public timeline."""

from collections.abc import Coroutine
from typing import Any

from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from accounts.sessions.authentication import require_account
from socialsite.concurrency import run_together
from socialsite.errors import SignInRequired
from socialsite.ids import AccountId
from socialsite.web.requests import SiteRequest, get_viewer_id, require_viewer, require_viewer_id, wants_json
from socialsite.web.responses import get_site, page_response, respond
from timelines.following.views import suggest_on_home
from timelines.hashtags.service import FollowedHashtagService
from timelines.hashtags.trend_views import trends_panel
from timelines.hashtags.trends import TrendService
from timelines.home_page.announcements import render_announcements
from timelines.lists.service import ListService
from timelines.markers.views import load_marker
from timelines.onboarding.views import find_next_step
from timelines.pages.page import WITHOUT_REPLIES, PageRequest, TimelinePage
from timelines.pages.queries import parse_page_request
from timelines.pages.responses import timeline_context, timeline_json
from timelines.posts.post import AUDIENCE_BY_NAME
from timelines.public_lists.service import PublicListService
from timelines.publishing.composer import composer_context
from timelines.publishing.service import default_audience
from timelines.reading.service import ReadingService
from timelines.reports.service import ReportService

WELCOME_POSTS = 10  # number of public posts on the welcome page


async def home(request: SiteRequest) -> HttpResponseBase:
    """Show the viewer's home timeline, or the welcome page to visitors."""
    viewer = request.account
    if viewer is None:
        return await welcome(request)
    query = parse_page_request(request.GET)
    pending_marker = load_marker(request, "home")
    me = require_viewer_id(request)
    read = request.services[ReadingService].home(me, before=query.before, after=query.after, limit=query.limit)
    page = await _with_menus(request, me, read)
    marker = await pending_marker
    await request.services[TrendService].top()  # fills the cache of the process, from which the side panel reads
    suggested = await suggest_on_home(request, query, page)
    onboarding_step = 0 if wants_json(request) else await find_next_step(request)
    preferences = require_account(request).preferences
    return respond(
        request,
        "timelines/home.html",
        page=lambda: {
            "timeline": timeline_context(request, query, page, "home", marker),
            "announcements": render_announcements(request),
            "suggestions": suggested or "",
            "onboarding_step": onboarding_step,
            "composer": composer_context(
                preferences,
                audience=default_audience(viewer.is_private, preferred=AUDIENCE_BY_NAME[preferences.audience]),
            ),
        },
        data=lambda: timeline_json(request, page),
    )


async def _with_menus(
    request: SiteRequest, viewer_id: AccountId, read: Coroutine[Any, Any, TimelinePage]
) -> TimelinePage:
    """Return the result of `read`. At the same time read those of the viewer's menus that are not cached."""
    if wants_json(request):
        return await read
    services, now_ms = request.services, request.services.clock.now_ms()
    tabs, hashtags = require_account(request).preferences.tabs, services[FollowedHashtagService]
    missing: list[Coroutine[Any, Any, object]] = []
    if not services[ListService].menus.is_fresh(viewer_id, now_ms):
        missing.append(services[PublicListService].load_menu(viewer_id, now_ms, tabs))
    if not hashtags.menus.is_fresh(viewer_id, now_ms):
        missing.append(hashtags.load_menu(viewer_id, now_ms, tabs))
    reports = services[ReportService]
    if require_viewer(request).is_staff and not reports.is_backlog_fresh:
        missing.append(reports.open_reports())
    if not missing:
        return await read
    page: TimelinePage
    page, _ = await run_together(read, run_together(*missing))
    return page


async def welcome(request: SiteRequest) -> HttpResponseBase:
    if wants_json(request):
        raise SignInRequired
    query = PageRequest(limit=WELCOME_POSTS)
    read_public = request.services[ReadingService].public
    page = await read_public(viewer_id=None, limit=WELCOME_POSTS, may_lag=True, selection=WITHOUT_REPLIES)
    context = {
        "announcements": render_announcements(request),
        "welcome": get_site(request).welcome,
        "timeline": timeline_context(request, query, page, "public") | {"channel": "public:posts"},
        "trends_html": await trends_panel(request),
    }
    return page_response(request, "timelines/welcome.html", context)


async def public(request: SiteRequest) -> HttpResponseBase:
    query, me, with_replies = parse_page_request(request.GET), get_viewer_id(request), _shows_replies(request)
    pending_marker = load_marker(request, "public")
    read = request.services[ReadingService].public(
        viewer_id=me,
        before=query.before,
        after=query.after,
        limit=query.limit,
        may_lag=me is None,
        selection=None if with_replies else WITHOUT_REPLIES,
    )
    page = await (read if me is None else _with_menus(request, me, read))
    marker = await pending_marker
    trends = await trends_panel(request)
    return respond(
        request,
        "timelines/public.html",
        page=lambda: {
            "timeline": timeline_context(request, query, page, "public", marker)
            | {"channel": "" if with_replies else "public:posts"},
            "shows_replies": with_replies,
            "trends_html": trends if query.is_first else "",
            "page_title": _("Public"),
        },
        data=lambda: timeline_json(request, page),
    )


def _shows_replies(request: SiteRequest) -> bool:
    """Return whether the public timeline has replies to other accounts.

    On pages, accounts choose this by a preference, and visitors by `?replies=1`. JSON has replies without `?replies=0`.
    """
    chosen = request.GET.get("replies")
    if wants_json(request):
        return chosen != "0"
    return chosen == "1" if request.account is None else require_account(request).preferences.shows_replies
