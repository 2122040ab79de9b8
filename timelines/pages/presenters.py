"""Renders posts and accounts as JSON and HTML (docs/reference/interface.md).

The HTML of an entry contains no token and no relative time. It fills a pattern (entry_pattern.py) with the values of
the post, and is cached by all of them. Ids are strings in JSON, because browsers read numbers as doubles and some
clients read them as 32-bit integers.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from html import escape
from itertools import repeat
from typing import Any
from urllib.parse import quote

import msgspec
from django.template.loader import render_to_string
from django.utils.formats import date_format as format_date
from django.utils.html import format_html_join
from django.utils.translation import get_language, gettext

from accounts.domain import Author, picture_url
from accounts.models import Account
from accounts.presenters import texts_json
from socialsite.byte_cache import MB, byte_cached
from socialsite.characters import split_clusters
from socialsite.clock import DAY_MS
from socialsite.web.page_cache import RenderedParts
from socialsite.web.patterns import mark, render_pattern
from socialsite.web.responses import format_iso_time, select_fields
from timelines.graph.follow import FollowCounts, Relationship
from timelines.pages.entry_actions import actions_html
from timelines.pages.entry_pattern import EntryShape, EntryValue, entry_pattern
from timelines.pages.page import HydratedPost, Quote, ViewerState
from timelines.pages.pictures import (
    are_pictures_hidden,
    attachment_json,
    attachment_url,
    describe_post,
    is_sensitive,
    pictures_context,
)
from timelines.pages.polls import poll_html, poll_json
from timelines.pages.quotes import render_quote
from timelines.posts.post import EDITED_VALUES, LINES, NAME_BY_AUDIENCE, NO_DETAILS, Post, PostCounts, PostDetails
from timelines.previews.preview import LinkPreview
from timelines.templatetags.timelines_tags import avatar
from timelines.text.linkify import linkify
from timelines.visibility.rights import NO_EXPIRY_MS, requires_follow

Json = dict[str, Any]

ENTRIES_CACHE_BYTES, TEXTS_CACHE_BYTES, JSON_CACHE_BYTES, PICTURES_CACHE_BYTES = 16 * MB, 2 * MB, 4 * MB, 2 * MB
ENTRY_BYTES = 1_000
"""An entry of a timeline that a cache has as a key, with its post, author and counts."""
ENTRY_PARTS_CACHE_SIZE = 1_024
MINUTES_PER_DAY = 1_440
SHOWN_OF_PARENT = 160
"""The maximum number of characters that a reply shows of its parent. A line is shorter on most screens."""
MAX_LINES_UNFOLDED = 12
"""A post with more line breaks is shown folded in timelines."""


def profile_url(handle: str) -> str:
    return f"/@{handle}/"


def post_url(post_id: int, author: Author) -> str:
    return f"/@{author.handle}/{post_id}/"


def hashtag_url(tag: str) -> str:
    return f"/tags/{quote(tag, safe='')}/"


# JSON


def hashtag_json(tag: str) -> Json:
    return {"name": tag, "url": hashtag_url(tag)}


def author_json(author: Author | Account) -> Json:
    return {
        "id": str(author.id),
        "handle": author.handle,
        "display_name": author.display_name,
        "url": profile_url(author.handle),
        **({"avatar": picture_url(author.avatar, "full")} if author.avatar else {}),
    }


def profile_json(account: Account, counts: FollowCounts, posts: int) -> Json:
    """Return an account as JSON, with the fields that its profile shows."""
    return {
        **author_json(account),
        **texts_json(account),
        "created_at": format_iso_time(account.created_ms),
        "private": account.is_private,
        **({"limited": True} if account.limited else {}),
        **({"header": picture_url(account.header, "full")} if account.header else {}),
        "followers": counts.followers,
        "following": counts.following,
        "posts": posts,
    }


def relation_json(relation: Relationship) -> Json:
    until_ms = relation.muted_until_ms
    return select_fields(
        relation,
        "follows is_followed blocks is_blocked mutes note",
        requested=relation.requested and not relation.follows,
        muted_until=format_iso_time(until_ms) if until_ms is not None and until_ms != NO_EXPIRY_MS else None,
        quiets=relation.hides_boosts,
    )


def post_json(entry: HydratedPost) -> Json:
    """Return a post as JSON. A boost has its own id, author, URL and time. Other fields are those of its original."""
    displayed = entry.shown
    return {
        **(_viewer_independent_json(entry.post, entry.author) if displayed is entry else _boost_json(entry)),
        "counts": _counts_json(entry.counts),
        "viewer": entry.viewer and _viewer_json(entry.viewer),
        "audience": NAME_BY_AUDIENCE[displayed.post.audience],
        **({} if displayed.poll is None else {"poll": poll_json(displayed)}),
        **({} if displayed.quote is None else {"quote": quote_json(displayed.quote)}),
        **({} if displayed.preview is None else {"card": card_json(displayed.preview)}),
        **({} if entry.filter_phrase is None else {"filtered": entry.filter_phrase}),
    }


def card_json(preview: LinkPreview) -> Json:
    """Return the preview of a link with the field names of Mastodon's PreviewCard."""
    return {
        "url": preview.url,
        "title": preview.title,
        "description": preview.description,
        "provider_name": preview.host,
        "image": attachment_url(preview.picture, "full") if preview.picture else None,
    }


