"""Joins the entries of a thread of one author into one item of a page. Ids, order and cursors of the page stay.

Entries are joined if they follow each other on the page, and each answers the one before it.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from operator import attrgetter

from django.template.loader import render_to_string
from django.utils.translation import get_language, ngettext

from socialsite.web.page_cache import RenderedParts
from socialsite.web.patterns import mark, split_at_marks
from timelines.pages.page import HydratedPost
from timelines.templatetags.timelines_tags import number

_id_of, _parent_of = attrgetter("post.id"), attrgetter("post.in_reply_to")


def join_threads(entries: Sequence[HydratedPost], items: tuple[bytes, ...]) -> RenderedParts:
    """Return the `<li>` items of entries, the newest first, with joined threads. Every entry has one item."""
    joins = set() if set(map(_id_of, entries)).isdisjoint(map(_parent_of, entries)) else _find_joins(entries)
    if not joins:
        return items if type(items) is RenderedParts else RenderedParts(items)
    language, parts, start = get_language() or "", list[bytes](), 0
    while start < len(items):
        end = start
        while end in joins:
            end += 1
        parts += items[start : end + 1] if end == start else _join(items[start : end + 1][::-1], language)
        start = end + 1
    return RenderedParts(parts)


def _find_joins(entries: Sequence[HydratedPost]) -> set[int]:
    """Return the places of the entries that answer the entry after them, by the same author."""
    return {
        place
        for place, (post, older) in enumerate(pairwise(entry.post for entry in entries))
        if post.in_reply_to == older.id and post.author_id == older.author_id
    }


def _join(items: Sequence[bytes], language: str) -> list[bytes]:
    """Return the parts of one item that shows the given items, the oldest first."""
    before, opening, middle, end = _frame(len(items) - 2, language)
    return [before, items[0], opening, *items[1:-1], middle, items[-1], end]


@lru_cache
def _frame(between: int, language: str) -> tuple[bytes, ...]:
    """Return the HTML before, between and after the items. `language` is the active one, a part of the cache key."""
    text = ngettext("… 1 more post", "… {n} more posts", between).replace("{n}", number(between)) if between else ""
    marks = {name: mark(name) for name in ("first", "middle", "last")}
    parts = split_at_marks(render_to_string("timelines/_joined.html", {"more": text, **marks}))
    assert parts is not None, "the template applies no filter"
    return tuple(part.strip().encode() for part in parts[::2])
