"""Favourites, boosts, bookmarks and pins in the API. Each action returns the post with its new counts."""

from collections.abc import Awaitable, Callable

from django.http import HttpResponse
from django.utils.translation import gettext_lazy as _

from socialsite.ids import AccountId, PostId
from socialsite.web.requests import AsyncView, SiteRequest, require_viewer_id
from socialsite.web.responses import json_response
from timelines.api.endpoint import endpoint
from timelines.api.fields import api_fields, limit_field
from timelines.api.pagination import edge_field, encode_edge, page_response
from timelines.api.presenters import site_url, status_json, statuses_json
from timelines.errors import NotBoostable
from timelines.pages.page import HydratedPost
from timelines.pins.service import PinService
from timelines.reactions.bookmarks import Bookmark, BookmarkCursor, BookmarksPage
from timelines.reactions.service import ReactionsService

Action = Callable[[SiteRequest, AccountId, PostId, int], Awaitable[HydratedPost]]
"""(request, account, post, now_ms) -> the post after the action."""


def action_endpoint(scope: str, act: Action) -> AsyncView[[PostId]]:
    """Return the endpoint of an action on a post."""

    @endpoint(scope, needs_account=True)
    async def view(request: SiteRequest, post_id: PostId) -> HttpResponse:
        entry = await act(request, require_viewer_id(request), post_id, request.services.clock.now_ms())
        return json_response(await status_json(request.services, site_url(request), entry))

    return view


async def _boost(request: SiteRequest, me: AccountId, post_id: PostId, now_ms: int) -> HydratedPost:
    """Return the boost itself, as in Mastodon. A boost is as visible as its original."""
    if api_fields(request).get("visibility", "public") != "public":
        raise NotBoostable({"visibility": _("Boosts of this site are public.")})
    reactions = request.services[ReactionsService]
    original = await reactions.boost(account_id=me, post_id=post_id, now_ms=now_ms, caller=request.caller)
    return await reactions.find_boost(me, original.id) or original


favourite = action_endpoint(
    "write:favourites",
    lambda request, me, post_id, now_ms: request.services[ReactionsService].like(
        account_id=me, post_id=post_id, now_ms=now_ms
    ),
)
unfavourite = action_endpoint(
    "write:favourites",
    lambda request, me, post_id, _now_ms: request.services[ReactionsService].unlike(account_id=me, post_id=post_id),
)
reblog = action_endpoint("write:statuses", _boost)
unreblog = action_endpoint(
    "write:statuses",
    lambda request, me, post_id, _now_ms: request.services[ReactionsService].unboost(account_id=me, post_id=post_id),
)
bookmark = action_endpoint(
    "write:bookmarks",
    lambda request, me, post_id, now_ms: request.services[ReactionsService].bookmark(
        account_id=me, post_id=post_id, now_ms=now_ms
    ),
)
unbookmark = action_endpoint(
    "write:bookmarks",
    lambda request, me, post_id, _now_ms: request.services[ReactionsService].unbookmark(account_id=me, post_id=post_id),
)
pin = action_endpoint(
    "write:accounts",
    lambda request, me, post_id, now_ms: request.services[PinService].pin(
        account_id=me, post_id=post_id, now_ms=now_ms
    ),
)
unpin = action_endpoint(
    "write:accounts",
    lambda request, me, post_id, _now_ms: request.services[PinService].unpin(account_id=me, post_id=post_id),
)


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
    statuses = await statuses_json(request.services, site_url(request), page.entries)
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
