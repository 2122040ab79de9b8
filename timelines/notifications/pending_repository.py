"""Notifications that a process has taken upon itself and may not have lived to write.

Owed before the follow, the request or the like stands, paid once it was told of; what is left, workers tell.
Notifications about posts need none of it: their jobs stand in the outbox.
"""

from collections.abc import Iterable
from typing import NamedTuple

from socialsite.ids import AccountId, PostId
from socialsite.store import Store
from timelines import keys
from timelines.notifications.notification import Notification, NotificationKind

PENDING_CAP = 100_000
"""The newest are kept: about 10 MB."""
NO_ID = PostId(0)


class PendingNotification(NamedTuple):
    """`reader_id` is to hear that `by` follows, asks, or likes a post of theirs."""

    kind: NotificationKind
    actor_id: AccountId
    reader_id: AccountId
    post_id: PostId | None = None

    @property
    def notification(self) -> Notification:
        """Without the id that it has not got yet."""
        return Notification(NO_ID, self.kind, self.actor_id, self.post_id)


class PendingNotifications:
    """`jobs:{notices}:owed`."""

    def __init__(self, store: Store) -> None:
        self._place = store.component("jobs")
        self._key = keys.notifications_pending()

    async def add(self, debt: PendingNotification, now_ms: int) -> bool:
        """False where it was owed already: by a request that goes on beside this one, or has died."""
        trim = ("ZREMRANGEBYRANK", self._key, 0, -PENDING_CAP - 1)
        added, _ = await self._place.write(self._key, ("ZADD", self._key, "NX", now_ms, _member(debt)), trim)
        return bool(added)

    async def added_before(self, ms: int, most: int) -> list[PendingNotification]:
        """The oldest of those that are owed since before that; without what another release owes."""
        asked = ("ZRANGE", self._key, "-inf", f"({ms}", "BYSCORE", "LIMIT", 0, most)
        found = map(_debt, await self._place[self._key].execute(*asked))
        return [debt for debt in found if debt is not None]

    async def complete(self, debts: Iterable[PendingNotification]) -> None:
        if members := [_member(debt) for debt in debts]:
            await self._place[self._key].execute("ZREM", self._key, *members)


def _member(debt: PendingNotification) -> str:
    return f"{debt.reader_id}:{debt.notification.member}"


def _debt(member: bytes) -> PendingNotification | None:
    reader, _, rest = member.partition(b":")
    found = Notification.parse(rest, b"0")
    if found is None or not reader.isdigit():
        return None
    return PendingNotification(found.kind, found.account_id, AccountId(int(reader)), found.post_id)
