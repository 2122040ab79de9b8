"""Pending entries, so that notifications of follows, follow requests and likes are not lost in a crash.

An entry is stored before the follow, the request or the like, and removed after its notification is written. Workers
write the notifications of entries that remain, if the cause still exists; a repeated notification has no effect.
Notifications about posts need no entry, because their jobs are in the outbox.
"""

import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import NamedTuple

from socialsite.ids import AccountId, PostId, TimeSource
from socialsite.recipes.periodic_tasks import PeriodicTask
from socialsite.service import Part
from socialsite.store import Store, StoreError
from socialsite.store.aof import wait_for_aof_at_exit
from timelines import keys
from timelines.notifications.kinds import NotificationKind
from timelines.notifications.notification import Notification
from timelines.notifications.service import NotificationService

PENDING_CAP = 100_000
"""The maximum number of entries, of which the newest are kept (about 10 MB)."""
OVERDUE_MS = 10_000
"""After this time the process that added an entry has written its notification, or has crashed."""
DELIVERY_BATCH = 100
DELIVERY_INTERVAL_S = 5.0

log = logging.getLogger(__name__)


class PendingNotification(NamedTuple):
    """A notification for `reader_id` that is not written yet. `actor_id` follows, requests or likes."""

    kind: NotificationKind
    actor_id: AccountId
    reader_id: AccountId
    post_id: PostId | None = None

    @property
    def member(self) -> str:
        return f"{self.reader_id}:{Notification(PostId(0), self.kind, self.actor_id, self.post_id).member}"

    @classmethod
    def parse(cls, member: bytes) -> "PendingNotification | None":
        """Parse a stored entry. Return None for a member that another release wrote."""
        reader_id, _, rest = member.partition(b":")
        notification = Notification.parse(rest, b"0")
        if notification is None or not reader_id.isdigit():
            return None
        return cls(notification.kind, notification.account_id, AccountId(int(reader_id)), notification.post_id)


class PendingNotifications:
    """Reads and writes the ZSET `keys.notifications_pending`: pending entry -> Unix ms."""

    def __init__(self, store: Store) -> None:
        self._jobs = store.component("jobs")
        self._key = keys.notifications_pending()

    async def add(self, entry: PendingNotification, now_ms: int) -> bool:
        """Add an entry. Return False if a concurrent request, or a process that crashed, has added it before."""
        trim = ("ZREMRANGEBYRANK", self._key, 0, -PENDING_CAP - 1)
        added, _ = await self._jobs.write_all([("ZADD", self._key, "NX", now_ms, entry.member), trim])
        return bool(added)

    async def added_before(self, ms: int, limit: int) -> list[PendingNotification]:
        """Return the oldest entries that were added before `ms`, without entries of other releases."""
        command = ("ZRANGE", self._key, "-inf", f"({ms}", "BYSCORE", "LIMIT", 0, limit)
        entries = map(PendingNotification.parse, await self._jobs[self._key].execute(*command))
        return [entry for entry in entries if entry is not None]

    async def complete(self, entries: Iterable[PendingNotification]) -> None:
        if members := [entry.member for entry in entries]:
            await self._jobs[self._key].execute("ZREM", self._key, *members)


class PendingNotificationService(Part):
    """Tracks and delivers pending entries.

    If an entry cannot be stored, the action itself still succeeds, but its notification is lost in a crash.
    """

    pending: PendingNotifications
    notifications: NotificationService
    clock: TimeSource

    @asynccontextmanager
    async def track(self, entry: PendingNotification) -> AsyncIterator[None]:
        """Add the entry, and remove it if the `async with` block succeeds.

        An entry that existed before belongs to a process that may have crashed; it is kept. Raises ValueError if the
        kind has no cause, because workers could not check it.
        """
        if entry.kind.cause is None and not entry.kind.needs_follow:
            raise ValueError(f"the kind {entry.kind.name!r} has no cause")
        is_own = False
        try:
            if entry.actor_id != entry.reader_id:
                is_own = await self.pending.add(entry, self.clock.now_ms())
        except StoreError as error:
            log.warning("a pending notification was not stored: %s", error)
        yield
        if is_own:
            await self._complete(entry)

    async def deliver_overdue(self) -> int:
        """Write the notifications of overdue entries, and return how many were written. Raises StoreUnavailable."""
        delivered, before_ms = 0, self.clock.now_ms() - OVERDUE_MS
        while entries := await self.pending.added_before(before_ms, DELIVERY_BATCH):
            async with wait_for_aof_at_exit():
                for entry in entries:
                    await self.notifications.add_if_caused(*entry)
            await self.pending.complete(entries)
            delivered += len(entries)
        return delivered

    @property
    def periodic_tasks(self) -> tuple[PeriodicTask, ...]:
        return (PeriodicTask("notices", DELIVERY_INTERVAL_S, self.deliver_overdue),)

    async def _complete(self, entry: PendingNotification) -> None:
        try:
            await self.pending.complete([entry])
        except StoreError as error:
            log.warning("a completed notification stays pending: %s", error)
