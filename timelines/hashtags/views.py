"""The timeline of a hashtag. A tag has one address, the normalized one; others lead there by 301."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any

from django.http import HttpResponsePermanentRedirect
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from socialsite.web.limits import Counted
from socialsite.web.requests import SiteRequest, done, json_response, own_id, respond, viewer_id, wants_json
from timelines.errors import TagNotFound
from timelines.hashtags.trend_views import trends_json, trends_slot
from timelines.markers.views import place_in
from timelines.pages.presenters import tag_json, tag_url
from timelines.pages.queries import PageQuery
from timelines.pages.responses import canonical_url, timeline, timeline_json
from timelines.text.token_scanner import normalize_tag

TagView = Callable[[SiteRequest, str], Coroutine[Any, Any, HttpResponseBase]]


def by_tag(view: TagView) -> TagView:
    """Hands over the normalized tag. Raises TagNotFound for what can be none."""

    @wraps(view)
    async def canonical(request: SiteRequest, tag: str) -> HttpResponseBase:
        normal = normalize_tag(tag)
        if normal is None:
            raise TagNotFound
        if normal != tag:
            rest = request.path.removeprefix(f"/tags/{tag}/")
            _path, mark, query = request.get_full_path().partition("?")
            return HttpResponsePermanentRedirect(f"{tag_url(normal)}{rest}{mark}{query}")
        return await view(request, normal)

    return canonical


@by_tag
async def show(request: SiteRequest, tag: str) -> HttpResponseBase:
    query, me, services = PageQuery.of(request.GET), viewer_id(request), request.services
    page, is_followed, place = await asyncio.gather(
        services.reading.tag(
            tag, viewer_id=me, before=query.before, after=query.after, limit=query.limit, may_lag=me is None
        ),
        _is_followed(request, tag),
        place_in(request, f"tag:{tag}"),
    )
    return respond(
        request,
        "timelines/tag.html",
        page=lambda: {
            "tag": tag,
            "tag_url": tag_url(tag),
            "is_followed": is_followed,
            "timeline": timeline(request, query, page, f"tag:{tag}", place),
            "feed_url": f"{tag_url(tag)}feed.atom",
            "page_title": f"#{tag}",
            "page_description": _("Posts with the hashtag #%(tag)s, newest first") % {"tag": tag},
            "canonical_url": canonical_url(request, query),
            "robots": "" if page.entries else "noindex",  # anything can be a hashtag
        },
        data=lambda: timeline_json(request, page),
    )


async def trending(request: SiteRequest) -> HttpResponseBase:
    """What is talked about now, for programs; as a page the timeline of the hashtag "trending"."""
    if not wants_json(request):
        return await show(request, "trending")
    return json_response(trends_json(await request.services.trending.top()))


async def followed(request: SiteRequest) -> HttpResponseBase:
    """The hashtags one follows, and their posts."""
    me, query, services = own_id(request), PageQuery.of(request.GET), request.services
    tags = await services.tagging.followed(me)
    page = await services.reading.tags(
        tags, viewer_id=me, before=query.before, after=query.after, limit=query.limit
    )
    trends, place = await asyncio.gather(trends_slot(request), place_in(request, "tags"))
    shown = [tag_json(tag) for tag in tags]
    return respond(
        request,
        "timelines/tags.html",
        page=lambda: {
            "tags": shown,
            "timeline": timeline(request, query, page, "tags", place),
            "trends_html": trends,
            "page_title": _("Hashtags"),
        },
        data=lambda: {"tags": shown, **timeline_json(request, page)},
    )


async def follow(request: SiteRequest, tag: str) -> HttpResponseBase:
    me, services, normal = own_id(request), request.services, _normal(tag)
    async with Counted(request, "follow"):
        await services.tagging.follow(account_id=me, tag=normal, now_ms=services.clock.now_ms())
    return done(request, {"following": True}, default=tag_url(normal))


async def unfollow(request: SiteRequest, tag: str) -> HttpResponseBase:
    me, normal = own_id(request), _normal(tag)
    async with Counted(request, "follow"):
        await request.services.tagging.unfollow(account_id=me, tag=normal)
    return done(request, {"following": False}, default=tag_url(normal))


async def _is_followed(request: SiteRequest, tag: str) -> bool:
    me = viewer_id(request)
    if me is None or wants_json(request):
        return False
    return await request.services.tagging.is_following(me, tag)


def _normal(tag: str) -> str:
    """An action takes any spelling. Raises TagNotFound."""
    normal = normalize_tag(tag)
    if normal is None:
        raise TagNotFound
    return normal
