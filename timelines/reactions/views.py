"""Likes, boosts and bookmarks: actions on a post, pages of likers and boosters, the page of bookmarks."""

from collections.abc import Awaitable, Callable

from django.http import HttpResponsePermanentRedirect
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from socialsite.ids import PostId
from socialsite.web.page_cache import Placeholder
from socialsite.web.requests import AsyncView, SiteRequest, get_viewer_id, require_viewer_id
from socialsite.web.responses import done, respond
from timelines.following.presenters import AccountPageReader, accounts_response
from timelines.pages.page import HydratedPost
from timelines.pages.presenters import Json, entries_html, post_json, post_url, posts_json
from timelines.pages.queries import parse_cursor, parse_limit
from timelines.pages.responses import TemplateContext, optional_placeholder, url_with_query
from timelines.reactions.bookmarks import BookmarkCursor, BookmarksPage
from timelines.reactions.service import ReactionsService
from timelines.reading.service import ReadingService


def reaction_view(act: Callable[..., Awaitable[HydratedPost]], *, is_timed: bool = False) -> AsyncView[[PostId]]:
    """Return the view of a method of ReactionsService. `is_timed` is set if it takes `now_ms`."""

    async def view(request: SiteRequest, post_id: PostId) -> HttpResponseBase:
        services = request.services
        time = {"now_ms": services.clock.now_ms()} if is_timed else {}
        entry = await act(services[ReactionsService], account_id=require_viewer_id(request), post_id=post_id, **time)
        return _entry_response(request, entry)

    return view


like = reaction_view(ReactionsService.like, is_timed=True)
unlike = reaction_view(ReactionsService.unlike)
unboost = reaction_view(ReactionsService.unboost)
bookmark = reaction_view(ReactionsService.bookmark, is_timed=True)
unbookmark = reaction_view(ReactionsService.unbookmark)


async def boost(request: SiteRequest, post_id: PostId) -> HttpResponseBase:
    me, services = require_viewer_id(request), request.services
    entry = await services[ReactionsService].boost(
        account_id=me, post_id=post_id, now_ms=services.clock.now_ms(), caller=request.caller
    )
    return _entry_response(request, entry)


def _entry_response(request: SiteRequest, entry: HydratedPost) -> HttpResponseBase:
    return done(request, post_json(entry), default=post_url(entry.post.id, entry.author))


async def bookmarks(request: SiteRequest) -> HttpResponseBase:
    """Show the viewer's bookmarks, the last bookmarked first."""
    page = await request.services[ReactionsService].bookmarks(
        require_viewer_id(request),
        cursor=parse_cursor(request.GET, BookmarkCursor.decode),
        limit=parse_limit(request.GET),
    )
    return respond(
        request,
        "timelines/bookmarks.html",
        page=lambda: {"timeline": marked_posts_context(request, page, "bookmarks"), "page_title": _("Bookmarks")},
        data=lambda: marked_posts_json(request, page),
    )


def marked_posts_context(request: SiteRequest, page: BookmarksPage, name: str) -> TemplateContext:
    """Return the context of timelines/_timeline.html for bookmarks or likes, without live entries."""
    return {
        "name": name,
        "entries_html": Placeholder(entries_html(page.entries)),
        "is_empty": not page.entries,
        "newest": "0",
        "next_url": optional_placeholder(_cursor_url(request, page.next)),
        "previous_url": optional_placeholder(_cursor_url(request, page.previous)),
        "live": False,
    }


def marked_posts_json(request: SiteRequest, page: BookmarksPage) -> Json:
    return {
        "posts": posts_json(page.entries),
        "next": _cursor_url(request, page.next),
        "previous": _cursor_url(request, page.previous),
    }


def _cursor_url(request: SiteRequest, cursor: BookmarkCursor | None) -> str | None:
    return url_with_query(request, cursor=cursor.encode() if cursor else None)


async def likes(request: SiteRequest, handle: str, post_id: PostId) -> HttpResponseBase:
    """Show the accounts that like the post. A wrong handle before the id is redirected with 301."""
    read = request.services[ReactionsService].likers
    return await _accounts_response(request, handle, post_id, read, "likes", _("Liked by"))


async def boosts(request: SiteRequest, handle: str, post_id: PostId) -> HttpResponseBase:
    """Show the accounts that boost the post. A wrong handle before the id is redirected with 301."""
    read = request.services[ReactionsService].boosters
    return await _accounts_response(request, handle, post_id, read, "boosts", _("Boosted by"))


async def _accounts_response(
    request: SiteRequest, handle: str, post_id: PostId, read: AccountPageReader, kind: str, title: str
) -> HttpResponseBase:
    me, services = get_viewer_id(request), request.services
    entry = (await services[ReadingService].post(post_id, viewer_id=me)).shown
    url = post_url(entry.post.id, entry.author)
    if (entry.author.handle, entry.post.id) != (handle, post_id):
        return HttpResponsePermanentRedirect(f"{url}{kind}/")
    return await accounts_response(
        request, read, post_id, title=title, page_title=title, kind=kind, account=None, post_url=url
    )
