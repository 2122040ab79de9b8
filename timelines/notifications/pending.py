"""Telling of follows, requests and likes even where the process that took them dies before it says so.

What is to be told is owed first. Workers tell what is left owing, where it stands by then; telling twice is
telling once.
"""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext

from socialsite.ids import TimeSource
from socialsite.recipes.periodic_tasks import PeriodicTask
from socialsite.store import StoreError
from socialsite.store.aof import wait_for_aof_at_exit
from timelines.graph.follow_requests_repository import FollowRequests
from timelines.graph.repository import Follows
from timelines.notifications.pending_repository import PendingNotification, PendingNotifications
from timelines.notifications.service import NotificationService
from timelines.posts.post import Post

OVERDUE_MS = 10_000
"""After this whoever took the debt upon itself has told of it, or died."""
DELIVERY_BATCH = 100
DELIVERY_INTERVAL_S = 5.0

log = logging.getLogger(__name__)

TrackPending = Callable[[PendingNotification], AbstractAsyncContextManager[None]]
"""What is done within is told of by a worker, should it break off."""


def track_nothing(debt: PendingNotification) -> AbstractAsyncContextManager[None]:
    """For whoever tells nobody."""
    return nullcontext()


class PendingNotificationService:
    """Never in the way of what is done: where the outbox is away, only a crash loses a notification."""

    def __init__(
        self,
        *,
        pending: PendingNotifications,
        notifications: NotificationService,
        follows: Follows,
        follow_requests: FollowRequests,
        clock: TimeSource,
    ) -> None:
        self._debts = pending
        self._notifications = notifications
        self._follows = follows
        self._requests = follow_requests
        self._clock = clock

    @asynccontextmanager
    async def track(self, debt: PendingNotification) -> AsyncIterator[None]:
        """Paid where it ends well. A debt that stood before is another's: it may have died over it."""
        is_own = False
        try:
            if debt.actor_id != debt.reader_id:
                is_own = await self._debts.add(debt, self._clock.now_ms())
        except StoreError as error:
            log.warning("a notification is not owed: %s", error)
        yield
        if is_own:
            await self._pay(debt)

    async def deliver_overdue(self) -> int:
        """Whatever is overdue; how many debts that were. Raises StoreUnavailable."""
        told, since_ms = 0, self._clock.now_ms() - OVERDUE_MS
        while debts := await self._debts.added_before(since_ms, DELIVERY_BATCH):
            async with wait_for_aof_at_exit():
                for debt in debts:
                    await self._tell(debt)
            await self._debts.complete(debts)
            told += len(debts)
        return told

    @property
    def periodic_tasks(self) -> tuple[PeriodicTask, ...]:
        """The regular work of the workers."""
        return (PeriodicTask("notices", DELIVERY_INTERVAL_S, self.deliver_overdue),)

    async def _tell(self, debt: PendingNotification) -> None:
        by, reader_id = debt.actor_id, debt.reader_id
        if debt.kind == "follow" and await self._follows.is_following(by, reader_id):
            await self._notifications.followed(follower_id=by, followed_id=reader_id)
        elif debt.kind == "request" and await self._requests.exists(by, reader_id):
            await self._notifications.follow_requested(requester_id=by, target_id=reader_id)
        elif debt.kind == "like" and debt.post_id is not None:  # looks itself whether it stands
            post = Post(debt.post_id, reader_id, "")
            await self._notifications.liked(account_id=by, post=post, now_ms=self._clock.now_ms())

    async def _pay(self, debt: PendingNotification) -> None:
        try:
            await self._debts.complete([debt])
        except StoreError as error:
            log.warning("a notification is owed on: %s", error)
