"""A post's own page, publishing and deleting."""

import asyncio
from http import HTTPStatus

from django.http import HttpResponsePermanentRedirect
from django.http.response import HttpResponseBase
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from socialsite.ids import PostId
from socialsite.recipes.buffer import Entity
from socialsite.web.limits import Counted
from socialsite.web.page_cache import Slot
from socialsite.web.requests import (
    SiteRequest,
    form_data,
    json_response,
    own_id,
    respond,
    see_other,
    viewer_id,
    wants_json,
)
from timelines.pages.action_response import done
from timelines.pages.page import HydratedPost
from timelines.pages.presenters import entry_html, post_json, post_url
from timelines.pages.queries import PageQuery, PostForm
from timelines.pages.responses import Page, link, slot
from timelines.pages.view_counts import looked_at
from timelines.posts.post import FOLLOWERS
from timelines.publishing.composer import composer, default_audience
from timelines.threads.views import thread_json, thread_page

DESCRIPTION_MAX = 200  # characters, for search engines and previews


async def publish(request: SiteRequest) -> HttpResponseBase:
    me, services = own_id(request), request.services
    form = PostForm.of(form_data(request))
    async with Counted(request, "post"):
        post = await services.publishing.publish(
            author_id=me,
            text=form.text,
            in_reply_to=form.in_reply_to,
            audience=form.audience if form.audience is not None else default_audience(request),
            idempotency_key=form.idempotency_key,
            now_ms=services.clock.now_ms(),
        )
    if not wants_json(request):
        return see_other(request, "/")
    entry = await services.reading.post(post.id, viewer_id=me)
    return json_response(post_json(entry), HTTPStatus.CREATED)


async def delete(request: SiteRequest, post_id: PostId) -> HttpResponseBase:
    await request.services.publishing.delete(account_id=own_id(request), post_id=post_id)
    return done(request, {"deleted": str(post_id)}, default="/")


async def show(request: SiteRequest, handle: str, post_id: PostId) -> HttpResponseBase:
    """The post, what it answers, and what answers it. A wrong handle before the id answers 301."""
    query, services, me = PageQuery.of(request.GET), request.services, viewer_id(request)
    entry = await services.reading.post(post_id, viewer_id=me)
    if entry.author.handle != handle:
        return HttpResponsePermanentRedirect(post_url(post_id, entry.author))
    views, thread = await asyncio.gather(
        looked_at(request, Entity("post", entry.shown.post.id), entry.shown.author.id),
        services.threads.page(entry.shown.post, viewer_id=me, after=query.after or 0, limit=query.limit),
    )
    next_url = link(request, after=thread.next_after)
    return respond(
        request,
        "timelines/post.html",
        page=lambda: {**_page(request, entry), **thread_page(thread, next_url), "views": views},
        data=lambda: {**post_json(entry), **thread_json(thread), "next": next_url},
    )


def _page(request: SiteRequest, entry: HydratedPost) -> Page:
    url, shown = post_url(entry.post.id, entry.author), entry.shown
    original = post_url(shown.post.id, shown.author)
    return {
        "author": entry.author,
        "entry_html": Slot(SafeString(entry_html(entry))),
        "likes_url": slot(f"{original}likes/" if entry.counts.likes else None),
        "boosts_url": slot(f"{original}boosts/" if entry.counts.boosts else None),
        "composer": _reply_box(request, entry, url) if request.account else None,
        "page_title": _("Post by %(name)s") % {"name": entry.author.display_name or entry.author.handle},
        "page_description": Slot(entry.shown.post.text[:DESCRIPTION_MAX]),
        "canonical_url": request.build_absolute_uri(url),
        "og_type": "article",
    }


def _reply_box(request: SiteRequest, entry: HydratedPost, url: str) -> Page:
    """An answer to what only followers see is for followers, too, unless its writer says otherwise."""
    audience = FOLLOWERS if entry.shown.post.audience == FOLLOWERS else default_audience(request)
    return composer(in_reply_to=entry.post.id, next_url=url, audience=audience)
