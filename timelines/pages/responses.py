"""Builds the links, the template context and the JSON of timeline pages."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain, starmap
from typing import Any, assert_never
from urllib.parse import quote, urlencode

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from accounts.domain import picture_url
from accounts.models import Account
from accounts.profile_texts import ProfileField
from socialsite.web.page_cache import Placeholder, RenderedParts
from socialsite.web.requests import SiteRequest
from timelines.markers.marker import Marker, has_marker
from timelines.pages.joined_threads import join_threads
from timelines.pages.page import HydratedPost, PageRequest, TimelinePage
from timelines.pages.presenters import Json, entries_html, post_html, posts_json
from timelines.text.linkify import REL_ME, linkify

TemplateContext = dict[str, Any]
NO_MARKER = Marker()
KEPT_NAMES = "limit", "replies", "tab"


def url_with_query(request: SiteRequest, **query: object) -> str | None:
    """Return the path of this page with another cursor and the rest of its query, or None if a value is None."""
    if None in query.values():
        return None
    kept = {name: request.GET[name] for name in KEPT_NAMES if name in request.GET and name not in query}
    return f"{quote_path(request.path)}?{'&'.join(starmap(encode_query_pair, {**query, **kept}.items()))}"


@lru_cache(maxsize=1_024)
def quote_path(path: str) -> str:
    """Return a path quoted for URLs."""
    return quote(path, safe="/@")


def encode_query_pair(name: str, value: object) -> str:
    """Return `name=value` quoted for URLs. Most values are numbers, which need no quoting."""
    text = str(value)
    return f"{name}={text}" if text.isascii() and text.isdigit() else urlencode({name: text})


def canonical_url(request: SiteRequest, query: PageRequest) -> Placeholder:
    """Return the absolute URL of the page with its cursor and tab."""
    before, after = url_with_query(request, before=query.before), url_with_query(request, after=query.after)
    return Placeholder(request.site_url + (before or after or quote_path(request.path)))


def absolute_url(request: SiteRequest, path: str) -> str:
    """Return the absolute URL of a path of this site, or "" for ""."""
    return request.site_url + path if path else ""


def optional_placeholder(text: str | None) -> Placeholder | None:
    """Return a placeholder if there is a text, so that pages with and without it are cached separately."""
    return None if text is None else Placeholder(text)


def timeline_json(request: SiteRequest, page: TimelinePage) -> Json:
    return {
        "posts": posts_json(page.entries),
        "next": url_with_query(request, before=page.next_before),
        "previous": url_with_query(request, after=page.previous_after),
    }


def timeline_context(
    request: SiteRequest, query: PageRequest, page: TimelinePage, name: str, marker: Marker = NO_MARKER
) -> TemplateContext:
    """Return the context of timelines/_timeline.html. Only the first page is live."""
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


def _entries_with_marker_line(entries: Sequence[HydratedPost], marker: Marker) -> RenderedParts:
    """Return the `<li>` items. If the page has new and read entries, there is a line between them."""
    new = sum(1 for entry in entries if entry.post.id > marker.last_read_id) if marker.last_read_id else 0
    items = entries_html(entries)
    if not 0 < new < len(entries):
        return join_threads(entries, items)
    line = format_html('<li class="here">{}</li>', _("You're all caught up. You've seen everything below."))
    parts = join_threads(entries[:new], items[:new]), (line.encode(),), join_threads(entries[new:], items[new:])
    return RenderedParts(chain(*parts))


def _marker_page_url(request: SiteRequest, query: PageRequest, page: TimelinePage, marker: Marker) -> str | None:
    """Return the URL of the page that begins at the marker, if the marker is below this first page."""
    if not (query.is_first and marker.last_read_id and page.entries and marker.last_read_id < page.entries[-1].post.id):
        return None
    return url_with_query(request, before=marker.last_read_id + 1)


def profile_context(account: Account) -> TemplateContext:
    return {
        "id": account.id,
        "handle": account.handle,
        "display_name": account.display_name,
        **_texts_by_kind(account),
        "is_private": account.is_private,
        "is_limited": account.limited,
        "created_at": account.created_ms,
        "avatar": picture_url(account.avatar, "full"),
        "header": picture_url(account.header, "full"),
    }


def _texts_by_kind(account: Account) -> dict[str, TemplateContext]:
    """Return the texts that the profile shows below the name, by their names, without the empty ones.

    They are no lists, because the cache of pages accepts none.
    """
    texts_by_kind = dict[str, TemplateContext](texts={}, links={}, new_profiles={}, fields={})
    for text, value in account.texts.items():
        if not value:
            continue
        match text.kind:
            case "name":
                pass
            case "text":
                texts_by_kind["texts"][text.name] = SafeString(post_html(value).replace("<br>", "\n"))
            case "link":
                texts_by_kind["links"][text.name] = value
            case "moved":
                texts_by_kind["new_profiles"][text.name] = value
            case "fields":
                texts_by_kind["fields"] = {
                    str(number): _field(each) for number, each in enumerate(account.filled_fields)
                }
            case _:
                assert_never(text.kind)
    return texts_by_kind


def _field(field: ProfileField) -> TemplateContext:
    html = SafeString(linkify(field.value, REL_ME))
    return {"name": field.name, "html": html, "is_verified": bool(field.verified_ms)}
