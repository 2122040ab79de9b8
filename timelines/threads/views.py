"""The two shapes of a thread: lists of entries with their depth, and JSON."""

from collections.abc import Sequence

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from socialsite.web.page_cache import Slot
from timelines.pages.presenters import Json, entry_html, post_json, post_url
from timelines.pages.responses import Page, slot
from timelines.threads.thread import ThreadEntry, ThreadPage

INDENTED_MOST = 6
"""Deeper replies stand no further to the side: static/css/thread.css has one class for each step."""


def thread_json(thread: ThreadPage) -> Json:
    """Posts alone: what cannot be seen is left out, `in_reply_to` and `depth` say where it was."""
    ancestors = [post_json(each.entry) for each in thread.ancestors if each.entry is not None]
    return {
        "parent": post_json(thread.parent) if thread.parent else None,
        "ancestors": ancestors,
        "replies": [
            {**post_json(each.entry), "depth": each.depth}
            for each in thread.replies
            if each.entry is not None
        ],
    }


def thread_page(thread: ThreadPage, next_url: str | None) -> Page:
    """What timelines/post.html takes of a thread."""
    earlier = thread.earlier
    return {
        "ancestors_html": Slot(_items(thread.ancestors)) if thread.ancestors else "",
        "earlier_url": slot(post_url(earlier.post.id, earlier.author) if earlier else None),
        "replies_html": Slot(_items(thread.replies)) if thread.replies else "",
        "next_url": slot(next_url),
    }


def _items(entries: Sequence[ThreadEntry]) -> SafeString:
    """Joined `<li>` items; a list item says its level to those who do not see how far in it stands."""
    return SafeString("".join(map(_item, entries)))


def _item(found: ThreadEntry) -> str:
    if found.depth < 1:
        return f"<li>{_inside(found)}</li>"
    step = min(found.depth, INDENTED_MOST)
    return f'<li class="depth-{step}" aria-level="{found.depth}">{_inside(found)}</li>'


def _inside(found: ThreadEntry) -> str:
    if found.entry is None:
        return format_html('<p class="gone">{}</p>', _("This post is not available."))
    html = entry_html(found.entry)
    if not found.goes_on:
        return html
    url = post_url(found.entry.post.id, found.entry.author)
    return html + format_html('<p class="gone"><a href="{}">{}</a></p>', url, _("This thread goes on"))
