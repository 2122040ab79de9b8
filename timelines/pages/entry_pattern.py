"""Renders timelines/_post.html once for each shape of an entry and language, as a pattern for the values of posts."""

from functools import lru_cache
from typing import NamedTuple

from socialsite.web.patterns import mark, render_pattern

VALUE_NAMES = (
    "entry_id", "label_id", "original_id", "booster_handle", "booster_name", "url", "handle", "name", "avatar_html",
    "created_iso", "created_text", "edited_iso", "edited_text", "version", "in_reply_to", "replied_handle",
    "warning", "language", "text_html", "pictures_html", "card_html", "poll_html", "quote_html", "actions_html",
)  # fmt: skip
"""The values of an entry, which are HTML: texts are escaped."""
_MARKS = {name: mark(name) for name in VALUE_NAMES}


class EntryShape(NamedTuple):
    """The values that decide which parts an entry has. The pattern reads them by name."""

    is_boost: bool = False
    audience: str = "public"
    is_reply: bool = False
    has_replied_author: bool = False
    is_long: bool = False
    is_edited: bool = False
    has_language: bool = False
    has_warning: bool = False
    is_folded: bool = False
    has_pictures: bool = False
    has_card: bool = False
    has_poll: bool = False
    has_quote: bool = False


@lru_cache(maxsize=1_024)
def entry_pattern(shape: EntryShape, language: str) -> str:
    """Return the pattern of an entry. `language` is the active language, a part of the cache key."""
    context = {**shape._asdict(), **_MARKS, "language": _MARKS["language"] if shape.has_language else ""}
    return render_pattern("timelines/_post.html", context)
