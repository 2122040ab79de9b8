"""Presents notifications as JSON, and as HTML rows for the page and the socket."""

from collections.abc import Sequence

from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString

from socialsite.characters import shorten
from socialsite.web.responses import format_iso_time
from timelines.notifications.groups import group_notifications
from timelines.notifications.notification import VisibleNotification
from timelines.pages.pictures import describe_post
from timelines.pages.presenters import Json, author_json, entry_html, post_json, post_url, profile_url

MAX_AVATARS_PER_GROUP = 6
SHOWN_REPLIES = 2
"""Replies of a group that are shown. The others are folded."""
MAX_EXCERPT_LENGTH = 140  # characters


def notification_json(notification: VisibleNotification) -> Json:
    """Return the JSON of a notification. The `post` of a boost is the boosted post."""
    return {
        "id": str(notification.id),
        "kind": notification.kind.name,
        "account": author_json(notification.author),
        "post": post_json(notification.entry.shown) if notification.entry else None,
        "created_at": format_iso_time(notification.created_ms),
        "read": notification.is_read,
        **({"about": author_json(notification.about)} if notification.about else {}),
    }


def notification_html(notification: VisibleNotification) -> str:
    """Return a row in the active language, as a plain `str` that the encoder of the socket accepts."""
    return _group_html([notification]) + ""


def notification_rows_html(entries: Sequence[VisibleNotification]) -> SafeString:
    """Return the `<li>` items of the page. The result is safe, because it joins rendered templates."""
    return SafeString("".join(f"<li>{_group_html(group)}</li>" for group in group_notifications(entries)))


def _group_html(group: Sequence[VisibleNotification]) -> str:
    """Return the row of a group ("A and 4 others"), which is never empty."""
    first, authors = group[0], list({each.author.id: each.author for each in group}.values())
    is_mention = first.kind.is_mention
    texts = [entry_html(each.entry) for each in group if each.entry and is_mention]
    post = first.entry.shown if first.entry else None
    return render_to_string(
        "timelines/_notice.html",
        {
            "id": first.id,
            "kind": first.kind,
            "is_read": all(each.is_read for each in group),
            "created_ms": first.created_ms,
            "words": _group_text(first, len(authors) - 1),
            "faces": authors[:MAX_AVATARS_PER_GROUP],
            "post_html": SafeString("".join(texts[:SHOWN_REPLIES])),
            "folded": len(texts[SHOWN_REPLIES:]),
            "folded_html": SafeString("".join(texts[SHOWN_REPLIES:])),
            "excerpt": excerpt(describe_post(post.post)) if post and not is_mention else "",
            "url": post_url(post.post.id, post.author) if post else "",
        },
    )


def _group_text(first: VisibleNotification, others: int) -> SafeString:
    """Return a text like "A and 4 others liked your post", in which the name is a link."""
    author, about = first.author, first.about
    if about is not None and first.kind.text_about is not None:
        return format_html(str(first.kind.text_about) % {"name": "{}"}, format_html("<bdi>@{}</bdi>", about.handle))
    link = '<a href="{}"><bdi class="name">{}</bdi></a>'
    name = format_html(link, profile_url(author.handle), author.display_name or author.handle)
    return format_html(first.kind.describe("{}", others), name)


def excerpt(text: str) -> str:
    """Return the beginning of a text in one line."""
    return shorten(" ".join(text.split()), MAX_EXCERPT_LENGTH)