def quote_json(quote: Quote) -> Json:
    """Return a quote with the field names of Mastodon's Quote entity. The quoted post has no `quote` itself."""
    return {"state": quote.state, "quoted_status": None if quote.shown is None else post_json(quote.shown)}


def _boost_json(entry: HydratedPost) -> Json:
    original, shown = post_json(entry.shown), entry.shown
    content = _content_json(shown.post, shown.author)
    return {**_viewer_independent_json(entry.post, entry.author), **content, "boost_of": original}


@lru_cache(maxsize=ENTRY_PARTS_CACHE_SIZE)
def _viewer_independent_json(post: Post, author: Author) -> Json:
    """Return the JSON that is the same for all viewers. Callers must not change it, since it is cached."""
    return {
        "id": str(post.id),
        "url": post_url(post.id, author),
        "author": author_json(author),
        "created_at": format_iso_time(post.created_ms),
        "in_reply_to": str(post.in_reply_to) if post.in_reply_to else None,
        "boost_of": None,
        **_content_json(post, author),
    }


def _content_json(post: Post, author: Author) -> Json:
    """Return the text and the details that are set, so that the JSON of other posts stays short."""
    details = post.extra
    values = {
        **{each.form_names[0]: getattr(details, each.name) for each in EDITED_VALUES},
        "sensitive": is_sensitive(post, author),
        "media_attachments": [attachment_json(each) for each in details.media],
        "edited_at": None if details.edited_ms is None else format_iso_time(details.edited_ms),
    }
    set_values = {name: value for name, value in values.items() if value}
    return {"text": post.text, "html": post_html(post.text), **set_values}


def version_json(post: Post, author: Author) -> Json:
    """Return one version of a post as JSON. `created_at` is the time of the version."""
    content = {name: value for name, value in _content_json(post, author).items() if name != "edited_at"}
    return {**content, "created_at": format_iso_time(post.extra.edited_ms or post.created_ms)}


def _counts_json(counts: PostCounts) -> Json:
    return {"replies": counts.replies, "boosts": counts.boosts, "likes": counts.likes}


def _viewer_json(viewer: ViewerState) -> Json:
    return {
        "own": viewer.own,
        "liked": viewer.liked,
        "boosted": viewer.boosted,
        "bookmarked": viewer.bookmarked,
        **({"pinned": True} if viewer.pinned else {}),
    }


def posts_json(entries: Iterable[HydratedPost]) -> list[msgspec.Raw]:
    """Return the encoded `post_json` of each entry."""
    return [_encoded_json(entry) for entry in entries]


@byte_cached(JSON_CACHE_BYTES, size_of=len, entry_bytes=ENTRY_BYTES)
def _encoded_json(entry: HydratedPost) -> msgspec.Raw:
    """Return the encoded JSON of an entry. The cache key contains the viewer's state and the counts."""
    return msgspec.Raw(msgspec.json.encode(post_json(entry)))


# HTML


@byte_cached(TEXTS_CACHE_BYTES)
def post_html(text: str) -> str:
    """Return the HTML of a text, with links. The cache key is the text alone, since the author changes nothing."""
    return linkify(text)


def entry_html(
    entry: HydratedPost, language: str | None = None, *, is_pinned: bool = False, is_first_picture: bool = False
) -> str:
    """Return the HTML of one entry. If `language` is None, the active language is used.

    `is_pinned` changes the ids of elements, since a profile may show the same post again. If `is_first_picture` is
    true, the first picture is loaded before the scripts of the page.
    """
    language = language or get_language() or ""
    shown = entry.shown
    shape, values = _shape_and_values(shown, language)
    values["label_id"] = f"{'pinned-' if is_pinned else ''}by-{entry.post.id}"
    if is_first_picture:
        values["pictures_html"] = _pictures_html(shown.post, shown.author, language, True)
    if shown is not entry:
        shape = shape._replace(is_boost=True)
        values["entry_id"] = entry.post.id
        values["booster_handle"] = entry.author.handle
        values["booster_name"] = escape(entry.author.display_name or entry.author.handle)
    html = entry_pattern(shape, language) % values
    return html if entry.filter_phrase is None else _filtered_pattern(entry.filter_phrase, language) % {"entry": html}


