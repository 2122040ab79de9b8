"""What accounts are told of: `timelines:{<account>}:notifications`, its read mark, and what is wanted."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from accounts.domain import DAY_MS
from socialsite.ids import AccountId, PostId, id_at, ms_from_id
from socialsite.store import Command, Key, Reply, Store, load_script
from timelines import keys
from timelines.notifications.notification import (
    NOTIFICATION_KINDS,
    PREFERENCES,
    RECURRING_KINDS,
    Notification,
    NotificationKind,
    NotificationPreference,
)

ADD, READ, UNREAD = (load_script(f"notice_{name}.lua", __package__) for name in ("add", "read", "unread"))
NOTIFICATIONS_CAP = 1_000
UNREAD_BATCH = 100
"""Unread ones read at a time."""
REPEAT_AFTER_MS = DAY_MS
"""A like taken back and given again is told again after so long, not at once: nobody rings a bell with it."""


class UnreadBatch(NamedTuple):
    """`newest`: the newest notification at all (0: none). `found`: unread ones, newest first; where `last` is
    told, more may be below it.
    """

    newest: PostId
    notifications: tuple[Notification, ...] = ()
    last: PostId | None = None


class Notifications:
    """Knows members and ids; what of it may be seen is the service's matter."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._timelines = store.component("timelines")

    async def add(self, reader_id: AccountId, new: Notification, since_ms: int | None = None) -> PostId | None:
        """The id it was given; None where the reader was told before. `since_ms`: since when it is so."""
        over = 0
        if new.kind in RECURRING_KINDS:
            anew_ms = ms_from_id(new.id) - REPEAT_AFTER_MS
            over = id_at(anew_ms if since_ms is None else min(anew_ms, since_ms))
        place, args = _places(reader_id), [new.member, new.id, over, NOTIFICATIONS_CAP]
        (given,) = await self._timelines.write(place[0], ADD.command(place, args))
        return None if given is None else PostId(int(given))

    async def mark_read(self, reader_id: AccountId, up_to: PostId) -> PostId:
        """The read mark as it stands then; it never goes back."""
        place = _places(reader_id)
        (mark,) = await self._timelines.write(place[0], READ.command(place, [up_to]))
        return PostId(int(mark))

    async def unread(self, reader_id: AccountId, below: PostId | None = None) -> UnreadBatch:
        (reply,) = await self._timelines.gather([unread_command(reader_id, below)])
        return parse_unread(reply)

    async def read(
        self, reader_id: AccountId, edge: int, limit: int, *, upward: bool = False
    ) -> tuple[PostId, list[Notification], PostId | None]:
        """The read mark, those directly beyond `edge`, and the edge of what was looked at (None: the end)."""
        key = keys.notifications(reader_id)
        way, end = ("ZRANGEBYSCORE", "+inf") if upward else ("ZREVRANGEBYSCORE", "-inf")
        part: Command = (way, key, f"({edge}", end, "WITHSCORES", "LIMIT", 0, limit)
        mark, found = await self._timelines.gather([("GET", keys.last_read_notification(reader_id)), part])
        last = PostId(int(float(found[-1]))) if len(found) == 2 * limit else None
        return PostId(int(mark or 0)), list(_parsed(found)), last

    async def liked_since_ms(self, post_id: PostId, account_id: AccountId) -> int | None:
        """Since when the account likes the post (Unix ms); None where it does not."""
        (score,) = await self._store.gather([("ZSCORE", keys.likes(post_id), account_id)])
        return None if score is None else int(float(score))

    # What is wanted

    async def preferences(
        self, reader_ids: Sequence[AccountId]
    ) -> dict[AccountId, dict[NotificationKind, NotificationPreference]]:
        """For each account, from whom it wants to hear of each kind."""
        commands = [("HMGET", keys.preferences(reader_id), *NOTIFICATION_KINDS) for reader_id in reader_ids]
        replies = await self._timelines.gather(commands)
        return {
            reader_id: {kind: _wanted(value) for kind, value in zip(NOTIFICATION_KINDS, reply, strict=True)}
            for reader_id, reply in zip(reader_ids, replies, strict=True)
        }

    async def set_preferences(
        self, reader_id: AccountId, wishes: Mapping[NotificationKind, NotificationPreference]
    ) -> None:
        key = keys.preferences(reader_id)
        fields = [part for kind, choice in wishes.items() for part in (kind, choice)]
        if fields:
            await self._timelines[key].execute("HSET", key, *fields)

    async def delete_all(self, account_id: AccountId) -> None:
        """Everything of a deleted account."""
        key = keys.notifications(account_id)
        gone = (key, keys.last_read_notification(account_id), keys.preferences(account_id))
        await self._timelines[key].execute("UNLINK", *gone)


def unread_command(reader_id: AccountId, below: PostId | None = None) -> Command:
    """For a round trip that asks other things too; `parse_unread` reads its reply."""
    if below is None:
        return _unread_command(reader_id)
    return UNREAD.command(_places(reader_id), [f"({below}", UNREAD_BATCH])


def parse_unread(reply: Reply) -> UnreadBatch:
    newest = PostId(int(float(reply[0])))
    if len(reply) == 1:
        return UnreadBatch(newest)
    last = PostId(int(float(reply[-1]))) if len(reply) > 2 * UNREAD_BATCH else None
    return UnreadBatch(newest, tuple(_parsed(reply[1:])), last)


@lru_cache(maxsize=5_000)
def _unread_command(reader_id: AccountId) -> Command:
    return UNREAD.command(_places(reader_id), ["+inf", UNREAD_BATCH])


def _places(reader_id: AccountId) -> tuple[Key, Key]:
    return keys.notifications(reader_id), keys.last_read_notification(reader_id)


def _parsed(flat: Sequence[bytes]) -> list[Notification]:
    pairs = zip(flat[::2], flat[1::2], strict=True)
    return [found for member, score in pairs if (found := Notification.parse(member, score)) is not None]


def _wanted(value: bytes | None) -> NotificationPreference:
    text = value.decode() if value else "all"
    return text if text in PREFERENCES else "all"
