"""Favourites, boosts, bookmarks, pins and muted threads. Each action returns the post with its new counts."""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from django.http import HttpResponse
from django.utils.translation import gettext_lazy as _
from msgspec import Raw

from socialsite.ids import PostId
from socialsite.service import Service
from socialsite.web.requests import AsyncView, SiteRequest, require_viewer_id, writing
from timelines.api.endpoint import endpoint
from timelines.api.fields import api_fields, limit_field
from timelines.api.pagination import edge_field, encode_edge, page_response
from timelines.api.presenters import status_json, statuses_json
from timelines.errors import NotBoostable
from timelines.notifications.thread_mutes import MutedThreadService
from timelines.pages.page import HydratedPost
from timelines.pins.service import PinService
from timelines.reactions.bookmarks import Bookmark, BookmarkCursor, BookmarksPage
from timelines.reactions.service import ReactionsService

S = TypeVar("S", bound=Service)


def action_endpoint(
    scope: str, service: type[S], act: Callable[..., Awaitable[HydratedPost]], *, is_timed: bool = False
) -> AsyncView[[PostId]]:
    """Return the endpoint of a method of a service, which returns the post. `is_timed` is set if it takes `now_ms`."""

    @endpoint(scope, needs_account=True)
    async def view(request: SiteRequest, post_id: PostId) -> Raw:
        services = request.services
        time = {"now_ms": services.clock.now_ms()} if is_timed else {}
        entry = await act(services[service], account_id=require_viewer_id(request), post_id=post_id, **time)
        return await status_json(request, entry)

    return view


ACTIONS: Final = {
    "favourite": writing(action_endpoint("write:favourites", ReactionsService, ReactionsService.like, is_timed=True)),
    "unfavourite": action_endpoint("write:favourites", ReactionsService, ReactionsService.unlike),
    "unreblog": action_endpoint("write:statuses", ReactionsService, ReactionsService.unboost),
    "bookmark": action_endpoint("write:bookmarks", ReactionsService, ReactionsService.bookmark, is_timed=True),
    "unbookmark": action_endpoint("write:bookmarks", ReactionsService, ReactionsService.unbookmark),
    "mute": action_endpoint("write:mutes", MutedThreadService, MutedThreadService.mute, is_timed=True),
    "unmute": action_endpoint("write:mutes", MutedThreadService, MutedThreadService.unmute),
    "pin": writing(action_endpoint("write:accounts", PinService, PinService.pin, is_timed=True)),
    "unpin": action_endpoint("write:accounts", PinService, PinService.unpin),
}
"""The last part of the address of a post -> the endpoint. The rate limit of likes counts these actions."""


@endpoint("write:statuses", needs_account=True)
async def reblog(request: SiteRequest, post_id: PostId) -> Raw:
    """Boost a post, and return the boost itself, as in Mastodon. A boost is as visible as its original."""
    if api_fields(request).get("visibility", "public") != "public":
        raise NotBoostable({"visibility": _("Boosts of this site are public.")})
    me, services = require_viewer_id(request), request.services
    reactions, now_ms = services[ReactionsService], services.clock.now_ms()
    original = await reactions.boost(account_id=me, post_id=post_id, now_ms=now_ms, caller=request.caller)
    entry = await reactions.find_boost(me, original.id) or original
    return await status_json(request, entry)


@endpoint("read:bookmarks", needs_account=True)
async def bookmarks(request: SiteRequest) -> HttpResponse:
    return await _marked_posts(request, request.services[ReactionsService].bookmarks)


@endpoint("read:favourites", needs_account=True)
async def favourites(request: SiteRequest) -> HttpResponse:
    return await _marked_posts(request, request.services[ReactionsService].likes)


async def _marked_posts(request: SiteRequest, read: Callable[..., Awaitable[BookmarksPage]]) -> HttpResponse:
    """Return a page whose cursors are the times of the marks, not ids of posts."""
    fields = api_fields(request)
    page = await read(require_viewer_id(request), cursor=_mark_cursor(request), limit=limit_field(fields, 20, 40))
    statuses = await statuses_json(request, page.entries)
    return page_response(
        request, statuses, next_id=_encode_cursor(page.next), previous_id=_encode_cursor(page.previous)
    )


def _mark_cursor(request: SiteRequest) -> BookmarkCursor | None:
    fields = api_fields(request)
    for name, upward in (("min_id", True), ("since_id", True), ("max_id", False)):
        if edge := edge_field(fields, name):
            at_ms, post_id = edge
            return BookmarkCursor(Bookmark(at_ms, PostId(post_id)), upward)
    return None


def _encode_cursor(cursor: BookmarkCursor | None) -> str | None:
    return None if cursor is None else encode_edge(cursor.edge.at_ms, cursor.edge.post_id)
