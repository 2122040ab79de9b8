"""Renders the pictures of posts as a grid of thumbnails, each a link to its post."""

from collections.abc import Iterable

from django.template.loader import render_to_string
from django.utils.translation import get_language

from accounts.domain import Author
from socialsite.byte_cache import byte_cached
from socialsite.web.page_cache import RenderedParts
from timelines.pages.page import HydratedPost
from timelines.pages.pictures import are_pictures_hidden, pictures_context
from timelines.pages.presenters import ENTRY_BYTES, PICTURES_CACHE_BYTES, post_url
from timelines.posts.post import Post


def thumbnails_html(entries: Iterable[HydratedPost]) -> RenderedParts:
    """Return the `<li>` items of the pictures of posts. The pictures of a folded or sensitive post are covered."""
    language = get_language() or ""
    posts = [entry.shown for entry in entries]
    return RenderedParts(
        _thumbnails(each.post, each.author, each.filter_phrase is not None, language) for each in posts
    )


@byte_cached(PICTURES_CACHE_BYTES, entry_bytes=ENTRY_BYTES)
def _thumbnails(post: Post, author: Author, is_filtered: bool, language: str) -> bytes:
    """Return the items of a post. `language` is the active language, a part of the cache key."""
    context = {
        **pictures_context(post, author),
        "is_hidden": is_filtered or are_pictures_hidden(post, author),
        "url": post_url(post.id, author),
        "post_id": post.id,
    }
    return render_to_string("timelines/_thumbnails.html", context).encode()