def _shape_and_values(entry: HydratedPost, language: str) -> tuple[EntryShape, dict[EntryValue, object]]:
    """Return which parts an entry that is no boost has, and the HTML of its values."""
    post, author, details = entry.post, entry.author, entry.post.details
    url, created_ms = post_url(post.id, author), post.created_ms
    values: dict[EntryValue, object] = {
        "entry_id": post.id,
        "original_id": post.id,
        "url": url,
        "handle": author.handle,
        "name": escape(author.display_name or author.handle),
        "avatar_html": avatar(author, is_link=True),
        "created_iso": format_iso_time(created_ms),
        "created_text": format_minute(created_ms, language),
        "text_html": post_html(post.text).replace("<br>", "\n"),
        "lines_html": lines_html(post),
        "actions_html": actions_html(entry, url, language) + _menu_html(entry, language),
    }
    if post.in_reply_to is not None:
        values["in_reply_to"] = post.in_reply_to
        values["replied_handle"] = (entry.replied_author or author).handle
        values["parent_text"] = "" if entry.parent is None else _first_words(entry.parent)
    if details is not None:
        values |= _detail_values(entry, details, language)
    if entry.preview is not None:
        values["card_html"] = _card_html(entry.preview)
    return _shape_of(entry, details or NO_DETAILS), values


@byte_cached(TEXTS_CACHE_BYTES)
def _first_words(post: Post) -> str:
    """Return the beginning of the description of a post, on one line."""
    text = describe_post(post)
    clusters = split_clusters(text[:SHOWN_OF_PARENT])
    return escape(" ".join("".join(clusters[:-1] if len(text) > SHOWN_OF_PARENT else clusters).split()))


def _detail_values(entry: HydratedPost, details: PostDetails, language: str) -> dict[EntryValue, object]:
    """Return the HTML of the values that few posts have."""
    edited_ms = details.edited_ms or 0
    return {
        "version": details.version,
        "edited_iso": format_iso_time(edited_ms),
        "edited_text": format_minute(edited_ms, language),
        "warning": escape(details.spoiler_text),
        "language": escape(details.language or ""),
        "pictures_html": _pictures_html(entry.post, entry.author, language) if details.media else "",
        "poll_html": poll_html(entry, language),
        "quote_html": "" if entry.quote is None else quote_html(entry.quote, language),
    }


def _shape_of(entry: HydratedPost, details: PostDetails) -> EntryShape:
    return EntryShape(
        audience=NAME_BY_AUDIENCE[entry.post.audience],
        is_reply=entry.post.in_reply_to is not None,
        has_replied_author=entry.replied_author is not None,
        has_parent=entry.parent is not None,
        is_long=not details.spoiler_text and entry.post.text.count("\n") > MAX_LINES_UNFOLDED,
        is_edited=details.version > 0,
        has_language=details.language is not None,
        has_warning=bool(details.spoiler_text),
        is_folded=details.is_folded,
        has_pictures=bool(details.media),
        has_card=entry.preview is not None,
        has_poll=entry.poll is not None,
        has_quote=details.quote_of is not None,
    )


