"""Measures how late entries reach their timelines. The lag decides where a replay begins (docs/reference/live.md)."""

from socialsite.ids import PostId, ms_from_id
from socialsite.store import Store
from timelines import keys

HOUR_MS = 3_600_000
REMEMBERED_HOURS = 24
USUAL_MS = 60_000
"""Every replay begins at least this much before the reader's last id. Only longer lags are stored, to save writes."""


class DeliveryLag:
    """The largest lag of each of the last 25 hours, as measured by the workers."""

    def __init__(self, store: Store) -> None:
        self._live = store.component("live")

    async def note(self, post_id: PostId, now_ms: int) -> None:
        """Record that an entry was delivered at `now_ms`."""
        lag_ms = now_ms - ms_from_id(post_id)
        if lag_ms <= USUAL_MS:
            return
        key, hour = keys.delivery_lag(), now_ms // HOUR_MS
        # Each write removes old hours. Two writes are at most 25 hours apart; after more time the key has expired.
        expired_hours = range(hour - 2 * REMEMBERED_HOURS - 2, hour - REMEMBERED_HOURS)
        await self._live[key].execute_all(
            [
                ("ZADD", key, "GT", lag_ms, hour),
                ("ZREM", key, *expired_hours),
                ("EXPIRE", key, (REMEMBERED_HOURS + 1) * HOUR_MS // 1000),
            ]
        )

    async def worst_ms(self, now_ms: int) -> int:
        """Return the largest lag of the last day, at least USUAL_MS."""
        key, oldest = keys.delivery_lag(), now_ms // HOUR_MS - REMEMBERED_HOURS
        reply = await self._live[key].execute("ZREVRANGE", key, 0, 2 * REMEMBERED_HOURS, "WITHSCORES")
        hours = zip(reply[::2], reply[1::2], strict=True)
        return max((int(lag) for hour, lag in hours if int(hour) >= oldest), default=USUAL_MS)
