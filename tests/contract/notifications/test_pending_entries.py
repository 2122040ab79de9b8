"""Pending entries are read oldest first; above the cap the newest entries are kept."""

from socialsite.ids import AccountId, PostId
from socialsite.store import Key, Store
from timelines import keys
from timelines.notifications import kinds
from timelines.notifications.pending import PENDING_CAP as NOTICES_CAP
from timelines.notifications.pending import PendingNotification, PendingNotifications
from timelines.search.indexing import PENDING_CAP, PendingSearchPosts

POSTS = [PostId(4096 * n) for n in range(1, 5)]
FOLLOWS = [PendingNotification(kinds.FOLLOW, AccountId(n), AccountId(9)) for n in range(1, 4)]
LIKE = PendingNotification(kinds.LIKE, AccountId(1), AccountId(9), POSTS[0])


async def fill(store: Store, key: Key, prefix: str, count: int) -> None:
    """Add `count` members with the scores 1 to `count`."""
    for start in range(1, count + 1, 10_000):
        pairs = [part for n in range(start, min(start + 10_000, count + 1)) for part in (n, f"{prefix}{n}")]
        await store.node(key).execute("ZADD", key, *pairs)


async def test_pending_posts_are_unique_and_read_oldest_first(store: Store) -> None:
    debts = PendingSearchPosts(store)
    assert await debts.find_oldest(10) == []
    for post_id in (POSTS[2], POSTS[0], POSTS[1], POSTS[0]):
        await debts.add(post_id)
    assert await debts.find_oldest(2) == POSTS[:2]
    assert await debts.find_oldest(10) == POSTS[:3]
    await debts.remove([])
    await debts.remove([POSTS[0], POSTS[2]])
    assert await debts.find_oldest(10) == [POSTS[1]]


async def test_the_newest_pending_posts_are_kept_above_the_cap(store: Store) -> None:
    debts, key = PendingSearchPosts(store), keys.search_pending()
    await fill(store, key, "", PENDING_CAP - 1)
    await debts.add(PostId(PENDING_CAP))
    assert await debts.find_oldest(1) == [1]
    await debts.add(PostId(PENDING_CAP + 1))
    assert await debts.find_oldest(1) == [2]
    assert await store.node(key).execute("ZCARD", key) == PENDING_CAP


async def test_a_pending_notification_keeps_its_first_time(store: Store) -> None:
    debts = PendingNotifications(store)
    assert [await debts.add(debt, 100 * n) for n, debt in enumerate(FOLLOWS, 1)] == [True, True, True]
    assert await debts.add(FOLLOWS[0], 900) is False
    assert await debts.add(LIKE, 250) is True
    assert await debts.added_before(100, 9) == []
    assert await debts.added_before(300, 9) == [FOLLOWS[0], FOLLOWS[1], LIKE]
    assert await debts.added_before(10_000, 2) == FOLLOWS[:2]
    await debts.complete([])
    await debts.complete([FOLLOWS[0], LIKE])
    assert await debts.added_before(10_000, 9) == FOLLOWS[1:]


async def test_a_pending_notification_of_another_release_is_ignored(store: Store) -> None:
    debts, key = PendingNotifications(store), keys.notifications_pending()
    await debts.add(LIKE, 5)
    await store.node(key).execute("ZADD", key, 1, "applause:1:9:4096")
    await store.node(key).execute("ZADD", key, 2, "rubbish", 3, "x:like:1:4096", 4, "12:rubbish")
    assert await debts.added_before(100, 9) == [LIKE]


async def test_the_newest_pending_notifications_are_kept_above_the_cap(store: Store) -> None:
    debts, key = PendingNotifications(store), keys.notifications_pending()
    await fill(store, key, "x", NOTICES_CAP)
    await debts.add(LIKE, NOTICES_CAP + 1)
    assert await store.node(key).execute("ZCARD", key) == NOTICES_CAP
    assert await store.node(key).execute("ZRANGE", key, 0, 0) == [b"x2"]
