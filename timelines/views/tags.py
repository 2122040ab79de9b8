"""The timeline of a hashtag. A tag has one address, the normalized one; others lead there by 301."""

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any

from django.http import HttpResponsePermanentRedirect
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from socialsite.http import SiteRequest, respond, viewer_id
from timelines.domain.scanning import normalize_tag
from timelines.errors import TagNotFound
from timelines.forms import PageQuery
from timelines.presenters import tag_url
from timelines.views.pages import canonical_url, timeline, timeline_json

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
    query, me = PageQuery.of(request.GET), viewer_id(request)
    page = await request.services.reading.tag(
        tag, viewer_id=me, before=query.before, after=query.after, limit=query.limit, may_lag=me is None
    )
    return respond(
        request,
        "timelines/tag.html",
        page=lambda: {
            "tag": tag,
            "timeline": timeline(request, query, page, f"tag:{tag}"),
            "feed_url": f"{tag_url(tag)}feed.atom",
            "page_title": f"#{tag}",
            "page_description": _("Posts with the hashtag #%(tag)s, newest first") % {"tag": tag},
            "canonical_url": canonical_url(request, query),
            "robots": "" if page.entries else "noindex",  # anything can be a hashtag
        },
        data=lambda: timeline_json(request, page),
    )
