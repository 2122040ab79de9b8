"""Explore: what `/search/` offers before anything is typed: popular posts, people and hashtags, also to visitors."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

import msgspec
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from accounts.sessions.authentication import require_account
from socialsite.concurrency import run_together
from socialsite.web.page_cache import Placeholder, RenderedParts
from socialsite.web.requests import SiteRequest, get_viewer_id
from socialsite.web.responses import respond
from timelines.following.presenters import accounts_with_follow_state
from timelines.following.suggestions import FollowSuggestionService
from timelines.following.views import load_suggested_accounts, readable_scripts
from timelines.hashtags.trend_views import explored_hashtag, hashtags_json
from timelines.hashtags.trends import ExploredHashtag, TrendService
from timelines.pages.page import HydratedPost, PageRequest, TimelinePage
from timelines.pages.presenters import posts_json
from timelines.pages.queries import decode_id, parse_cursor
from timelines.pages.responses import TemplateContext, optional_placeholder, timeline_context, url_with_query
from timelines.popular.service import PopularPostsService
from timelines.search.query import QUERY_LENGTH_CAP
from timelines.search.service import SearchKind

SIZES: Final[dict[SearchKind, tuple[int, int, int]]] = {
    "all": (10, 6, 3),
    "posts": (20, 0, 0),
    "people": (0, 20, 0),
    "hashtags": (0, 0, 10),
}
"""Tab -> number of posts, people and hashtags."""
FURTHER_CANDIDATES = 4
"""The number of people that are read in addition, because those with a picture and a bio come first."""


async def explore(request: SiteRequest, tab: SearchKind) -> HttpResponseBase:
    """Show popular posts, people and hashtags, or one kind of them. `?cursor=` is the number of skipped posts."""
    offset = (parse_cursor(request.GET, decode_id) or 0) if SIZES[tab][0] else 0
    posts, people, tags = SIZES[tab] if tab != "all" or not offset else SIZES["posts"]
    (entries, next_offset), accounts, hashtags = await run_together(
        _popular_posts(request, offset, posts),
        _people(request, people),
        request.services[TrendService].explored(tags),
    )
    next_url = url_with_query(request, tab="posts", cursor=next_offset)
    me, language = get_viewer_id(request), get_language() or ""
    return respond(
        request,
        "timelines/explore.html",
        page=lambda: {
            "query": "",
            "max_length": QUERY_LENGTH_CAP,
            "tab": tab,
            "tabs": {name: optional_placeholder(url_with_query(request, tab=name)) for name in SIZES},
            "timeline": _posts_context(request, entries, next_url),
            "people_html": _join_rows(
                _render_person(msgspec.json.encode(each), me is not None, language) for each in accounts
            ),
            "hashtags_html": _join_rows(_render_hashtag(each, language) for each in hashtags),
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


def _join_rows(rows: Iterable[str]) -> Placeholder | str:
    parts = RenderedParts(row.encode() for row in rows)
    return Placeholder(parts) if parts else ""


@lru_cache(maxsize=2_048)
def _render_person(account: bytes, is_signed_in: bool, language: str) -> str:
    """Render the row of an account, given as JSON. `language` is the active language, a part of the cache key."""
    viewer = {"handle": ""} if is_signed_in else None  # an account is not suggested to itself
    return render_to_string("timelines/_account.html", {"account": msgspec.json.decode(account), "viewer": viewer})


@lru_cache(maxsize=256)
def _render_hashtag(hashtag: ExploredHashtag, language: str) -> str:
    """Render the row of a hashtag. `language` is the active language, a part of the cache key."""
    return render_to_string("timelines/_explored_hashtag.html", {"each": explored_hashtag(hashtag)})


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
