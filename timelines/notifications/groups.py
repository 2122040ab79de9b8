"""Groups of notifications, the same on the page and in the API."""

from collections.abc import Collection, Iterable
from typing import Final

from socialsite.batches import group_by
from socialsite.errors import NotFound
from socialsite.ids import PostId, parse_id
from timelines.notifications.kinds import KINDS, NotificationKind
from timelines.notifications.notification import VisibleNotification

GROUP_MS: Final = 12 * 3_600_000
"""Notifications of a group are within one half of a day."""
_UNGROUPED: Final = "ungrouped"


def group_notifications(entries: Iterable[VisibleNotification]) -> list[list[VisibleNotification]]:
    """Return the groups of a page, newest first. A group is at the position of its newest notification."""
    kinds = [kind for kind in KINDS.values() if kind.group_by]
    return list(group_by(entries, lambda entry: group_key(entry, kinds)).values())


def kinds_grouped_in_api(types: Collection[str] = ()) -> list[NotificationKind]:
    """Return the kinds with these types that clients may group; without `types`, all that they may group."""
    return [kind for kind in KINDS.values() if kind.is_grouped_in_api and (not types or kind.api_type in types)]


def group_key(entry: VisibleNotification, grouped: Collection[NotificationKind]) -> str:
    """Return the group of a notification: the same kind, post and half day, or "ungrouped-<id>"."""
    kind, post_id = entry.kind, PostId(0)
    if kind not in grouped:
        return f"{_UNGROUPED}-{entry.id}"
    if entry.entry is not None:
        post = entry.entry.shown.post
        post_id = (post.in_reply_to if kind.group_by == "answered post" else post.id) or post_id
    name = kind.api_type if kind.is_grouped_in_api else kind.name
    return f"{name}-{post_id}-{entry.created_ms // GROUP_MS}"


def parse_group_key(key: str) -> tuple[NotificationKind | None, int]:
    """Return the kind and the half day of a group, or None and the id of an ungrouped notification. Raises NotFound."""
    type, _, rest = key.partition("-")
    number = parse_id(rest.rpartition("-")[2])
    kinds = kinds_grouped_in_api([type])
    if number is None or not (kinds or type == _UNGROUPED):
        raise NotFound
    return (kinds[0] if kinds else None), number
