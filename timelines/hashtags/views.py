"""The views of hashtags. The URL has the normalized hashtag; other spellings are redirected with 301."""

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any

from django.http import HttpResponsePermanentRedirect
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from socialsite.concurrency import run_together
from socialsite.web.requests import SiteRequest, get_viewer_id, require_viewer_id, wants_json
from socialsite.web.responses import done, respond
from timelines.errors import HashtagNotFound
from timelines.hashtags.service import FollowedHashtagService
from timelines.hashtags.trend_views import trend_contexts, trends_json, trends_panel
from timelines.hashtags.trends import TrendService
from timelines.markers.views import load_marker
from timelines.pages.presenters import hashtag_json, hashtag_url
from timelines.pages.queries import parse_page_request
from timelines.pages.responses import canonical_url, timeline_context, timeline_json
from timelines.reading.service import ReadingService
from timelines.text.token_scanner import normalize_tag

HashtagView = Callable[[SiteRequest, str], Coroutine[Any, Any, HttpResponseBase]]


def with_canonical_hashtag(view: HashtagView) -> HashtagView:
    """Call the view with the normalized hashtag, or redirect. Raises HashtagNotFound if the text is no hashtag."""

    @wraps(view)
    async def canonical(request: SiteRequest, tag: str) -> HttpResponseBase:
        normal = _require_hashtag(tag)
        if normal != tag:
            rest = request.path.removeprefix(f"/tags/{tag}/")
            _path, mark, query = request.get_full_path().partition("?")
            return HttpResponsePermanentRedirect(f"{hashtag_url(normal)}{rest}{mark}{query}")
        return await view(request, normal)

    return canonical


@with_canonical_hashtag
async def show(request: SiteRequest, tag: str) -> HttpResponseBase:
    query, me, services = parse_page_request(request.GET), get_viewer_id(request), request.services
    page, is_followed, place = await run_together(
        services[ReadingService].tag(
            tag, viewer_id=me, before=query.before, after=query.after, limit=query.limit, may_lag=me is None
        ),
        _is_followed(request, tag),
        load_marker(request, f"tag:{tag}"),
    )
    return respond(
        request,
        "timelines/tag.html",
        page=lambda: {
            "tag": tag,
            "tag_url": hashtag_url(tag),
            "is_followed": is_followed,
            "timeline": timeline_context(request, query, page, f"tag:{tag}", place),
            "feed_url": f"{hashtag_url(tag)}feed.atom",
            "page_title": f"#{tag}",
            "page_description": _("Posts with the hashtag #%(tag)s, newest first") % {"tag": tag},
            "canonical_url": canonical_url(request, query),
            "robots": "" if page.entries else "noindex",  # every word has a hashtag page, even without posts
        },
        data=lambda: timeline_json(request, page),
    )


async def trending_hashtags(request: SiteRequest) -> HttpResponseBase:
    trends = await request.services[TrendService].top()
    context = {"trends": trend_contexts(trends), "page_title": _("Trending")}
    return respond(request, "timelines/trending.html", page=lambda: context, data=lambda: trends_json(trends))


async def followed_hashtags(request: SiteRequest) -> HttpResponseBase:
    me, query, services = require_viewer_id(request), parse_page_request(request.GET), request.services
    tags = await services[FollowedHashtagService].followed(me)
    page = await services[ReadingService].tags(
        tags, viewer_id=me, before=query.before, after=query.after, limit=query.limit
    )
    trends, place = await run_together(trends_panel(request), load_marker(request, "tags"))
    hashtags = [hashtag_json(tag) for tag in tags]
    return respond(
        request,
        "timelines/tags.html",
        page=lambda: {
            "tags": hashtags,
            "timeline": timeline_context(request, query, page, "tags", place),
            "trends_html": trends,
            "page_title": _("Hashtags"),
        },
        data=lambda: {"tags": hashtags, **timeline_json(request, page)},
    )


async def follow(request: SiteRequest, tag: str) -> HttpResponseBase:
    me, services, normal = require_viewer_id(request), request.services, _require_hashtag(tag)
    await services[FollowedHashtagService].follow(
        account_id=me, tag=normal, now_ms=services.clock.now_ms(), caller=request.caller
    )
    return done(request, {"following": True}, default=hashtag_url(normal))


async def unfollow(request: SiteRequest, tag: str) -> HttpResponseBase:
    me, normal = require_viewer_id(request), _require_hashtag(tag)
    await request.services[FollowedHashtagService].unfollow(account_id=me, tag=normal, caller=request.caller)
    return done(request, {"following": False}, default=hashtag_url(normal))


async def _is_followed(request: SiteRequest, tag: str) -> bool:
    me = get_viewer_id(request)
    if me is None or wants_json(request):
        return False
    return await request.services[FollowedHashtagService].is_following(me, tag)


def _require_hashtag(tag: str) -> str:
    """Return the normalized hashtag of any spelling. Raises HashtagNotFound."""
    normal = normalize_tag(tag)
    if normal is None:
        raise HashtagNotFound
    return normal
