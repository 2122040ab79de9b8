"""What the views of timelines share: a page's links, and its two shapes."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import starmap
from typing import Any
from urllib.parse import quote, urlencode

from django.http import HttpResponse
from django.utils.html import format_html
from django.utils.translation import gettext as _

from accounts.models import Account
from socialsite.web.page_cache import Placeholder, RenderedBytes
from socialsite.web.requests import SiteRequest, wants_json
from socialsite.web.responses import json_response, page_response
from timelines.markers.marker import Marker, has_marker
from timelines.pages.page import HydratedPost, TimelinePage
from timelines.pages.presenters import Json, entries_html, posts_json
from timelines.pages.queries import PageQuery

TemplateContext = dict[str, Any]
NO_MARKER = Marker()


def url_with_query(request: SiteRequest, **query: object) -> str | None:
    """This page's path with another cursor, and its limit where it has one; None without a cursor."""
    if None in query.values():
        return None
    limit = {"limit": request.GET["limit"]} if "limit" in request.GET else {}
    return f"{quote_path(request.path)}?{'&'.join(starmap(encode_query_pair, {**query, **limit}.items()))}"


@lru_cache(maxsize=1_024)
def quote_path(path: str) -> str:
    """As it stands in addresses."""
    return quote(path, safe="/@")


def encode_query_pair(name: str, value: object) -> str:
    """Of a query; numbers, as nearly all are, need no escaping."""
    text = str(value)
    return f"{name}={text}" if text.isascii() and text.isdigit() else urlencode({name: text})


def canonical_url(request: SiteRequest, query: PageQuery) -> Placeholder:
    """The page's absolute address, with its cursor and without whatever else a link to it may carry."""
    before, after = url_with_query(request, before=query.before), url_with_query(request, after=query.after)
    return Placeholder(f"{request.scheme}://{request.get_host()}{before or after or quote_path(request.path)}")


def optional_placeholder(text: str | None) -> Placeholder | None:
    """A slot where there is a text: whether there is one shapes the page."""
    return None if text is None else Placeholder(text)


def timeline_json(request: SiteRequest, page: TimelinePage) -> Json:
    return {
        "posts": posts_json(page.entries),
        "next": url_with_query(request, before=page.next_before),
        "previous": url_with_query(request, after=page.previous_after),
    }


def timeline_context(
    request: SiteRequest,
    query: PageQuery,
    page: TimelinePage,
    name: str,
    marker: Marker = NO_MARKER,
) -> TemplateContext:
    """What timelines/_timeline.html takes. New entries arrive on the first page only."""
    return {
        "name": name,
        "entries_html": Placeholder(_entries_with_marker_line(page.entries, marker)),
        "where_url": optional_placeholder(_marker_page_url(request, query, page, marker)),
        "keeps_place": request.account is not None and has_marker(name),
        "scrolls": marker.scrolls,
        "by_day": name != "search",
        "is_empty": not page.entries,
        "newest": Placeholder(str(page.entries[0].post.id) if page.entries else "0"),
        "next_url": optional_placeholder(url_with_query(request, before=page.next_before)),
        "previous_url": optional_placeholder(url_with_query(request, after=page.previous_after)),
        "live": query.is_first,
    }


def _entries_with_marker_line(entries: Sequence[HydratedPost], marker: Marker) -> RenderedBytes:
    """The items, with a line between what is new and what was read; none where all is one or the other."""
    new = sum(1 for entry in entries if entry.post.id > marker.last_read_id) if marker.last_read_id else 0
    if not 0 < new < len(entries):
        return entries_html(entries)
    line = format_html('<li class="here">{}</li>', _("You are caught up. You had read what follows."))
    return RenderedBytes(b"".join((entries_html(entries[:new]), line.encode(), entries_html(entries[new:]))))


def _marker_page_url(request: SiteRequest, query: PageQuery, page: TimelinePage, marker: Marker) -> str | None:
    """The page that begins with what was read last, where this first one does not reach so far."""
    if not (query.is_first and marker.last_read_id and page.entries and marker.last_read_id < page.entries[-1].post.id):
        return None
    return url_with_query(request, before=marker.last_read_id + 1)


def accounts_response(
    request: SiteRequest, accounts: list[TemplateContext], next_url: str | None, **page: object
) -> HttpResponse:
    """A page of accounts in either shape."""
    if wants_json(request):
        return json_response({"accounts": accounts, "next": next_url})
    return page_response(request, "timelines/accounts.html", {"accounts": accounts, "next_url": next_url, **page})


def profile_context(account: Account) -> TemplateContext:
    """The account as timelines/profile.html takes it."""
    return {
        "id": account.id,
        "handle": account.handle,
        "display_name": account.display_name,
        "bio": account.bio,
        "link": account.link,
        "is_private": account.is_private,
        "created_at": account.created_ms,
    }
