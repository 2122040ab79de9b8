"""Renders the buttons below a post, the only part of an entry that differs between viewers and over time.

The buttons are rendered once per language and split into fragments. An entry joins the fragments with its id and
counts.
"""

from functools import lru_cache
from typing import NamedTuple

from django.template.loader import render_to_string
from django.utils.formats import number_format
from django.utils.translation import override

from timelines.pages.page import HydratedPost
from timelines.visibility.rights import may_boost

PLACEHOLDER_CHAR = "\x00"
"""The character that marks variable parts in the template. No translation contains it."""
PLACEHOLDER_CONTEXT = dict.fromkeys(("url", "id", "replies", "boosts", "likes"), PLACEHOLDER_CHAR)
COUNT_CACHE_SIZE = 20_000
Fragments = tuple[str, ...]


class ActionFragments(NamedTuple):
    """The buttons in one language. Each button is split at its placeholders."""

    reply: Fragments
    boost: tuple[Fragments, Fragments]
    boost_locked: str
    like: tuple[Fragments, Fragments]
    bookmark: tuple[Fragments, Fragments]


@lru_cache(maxsize=64)
def render_action_fragments(language: str) -> ActionFragments:
    with override(language or None):
        html = render_to_string("timelines/_actions.html", PLACEHOLDER_CONTEXT)
    names = "reply", "boost", "boosted", "locked", "like", "liked", "bookmark", "bookmarked"
    cut: dict[str, Fragments] = {}
    for name in names:
        button = html.split(f"<!--{name}-->", 1)[1].split("<!--", 1)[0]
        cut[name] = tuple(button.strip().split(PLACEHOLDER_CHAR))
    return ActionFragments(
        cut["reply"],
        (cut["boost"], cut["boosted"]),
        cut["locked"][0],
        (cut["like"], cut["liked"]),
        (cut["bookmark"], cut["bookmarked"]),
    )


@lru_cache(maxsize=COUNT_CACHE_SIZE)
def format_count(count: int, language: str) -> str:
    """Format a count in the language. The result for 0 is ""."""
    if not count:
        return ""
    with override(language or None):
        return number_format(count, force_grouping=True)


def actions_html(entry: HydratedPost, url: str, language: str) -> str:
    """Return the buttons of an entry that is no boost: reply, boost, like and bookmark.

    `url` is the URL of the post.
    """
    post, counts, viewer = entry.post, entry.counts, entry.viewer
    have, post_id = render_action_fragments(language), post.id
    is_boosted = is_liked = is_bookmarked = False
    if viewer is not None:
        is_boosted, is_liked, is_bookmarked = viewer.boosted, viewer.liked, viewer.bookmarked
    r0, r1, r2 = have.reply
    l0, l1, l2 = have.like[is_liked]
    m0, m1 = have.bookmark[is_bookmarked]
    boost = have.boost_locked
    if is_boosted or may_boost(post, entry.author):
        b0, b1, b2 = have.boost[is_boosted]
        boost = f"{b0}{post_id}{b1}{format_count(counts.boosts, language)}{b2}"
    return (
        f"{r0}{url}{r1}{format_count(counts.replies, language)}{r2}{boost}"
        f"{l0}{post_id}{l1}{format_count(counts.likes, language)}{l2}{m0}{post_id}{m1}"
    )
