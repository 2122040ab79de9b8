"""Like, boost, bookmark and back; who liked and who boosted a post; one's bookmarks."""

from collections.abc import Awaitable, Callable

from django.http import HttpResponsePermanentRedirect
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from socialsite.ids import PostId
from socialsite.web.limits import Counted
from socialsite.web.page_cache import Slot
from socialsite.web.requests import SiteRequest, done, own_id, respond, viewer_id
from timelines.graph.follow import FollowPage
from timelines.pages.page import HydratedPost
from timelines.pages.presenters import Json, entries_html, post_json, post_url, posts_json
from timelines.pages.queries import follow_cursor_of, limit_of
from timelines.pages.responses import Page, accounts_response, link, slot, with_following
from timelines.reactions.bookmark_cursor import BookmarkCursor, BookmarksPage
from timelines.reactions.forms import bookmark_cursor_of

ReadAccounts = Callable[..., Awaitable[FollowPage]]


async def like(request: SiteRequest, post_id: PostId) -> HttpResponseBase:
    now_ms = request.services.clock.now_ms()
    act = request.services.reactions.like
    return _done(request, await act(account_id=own_id(request), post_id=post_id, now_ms=now_ms))


async def unlike(request: SiteRequest, post_id: PostId) -> HttpResponseBase:
    act = request.services.reactions.unlike
    return _done(request, await act(account_id=own_id(request), post_id=post_id))


async def boost(request: SiteRequest, post_id: PostId) -> HttpResponseBase:
    """A boost reaches as many homes as a post, so it counts as one."""
    me, services = own_id(request), request.services
    async with Counted(request, "post"):
        entry = await services.reactions.boost(account_id=me, post_id=post_id, now_ms=services.clock.now_ms())
    return _done(request, entry)


async def unboost(request: SiteRequest, post_id: PostId) -> HttpResponseBase:
    act = request.services.reactions.unboost
    return _done(request, await act(account_id=own_id(request), post_id=post_id))


async def bookmark(request: SiteRequest, post_id: PostId) -> HttpResponseBase:
    now_ms = request.services.clock.now_ms()
    act = request.services.reactions.bookmark
    return _done(request, await act(account_id=own_id(request), post_id=post_id, now_ms=now_ms))


async def unbookmark(request: SiteRequest, post_id: PostId) -> HttpResponseBase:
    act = request.services.reactions.unbookmark
    return _done(request, await act(account_id=own_id(request), post_id=post_id))


def _done(request: SiteRequest, entry: HydratedPost) -> HttpResponseBase:
    return done(request, post_json(entry), default=post_url(entry.post.id, entry.author))


async def bookmarks(request: SiteRequest) -> HttpResponseBase:
    """The viewer's own, the last bookmarked first."""
    page = await request.services.reactions.bookmarks(
        own_id(request), cursor=bookmark_cursor_of(request.GET), limit=limit_of(request.GET)
    )
    return respond(
        request,
        "timelines/bookmarks.html",
        page=lambda: {"timeline": _timeline(request, page), "page_title": _("Bookmarks")},
        data=lambda: _bookmarks_json(request, page),
    )


def _timeline(request: SiteRequest, page: BookmarksPage) -> Page:
    """What timelines/_timeline.html takes; nothing arrives here by itself."""
    return {
        "name": "bookmarks",
        "entries_html": Slot(entries_html(page.entries)),
        "is_empty": not page.entries,
        "newest": "0",
        "next_url": slot(_link(request, page.next)),
        "previous_url": slot(_link(request, page.previous)),
        "live": False,
    }


def _bookmarks_json(request: SiteRequest, page: BookmarksPage) -> Json:
    return {
        "posts": posts_json(page.entries),
        "next": _link(request, page.next),
        "previous": _link(request, page.previous),
    }


def _link(request: SiteRequest, cursor: BookmarkCursor | None) -> str | None:
    return link(request, cursor=cursor.encode() if cursor else None)


async def likes(request: SiteRequest, handle: str, post_id: PostId) -> HttpResponseBase:
    """The accounts that like the post. A wrong handle before the id answers 301."""
    read = request.services.reactions.likers
    return await _accounts(request, handle, post_id, read, "likes", _("Liked by"))


async def boosts(request: SiteRequest, handle: str, post_id: PostId) -> HttpResponseBase:
    """The accounts that boost the post. A wrong handle before the id answers 301."""
    read = request.services.reactions.boosters
    return await _accounts(request, handle, post_id, read, "boosts", _("Boosted by"))


async def _accounts(
    request: SiteRequest, handle: str, post_id: PostId, read: ReadAccounts, kind: str, title: str
) -> HttpResponseBase:
    me, services = viewer_id(request), request.services
    entry = (await services.reading.post(post_id, viewer_id=me)).shown
    url = post_url(entry.post.id, entry.author)
    if (entry.author.handle, entry.post.id) != (handle, post_id):
        return HttpResponsePermanentRedirect(f"{url}{kind}/")
    page = await read(
        post_id, viewer_id=me, cursor=follow_cursor_of(request.GET), limit=limit_of(request.GET)
    )
    found = await services.accounts.find_many(page.account_ids)
    shown = await with_following(request, [found[id] for id in page.account_ids if id in found])
    next_url = link(request, cursor=page.next.encode() if page.next else None)
    return accounts_response(
        request, shown, next_url, title=title, page_title=title, kind=kind, account=None, post_url=url
    )
