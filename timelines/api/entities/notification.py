"""The entity Notification (https://docs.joinmastodon.org/entities/Notification/)."""

from collections.abc import Collection
from typing import Final

from socialsite.errors import NotFound
from socialsite.ids import parse_id
from timelines.notifications.notification import TYPE_BY_KIND, NotificationKind, VisibleNotification

KINDS_BY_TYPE: Final[dict[str, tuple[NotificationKind, ...]]] = {
    type: tuple(kind for kind, each in TYPE_BY_KIND.items() if each == type) for type in TYPE_BY_KIND.values()
}
GROUPED_TYPES: Final = frozenset({"favourite", "reblog", "follow"})
"""The types that a client may group; each other notification is a group of its own."""
GROUP_MS: Final = 12 * 3_600_000
"""Notifications of a group are within one half of a day."""
_UNGROUPED: Final = "ungrouped"


def group_key(entry: VisibleNotification, grouped_types: Collection[str] = GROUPED_TYPES) -> str:
    """Return the group of a notification: the same type, post and half day, or "ungrouped-<id>"."""
    kind = TYPE_BY_KIND[entry.kind]
    if kind not in grouped_types:
        return f"{_UNGROUPED}-{entry.id}"
    post_id = 0 if entry.entry is None else entry.entry.shown.post.id
    return f"{kind}-{post_id}-{entry.created_ms // GROUP_MS}"


def parse_group_key(key: str) -> tuple[NotificationKind | None, int]:
    """Return the kind and the half day of a group; for an ungrouped notification None and its id. Raises NotFound."""
    kind, _, rest = key.partition("-")
    number = parse_id(rest.rpartition("-")[2])
    if number is None or kind not in (*GROUPED_TYPES, _UNGROUPED):
        raise NotFound
    return (None, number) if kind == _UNGROUPED else (KINDS_BY_TYPE[kind][0], number)
