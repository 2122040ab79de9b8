"""Renders the buttons below a post, the only part of an entry that differs between viewers and over time."""

from functools import lru_cache

from django.utils.formats import number_format
from django.utils.translation import override

from socialsite.web.patterns import mark, render_pattern
from timelines.pages.page import HydratedPost
from timelines.visibility.rights import may_boost

COUNT_CACHE_SIZE = 4_096
_MARKS = {name: mark(name) for name in ("url", "id", "replies", "boosts", "likes")}


@lru_cache(maxsize=256)
def _actions_pattern(is_boosted: bool, may_be_boosted: bool, is_liked: bool, is_bookmarked: bool, language: str) -> str:
    """Return the pattern of the buttons in one state."""
    state = {
        "is_boosted": is_boosted,
        "may_be_boosted": may_be_boosted,
        "is_liked": is_liked,
        "is_bookmarked": is_bookmarked,
    }
    with override(language or None):
        return render_pattern("timelines/_actions.html", {**_MARKS, **state}).strip()


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
    is_boosted = is_liked = is_bookmarked = False
    if viewer is not None:
        is_boosted, is_liked, is_bookmarked = viewer.boosted, viewer.liked, viewer.bookmarked
    may_be_boosted = is_boosted or may_boost(post, entry.author)
    return _actions_pattern(is_boosted, may_be_boosted, is_liked, is_bookmarked, language) % {
        "url": url,
        "id": post.id,
        "replies": format_count(counts.replies, language),
        "boosts": format_count(counts.boosts, language),
        "likes": format_count(counts.likes, language),
    }
