"""Renders timelines/_post.html once for each shape of an entry and language, as a pattern for the values of posts."""

from functools import lru_cache
from typing import Literal, NamedTuple, get_args

from socialsite.web.patterns import mark, render_pattern

EntryValue = Literal[
    "entry_id", "label_id", "original_id", "booster_handle", "booster_name", "url", "handle", "name", "avatar_html",
    "created_iso", "created_text", "edited_iso", "edited_text", "version", "in_reply_to", "replied_handle",
    "parent_text", "warning", "language", "text_html", "lines_html", "pictures_html", "card_html", "poll_html",
    "quote_html", "actions_html",
]  # fmt: skip
"""The name of a value of an entry. The values are HTML: texts are escaped."""
_MARKS = {name: mark(name) for name in get_args(EntryValue)}


class EntryShape(NamedTuple):
    """The values that decide which parts an entry has. The pattern reads them by name."""

    audience: str
    is_reply: bool
    has_replied_author: bool
    has_parent: bool
    is_long: bool
    is_edited: bool
    has_language: bool
    has_warning: bool
    is_folded: bool
    has_pictures: bool
    has_card: bool
    has_poll: bool
    has_quote: bool
    is_boost: bool = False


@lru_cache(maxsize=1_024)
def entry_pattern(shape: EntryShape, language: str) -> str:
    """Return the pattern of an entry. `language` is the active language, a part of the cache key."""
    context = {**shape._asdict(), **_MARKS, "language": _MARKS["language"] if shape.has_language else ""}
    return render_pattern("timelines/_post.html", context)
