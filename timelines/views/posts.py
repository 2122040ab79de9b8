"""A post's own page, publishing and deleting."""

import asyncio
from http import HTTPStatus

from django.http import HttpResponsePermanentRedirect
from django.http.response import HttpResponseBase
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from socialsite.http import (
    SiteRequest,
    form_data,
    json_response,
    own_id,
    respond,
    see_other,
    viewer_id,
    wants_json,
)
from socialsite.ids import PostId
from socialsite.recipes.buffer import Entity
from socialsite.shells import Slot
from socialsite.throttle import Counted
from timelines.domain.page import HydratedPost
from timelines.errors import PostNotFound
from timelines.forms import PageQuery, PostForm
from timelines.presenters import entries_html, entry_html, post_json, post_url, posts_json
from timelines.views.answers import done
from timelines.views.composer import composer
from timelines.views.pages import Page, link, slot
from timelines.views.visits import looked_at

DESCRIPTION_MAX = 200  # characters, for search engines and previews


async def publish(request: SiteRequest) -> HttpResponseBase:
    me, services = own_id(request), request.services
    form = PostForm.of(form_data(request))
    async with Counted(request, "post"):
        post = await services.publishing.publish(
            author_id=me,
            text=form.text,
            in_reply_to=form.in_reply_to,
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
    """The post, what it answers, and the direct replies. A wrong handle before the id answers 301."""
    query = PageQuery.of(request.GET)
    entry = await request.services.reading.post(post_id, viewer_id=viewer_id(request))
    if entry.author.handle != handle:
        return HttpResponsePermanentRedirect(post_url(post_id, entry.author))
    views, parent, replies = await asyncio.gather(
        looked_at(request, Entity("post", post_id), entry.author.id),
        _parent(request, entry),
        request.services.reading.replies(
            post_id, viewer_id=viewer_id(request), after=query.after or 0, limit=query.limit
        ),
    )
    next_url = link(request, after=replies.next_after)
    return respond(
        request,
        "timelines/post.html",
        page=lambda: {**_page(request, entry, parent, replies.entries, next_url), "views": views},
        data=lambda: {
            **post_json(entry),
            "parent": post_json(parent) if parent else None,
            "replies": posts_json(replies.entries),
            "next": next_url,
        },
    )


async def _parent(request: SiteRequest, entry: HydratedPost) -> HydratedPost | None:
    """The post that this one answers, if it may still be seen."""
    if entry.post.in_reply_to is None:
        return None
    try:
        return await request.services.reading.post(entry.post.in_reply_to, viewer_id=viewer_id(request))
    except PostNotFound:
        return None


def _page(
    request: SiteRequest,
    entry: HydratedPost,
    parent: HydratedPost | None,
    replies: tuple[HydratedPost, ...],
    next_url: str | None,
) -> Page:
    url = post_url(entry.post.id, entry.author)
    return {
        "author": entry.author,
        "entry_html": Slot(SafeString(entry_html(entry))),
        "parent_html": Slot(SafeString(entry_html(parent))) if parent else "",
        "replies_html": Slot(entries_html(replies)) if replies else "",
        "next_url": slot(next_url),
        "composer": composer(in_reply_to=entry.post.id, next_url=url) if request.account else None,
        "page_title": _("Post by %(name)s") % {"name": entry.author.display_name or entry.author.handle},
        "page_description": Slot(entry.post.text[:DESCRIPTION_MAX]),
        "canonical_url": request.build_absolute_uri(url),
        "og_type": "article",
    }
