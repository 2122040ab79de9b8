"""What clients see of notifications: JSON dicts, and the rows of the page, which the socket sends as well."""

from collections.abc import Sequence
from typing import Final

from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from accounts.domain import Author
from socialsite.web.requests import format_iso_time
from timelines.notifications.notification import (
    MENTION_KINDS,
    NotificationGroup,
    NotificationKind,
    VisibleNotification,
    group_notifications,
)
from timelines.pages.presenters import Json, author_json, entry_html, post_json, post_url, profile_url

MAX_AVATARS_PER_GROUP = 6
MAX_EXCERPT_LENGTH = 140  # characters
ICON_BY_KIND: Final[dict[NotificationKind, str]] = {
    "mention": "notifications", "reply": "reply", "boost": "boost", "like": "like", "follow": "follow",
    "request": "key",
}  # fmt: skip

SINGLE_ACTOR_TEXTS: Final = {
    "mention": _("%(name)s mentioned you"),
    "reply": _("%(name)s replied to you"),
    "boost": _("%(name)s boosted your post"),
    "like": _("%(name)s liked your post"),
    "follow": _("%(name)s follows you"),
    "request": _("%(name)s wants to follow you"),
}
MULTIPLE_ACTOR_TEXTS: Final = {
    "boost": ngettext_lazy(
        "%(name)s and %(count)d other boosted your post",
        "%(name)s and %(count)d others boosted your post",
        "count",
    ),
    "like": ngettext_lazy(
        "%(name)s and %(count)d other liked your post",
        "%(name)s and %(count)d others liked your post",
        "count",
    ),
    "follow": ngettext_lazy(
        "%(name)s and %(count)d other follow you", "%(name)s and %(count)d others follow you", "count"
    ),
    "request": ngettext_lazy(
        "%(name)s and %(count)d other want to follow you",
        "%(name)s and %(count)d others want to follow you",
        "count",
    ),
}


def notification_json(noticed: VisibleNotification) -> Json:
    """`post` of a boost is what was boosted."""
    return {
        "id": str(noticed.id),
        "kind": noticed.kind,
        "account": author_json(noticed.author),
        "post": post_json(noticed.entry.shown) if noticed.entry else None,
        "created_at": format_iso_time(noticed.created_ms),
        "read": noticed.is_read,
    }


def notification_html(noticed: VisibleNotification) -> str:
    """A row of one, in the active language; a plain text, as the socket's encoder wants it."""
    return notification_group_html(NotificationGroup((noticed,))) + ""


def notification_rows_html(entries: Sequence[VisibleNotification]) -> SafeString:
    """The `<li>` items of the page: nothing but joined template output."""
    return SafeString(
        "".join(f"<li>{notification_group_html(group)}</li>" for group in group_notifications(tuple(entries)))
    )


def notification_group_html(group: NotificationGroup) -> str:
    first = group.first
    shown = first.entry.shown if first.entry else None
    is_said = first.kind in MENTION_KINDS
    return render_to_string(
        "timelines/_notice.html",
        {
            "id": first.id,
            "kind": first.kind,
            "icon_name": ICON_BY_KIND[first.kind],
            "is_read": group.is_read,
            "created_ms": first.created_ms,
            "words": _group_text(group),
            "faces": [each.author for each in group.members[:MAX_AVATARS_PER_GROUP]],
            "is_said": is_said,
            "post_html": SafeString(entry_html(first.entry)) if first.entry and is_said else "",
            "excerpt": _excerpt(shown.post.text) if shown and not is_said else "",
            "url": post_url(shown.post.id, shown.author) if shown else "",
        },
    )


def _group_text(group: NotificationGroup) -> SafeString:
    """ "A and 4 others liked your post", the name a link."""
    kind, others = group.first.kind, len(group.members) - 1
    name = _name_link(group.first.author)
    if not others:
        return format_html(str(SINGLE_ACTOR_TEXTS[kind]).replace("%(name)s", "{}"), name)
    text = str(MULTIPLE_ACTOR_TEXTS[kind] % {"name": "{}", "count": others})
    return format_html(text, name)


def _name_link(author: Author) -> SafeString:
    name = author.display_name or author.handle
    return format_html('<a href="{}"><bdi class="name">{}</bdi></a>', profile_url(author.handle), name)


def _excerpt(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_EXCERPT_LENGTH else line[:MAX_EXCERPT_LENGTH].rstrip() + "…"
