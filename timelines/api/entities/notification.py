"""The entity Notification (https://docs.joinmastodon.org/entities/Notification/)."""

from typing import Final

from timelines.notifications.notification import NotificationKind, VisibleNotification

TYPE_BY_KIND: Final[dict[NotificationKind, str]] = {
    "mention": "mention",
    "reply": "mention",
    "boost": "reblog",
    "like": "favourite",
    "follow": "follow",
    "request": "follow_request",
    "poll": "poll",
}
"""The kinds that clients know. They do not see a refused scheduled post (`draft`), which the site's pages show."""
KINDS_BY_TYPE: Final[dict[str, tuple[NotificationKind, ...]]] = {
    type: tuple(kind for kind, each in TYPE_BY_KIND.items() if each == type) for type in TYPE_BY_KIND.values()
}
GROUPED_TYPES: Final = frozenset({"favourite", "reblog", "follow"})
"""The types that a client may group; each other notification is a group of its own."""
GROUP_HOURS: Final = 12


def group_key(entry: VisibleNotification) -> str:
    """Return the group of a notification: the same type, post and half day, or "ungrouped-<id>"."""
    kind = TYPE_BY_KIND[entry.kind]
    if kind not in GROUPED_TYPES:
        return f"ungrouped-{entry.id}"
    subject = f"-{entry.entry.shown.post.id}" if entry.entry is not None else ""
    return f"{kind}{subject}-{entry.created_ms // (GROUP_HOURS * 3_600_000)}"
