"""Stored notifications: repetitions, the read marker, and the limits of pages and reads."""

import pytest

from socialsite.clock import DAY_MS
from socialsite.ids import AccountId, PostId, id_at
from socialsite.store import Store
from tests.support.nodes import run_command
from timelines import keys
from timelines.notifications.kinds import FOLLOW, KINDS, LIKE, MENTION, REPLY, REQUEST, NotificationKind
from timelines.notifications.notification import Notification
from timelines.notifications.repository import UNREAD_BATCH, Notifications, UnreadBatch

NOW_MS = 1_790_000_000_000
READER, BY, POST = AccountId(7), AccountId(8), PostId(4096)


def heard(kind: NotificationKind, at_ms: int) -> Notification:
    return Notification(id_at(at_ms), kind, BY, POST)


async def fill(store: Store, count: int) -> list[Notification]:
    """Store `count` likes with the ids 1 to `count` and return them newest first."""
    likes = [Notification(PostId(n), LIKE, AccountId(n), POST) for n in range(count, 0, -1)]
    key = keys.notifications(READER)
    await run_command(store, "ZADD", key, *(part for like in likes for part in (like.id, like.member)))
    return likes


@pytest.mark.parametrize("kind", [kind for kind in KINDS.values() if kind.repeats != "never"])
async def test_a_recurring_kind_is_added_again_after_a_day(store: Store, kind: NotificationKind) -> None:
    notifications, later_ms = Notifications(store), NOW_MS + DAY_MS
    assert await notifications.add(READER, heard(kind, NOW_MS)) == id_at(NOW_MS)
    assert await notifications.add(READER, heard(kind, later_ms)) is None
    assert await notifications.add(READER, heard(kind, later_ms + 1)) == id_at(later_ms + 1)


async def test_a_notification_that_exists_since_the_event_is_not_added_again(store: Store) -> None:
    notifications, later_ms = Notifications(store), NOW_MS + 3 * DAY_MS
    await notifications.add(READER, heard(LIKE, NOW_MS))
    assert await notifications.add(READER, heard(LIKE, later_ms), since_ms=NOW_MS) is None
    assert await notifications.add(READER, heard(LIKE, later_ms), since_ms=NOW_MS + 1) == id_at(later_ms)


@pytest.mark.parametrize("kind", [FOLLOW, REQUEST])
async def test_the_same_follow_is_added_once_and_the_next_one_again(store: Store, kind: NotificationKind) -> None:
    notifications = Notifications(store)
    await notifications.add(READER, heard(kind, NOW_MS), since_ms=NOW_MS)
    assert await notifications.add(READER, heard(kind, NOW_MS + 3 * DAY_MS), since_ms=NOW_MS) is None
    assert await notifications.add(READER, heard(kind, NOW_MS + 9), since_ms=NOW_MS + 8) == id_at(NOW_MS + 9)


@pytest.mark.parametrize("kind", [MENTION, REPLY])
async def test_a_non_recurring_kind_is_added_once(store: Store, kind: NotificationKind) -> None:
    notifications = Notifications(store)
    assert await notifications.add(READER, heard(kind, NOW_MS)) == id_at(NOW_MS)
    assert await notifications.add(READER, heard(kind, NOW_MS + 9 * DAY_MS)) is None


async def test_marking_as_read_returns_the_current_marker(store: Store) -> None:
    notifications = Notifications(store)
    assert await notifications.mark_read(READER, PostId(5)) == 0
    assert (await notifications.read(READER, 9, 1))[0] == 0
    await fill(store, 3)
    assert await notifications.mark_read(READER, PostId(2)) == 2
    assert await notifications.mark_read(READER, PostId(1)) == 2
    assert (await notifications.read(READER, 9, 1))[0] == 2
    assert await notifications.mark_read(READER, PostId(5)) == 3


async def test_a_page_returns_its_edge_if_more_may_follow(store: Store) -> None:
    notifications = Notifications(store)
    likes = await fill(store, 3)
    assert await notifications.read(READER, 9, 2) == (0, likes[:2], 2)
    assert await notifications.read(READER, 2, 2) == (0, likes[2:], None)
    assert await notifications.read(READER, 9, 3) == (0, likes, 1)
    assert await notifications.read(READER, 1, 3, upward=True) == (0, likes[1::-1], None)
    assert await notifications.read(READER, 0, 2, upward=True) == (0, likes[:0:-1], 2)


async def test_unread_notifications_are_read_in_batches_of_a_hundred(store: Store) -> None:
    notifications = Notifications(store)
    assert await notifications.unread(READER) == UnreadBatch(PostId(0))
    few = await fill(store, UNREAD_BATCH - 1)
    assert await notifications.unread(READER) == UnreadBatch(PostId(UNREAD_BATCH - 1), tuple(few))
    likes = await fill(store, UNREAD_BATCH)
    assert await notifications.unread(READER) == UnreadBatch(PostId(UNREAD_BATCH), tuple(likes), PostId(1))
    likes = await fill(store, UNREAD_BATCH + 1)
    newest = PostId(UNREAD_BATCH + 1)
    assert await notifications.unread(READER) == UnreadBatch(newest, tuple(likes[:-1]), PostId(2))
    assert await notifications.unread(READER, below=PostId(2)) == UnreadBatch(newest, tuple(likes[-1:]))
    assert await notifications.unread(READER, below=PostId(1)) == UnreadBatch(newest)
    await notifications.mark_read(READER, newest)
    assert await notifications.unread(READER) == UnreadBatch(newest)