def format_minute(ms: int, language: str) -> str:
    """Format Unix milliseconds in the active language: 20 Nov 2026, 15:14."""
    day, minute = divmod(ms // 60_000, MINUTES_PER_DAY)
    return _day_pattern(day, language) % f"{minute // 60:02}:{minute % 60:02}"


@lru_cache(maxsize=ENTRY_PARTS_CACHE_SIZE)
def _day_pattern(day: int, language: str) -> str:
    """Return the text of a day as a pattern for the time. `language` is the active language, a part of the cache key.

    Every translation of the format has "H:i".
    """
    date_format = gettext("j M Y, H:i").replace("H:i", r"%\s")
    return format_date(datetime.fromtimestamp(day * DAY_MS // 1000, UTC), date_format)


@byte_cached(PICTURES_CACHE_BYTES, entry_bytes=ENTRY_BYTES)
def _pictures_html(post: Post, author: Author, language: str, is_first: bool = False) -> str:
    """Return the pictures of a post. `language` is the active language, a part of the cache key."""
    return render_to_string("timelines/_pictures.html", {**pictures_context(post, author), "is_first": is_first})


@byte_cached(PICTURES_CACHE_BYTES, entry_bytes=ENTRY_BYTES)
def _card_html(preview: LinkPreview) -> str:
    parts = {name: getattr(preview, name) for name in ("url", "title", "description", "host")}
    picture_url = attachment_url(preview.picture, "small") if preview.picture else ""
    return render_to_string("timelines/_card.html", {**parts, "picture_url": picture_url})


def lines_html(post: Post) -> str:
    """Return the short texts that are shown below the text of a post, with titles in the active language."""
    lines = [(each.label, text) for each in LINES if (text := getattr(post.extra, each.name))]
    return format_html_join("", '<p class="post-line">{}: <bdi>{}</bdi></p>', lines) if lines else ""


def quote_html(quote: Quote, language: str) -> str:
    """Return the HTML of a quoted post, or a sentence if the viewer does not see the post."""
    if (shown := quote.shown) is None:
        return render_quote(quote, "", "", "", language)
    return render_quote(
        quote, post_url(shown.id, shown.author), post_html(shown.post.text), lines_html(shown.post), language
    )


def entries_html(entries: Sequence[HydratedPost], *, are_pinned: bool = False) -> RenderedParts:
    """Return the `<li>` items of a timeline, joined from rendered templates."""
    language = get_language() or ""  # one call for all: it takes as long as joining an entry
    first = next((place for place, each in enumerate(entries[:ENTRIES_ON_A_SCREEN]) if shows_pictures(each)), None)
    is_first_picture = [place == first for place in range(len(entries))] if first is not None else repeat(False)
    return RenderedParts(map(_list_item_bytes, entries, repeat(language), repeat(are_pinned), is_first_picture))


ENTRIES_ON_A_SCREEN = 3


def shows_pictures(entry: HydratedPost) -> bool:
    """Return whether the entry has pictures that nothing folds or covers. Folded pictures are not loaded."""
    post = entry.shown.post
    return bool(post.extra.media) and entry.filter_phrase is None and not are_pictures_hidden(post, entry.shown.author)


@byte_cached(ENTRIES_CACHE_BYTES, entry_bytes=ENTRY_BYTES)
def _list_item_bytes(entry: HydratedPost, language: str, is_pinned: bool, is_first_picture: bool) -> bytes:
    """Return the encoded `<li>` item of an entry. The cache key contains the viewer's state and the counts."""
    html = entry_html(entry, language, is_pinned=is_pinned, is_first_picture=is_first_picture)
    return f"<li>{html}</li>".encode()


@lru_cache(maxsize=ENTRY_PARTS_CACHE_SIZE)
def _filtered_pattern(phrase: str, language: str) -> str:
    """Return the warning of a keyword filter, as a pattern for the entry that it folds."""
    return render_pattern("timelines/_filtered.html", {"phrase": phrase, "entry": mark("entry")})


def _menu_html(entry: HydratedPost, language: str) -> str:
    """Return the menu of an entry that is no boost."""
    post, author, viewer = entry.post, entry.author, entry.viewer
    is_own, is_pinned = (None, False) if viewer is None else (viewer.own, viewer.pinned)
    is_quotable = bool(is_own) or not (requires_follow(post, author) or post.extra.quote_policy == "nobody")
    quoted = None if entry.quote is None else entry.quote.post
    quotes_viewer = not is_own and quoted is not None and quoted.viewer is not None and quoted.viewer.own
    has_card = bool(is_own) and entry.preview is not None
    is_muted = viewer.muted if viewer is not None and (viewer.own or viewer.addressed or viewer.muted) else None
    pattern = _menu_pattern(is_own, is_pinned, is_quotable, quotes_viewer, has_card, is_muted, language)
    return pattern % {"post_id": post.id, "handle": author.handle}


@lru_cache
def _menu_pattern(
    is_own: bool | None,
    is_pinned: bool,
    is_quotable: bool,
    quotes_viewer: bool,
    has_card: bool,
    is_muted: bool | None,
    language: str,
) -> str:
    """Return the pattern of a menu. To render it for each post took a third of the time of an entry.

    `is_own` is None for a visitor, `is_muted` for a post whose thread does not notify the viewer.
    """
    context = {
        "post_id": mark("post_id"),
        "handle": mark("handle"),
        "is_own": is_own,
        "is_pinned": is_pinned,
        "is_quotable": is_quotable,
        "quotes_viewer": quotes_viewer,
        "has_card": has_card,
        "is_muted": is_muted,
    }
    return render_pattern("timelines/_post_menu.html", context)
