"""Explore: what `/search/` offers before anything is typed: popular posts, people and hashtags, also to visitors."""

from functools import lru_cache
from typing import Final

from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from accounts.sessions.authentication import require_account
from socialsite.concurrency import run_together
from socialsite.web.requests import SiteRequest, get_viewer_id
from socialsite.web.responses import respond
from timelines.following.presenters import account_rows, accounts_with_follow_state, join_rows
from timelines.following.suggestions import FollowSuggestionService
from timelines.following.views import load_suggested_accounts, readable_scripts
from timelines.hashtags.trend_views import explored_hashtag, hashtags_json
from timelines.hashtags.trends import ExploredHashtag, TrendService
from timelines.pages.page import HydratedPost, PageRequest, TimelinePage
from timelines.pages.presenters import posts_json
from timelines.pages.queries import decode_id, parse_cursor
from timelines.pages.responses import TemplateContext, optional_placeholder, timeline_context, url_with_query
from timelines.popular.service import PopularPostsService
from timelines.public_lists.service import ExploredList, PublicListService
from timelines.public_lists.views import explored_list
from timelines.search.query import QUERY_LENGTH_CAP

SIZES: Final[dict[str, tuple[int, int, int, int]]] = {
    "all": (10, 6, 3, 3),
    "posts": (20, 0, 0, 0),
    "people": (0, 20, 0, 0),
    "hashtags": (0, 0, 10, 0),
    "lists": (0, 0, 0, 20),
}
"""Tab -> number of posts, people, hashtags and lists."""
FURTHER_CANDIDATES = 4
"""The number of people that are read in addition, because those with a picture and a bio come first."""


async def explore(request: SiteRequest) -> HttpResponseBase:
    """Show popular posts, people, hashtags and lists, or one kind of them. `?cursor=` is a number of skipped posts."""
    tab = tab if (tab := request.GET.get("tab", "")) in SIZES else "all"
    me, language = get_viewer_id(request), get_language() or ""
    offset = (parse_cursor(request.GET, decode_id) or 0) if SIZES[tab][0] else 0
    posts, people, tags, list_count = SIZES[tab] if tab != "all" or not offset else SIZES["posts"]
    (entries, next_offset), accounts, hashtags, lists = await run_together(
        _popular_posts(request, offset, posts),
        _people(request, people),
        request.services[TrendService].explored(tags),
        request.services[PublicListService].explored(me, list_count),
    )
    next_url = url_with_query(request, tab="posts", cursor=next_offset)
    return respond(
        request,
        "timelines/explore.html",
        page=lambda: {
            "query": "",
            "max_length": QUERY_LENGTH_CAP,
            "tab": tab,
            "tabs": {name: optional_placeholder(url_with_query(request, tab=name)) for name in SIZES},
            "timeline": _posts_context(request, entries, next_url),
            "people_html": account_rows(accounts, me),
            "hashtags_html": join_rows(_render_hashtag(each, language) for each in hashtags),
            "lists_html": join_rows(_render_list(each, language) for each in lists),
            "page_title": _("Explore"),
            "robots": "noindex",
        },
        data=lambda: {
            "posts": posts_json(entries),
            "accounts": accounts,
            "tags": hashtags_json(hashtags),
            "similar": False,
            "next": next_url,
            "previous": None,
        },
    )


def _posts_context(request: SiteRequest, entries: list[HydratedPost], next_url: str | None) -> TemplateContext:
    context = timeline_context(request, PageRequest(), TimelinePage(tuple(entries), None, None), "popular")
    return {**context, "next_url": optional_placeholder(next_url), "live": False, "by_day": False}


@lru_cache(maxsize=256)
def _render_hashtag(hashtag: ExploredHashtag, language: str) -> str:
    """Render the row of a hashtag. `language` is the active language, a part of the cache key."""
    return render_to_string("timelines/_explored_hashtag.html", {"each": explored_hashtag(hashtag)})


@lru_cache(maxsize=256)
def _render_list(explored: ExploredList, language: str) -> str:
    """Render the row of a public list. `language` is the active language, a part of the cache key."""
    return render_to_string("timelines/_public_list.html", {"each": explored_list(explored)})


async def _popular_posts(request: SiteRequest, offset: int, limit: int) -> tuple[list[HydratedPost], int | None]:
    if not limit:
        return [], None
    languages = require_account(request).preferences.languages if request.account is not None else ()
    return await request.services[PopularPostsService].read(
        get_viewer_id(request), languages, (get_language() or "").partition("-")[0], offset=offset, limit=limit
    )


async def _people(request: SiteRequest, limit: int) -> list[TemplateContext]:
    """Return people to follow: suggestions for a signed-in viewer, else active authors with many followers."""
    me, service = get_viewer_id(request), request.services[FollowSuggestionService]
    if not limit:
        return []
    if me is None:
        ids = await service.directory(None, limit=limit + FURTHER_CANDIDATES)
        accounts = await accounts_with_follow_state(request, ids)
    else:
        suggested = await service.recent_suggestions(me, limit + FURTHER_CANDIDATES, readable_scripts(request))
        accounts = await load_suggested_accounts(request, suggested)
    return sorted(accounts, key=lambda each: (not each.get("avatar")) + (not each["bio"]))[:limit]
