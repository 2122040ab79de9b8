"""Stores notifications (`timelines:{<account>}:notifications`), the read mark, and notification preferences."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from socialsite.clock import DAY_MS
from socialsite.ids import AccountId, PostId, id_at, ms_from_id
from socialsite.store import Command, Key, Read, Reply, Repository, load_script
from socialsite.store.key import READER_CACHE_SIZE
from timelines import keys
from timelines.notifications.kinds import KINDS, PREFERENCES, NotificationKind, NotificationPreference
from timelines.notifications.notification import Notification

ADD, READ, UNREAD = (load_script(f"notice_{name}.lua", __package__) for name in ("add", "read", "unread"))
UNREAD_BATCH = 100
"""The number of unread notifications in the first batch."""
BATCH_GROWTH = 4
"""The factor by which batches grow (100, 400, then the rest), so that hidden notifications cost few round trips."""
REPEAT_AFTER_MS = DAY_MS
"""The minimum time between two notifications about a like that is undone and repeated."""

Preferences = dict[str, NotificationPreference]
"""Name of the kind -> preference."""


class UnreadBatch(NamedTuple):
    """Unread notifications, newest first.

    `newest` is the id of the newest notification, read or unread, or 0 if there is none. If `last` is not None, more
    unread notifications may exist below this id.
    """

    newest: PostId
    notifications: tuple[Notification, ...] = ()
    last: PostId | None = None


class StoredPage(NamedTuple):
    """A page of stored notifications. `last` is the id of its last notification, or None at the end of the timeline."""

    read_mark: PostId
    notifications: list[Notification]
    last: PostId | None


class Notifications(Repository):
    """Reads and writes stored notifications. NotificationVisibility decides which of them a reader may see."""

    async def add(self, reader_id: AccountId, notification: Notification, since_ms: int | None = None) -> PostId | None:
        """Add a notification. Return its id, or None if it exists. `since_ms` is the time of its cause."""
        outdated_id = 0
        if notification.kind.repeats != "never":
            repeat_ms = ms_from_id(notification.id) - REPEAT_AFTER_MS
            if since_ms is not None:
                repeat_ms = since_ms if notification.kind.repeats == "always" else min(repeat_ms, since_ms)
            outdated_id = id_at(repeat_ms)
        script_keys = _script_keys(reader_id)
        args = [notification.member, notification.id, outdated_id, keys.NOTIFICATIONS_CAP]
        new_id = await self._timelines.write(*ADD.command(script_keys, args))
        return None if new_id is None else PostId(int(new_id))

    async def mark_read(self, reader_id: AccountId, up_to: PostId) -> PostId:
        """Move the read mark forward, and return it. The mark never moves back."""
        return PostId(int(await self._timelines.write(*READ.command(_script_keys(reader_id), [up_to]))))

    async def remove(self, reader_id: AccountId, up_to: PostId, *, since: int = 0) -> None:
        """Remove the notifications from the id `since` to the id `up_to`, both inclusive."""
        await self._timelines.write("ZREMRANGEBYSCORE", keys.notifications(reader_id), since, up_to)

    async def unread(self, reader_id: AccountId, below: PostId | None = None, limit: int = UNREAD_BATCH) -> UnreadBatch:
        (reply,) = await self._timelines.execute_all([unread_command(reader_id, below, limit)])
        return parse_unread(reply, limit)

    async def read(self, reader_id: AccountId, edge: int, limit: int, *, upward: bool = False) -> StoredPage:
        """Return the read mark, and the notifications below the id `edge` (above it if `upward` is true)."""
        key = keys.notifications(reader_id)
        command, end = ("ZRANGEBYSCORE", "+inf") if upward else ("ZREVRANGEBYSCORE", "-inf")
        part: Command = (command, key, f"({edge}", end, "WITHSCORES", "LIMIT", 0, limit)
        mark, flat = await self._timelines.execute_all([("GET", keys.last_read_notification(reader_id)), part])
        last = PostId(int(float(flat[-1]))) if len(flat) == 2 * limit else None
        return StoredPage(PostId(int(mark or 0)), _parse_notifications(flat), last)

    def preferences(self, reader_ids: Sequence[AccountId]) -> Read[dict[AccountId, Preferences]]:
        commands = [("HMGET", keys.preferences(reader_id), *KINDS) for reader_id in reader_ids]

        def parse(replies: Sequence[Reply]) -> dict[AccountId, Preferences]:
            return {
                reader_id: dict(zip(KINDS, map(_parse_preference, KINDS.values(), reply), strict=True))
                for reader_id, reply in zip(reader_ids, replies, strict=True)
            }

        return Read(commands, parse, self._timelines)

    async def set_preferences(self, reader_id: AccountId, preferences: Mapping[str, NotificationPreference]) -> None:
        """Store preferences for future notifications. Existing notifications stay."""
        if fields := [part for preference in preferences.items() for part in preference]:
            await self._timelines.write("HSET", keys.preferences(reader_id), *fields)


@lru_cache(maxsize=READER_CACHE_SIZE)
def unread_command(reader_id: AccountId, below: PostId | None = None, limit: int = UNREAD_BATCH) -> Command:
    """Return the command whose reply `parse_unread` takes."""
    return UNREAD.command(_script_keys(reader_id), ["+inf" if below is None else f"({below}", limit])


def parse_unread(reply: Reply, limit: int = UNREAD_BATCH) -> UnreadBatch:
    newest = PostId(int(float(reply[0])))
    if len(reply) == 1:
        return UnreadBatch(newest)
    last = PostId(int(float(reply[-1]))) if len(reply) > 2 * limit else None
    return UnreadBatch(newest, tuple(_parse_notifications(reply[1:])), last)


def _script_keys(reader_id: AccountId) -> tuple[Key, Key]:
    return keys.notifications(reader_id), keys.last_read_notification(reader_id)


def _parse_notifications(flat: Sequence[bytes]) -> list[Notification]:
    """Parse the reply (member, score, member, score, ...)."""
    parsed = map(Notification.parse, flat[::2], flat[1::2])
    return [notification for notification in parsed if notification is not None]


def _parse_preference(kind: NotificationKind, value: bytes | None) -> NotificationPreference:
    text = value.decode() if value else kind.default
    return text if text in PREFERENCES else kind.default
