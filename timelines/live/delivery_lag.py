"""How late entries reached their timelines lately: where a replay has to begin (docs/reference/live.md)."""

from socialsite.ids import PostId, ms_from_id
from socialsite.store import Store
from timelines import keys

HOUR_MS = 3_600_000
REMEMBERED_HOURS = 24
USUAL_MS = 60_000
"""A replay begins this much earlier anyway; only longer lags are noted, so that the usual costs no write."""


class DeliveryLag:
    """The largest lag of each of the last 25 hours, as the workers saw it."""

    def __init__(self, store: Store) -> None:
        self._live = store.component("live")

    async def note(self, post_id: PostId, now_ms: int) -> None:
        """An entry was delivered now."""
        lag_ms = now_ms - ms_from_id(post_id)
        if lag_ms <= USUAL_MS:
            return
        key, hour = keys.delivery_lag(), now_ms // HOUR_MS
        # Every note takes out what is over: between two notes of a key that lives lie at most 25 hours.
        over = range(hour - 2 * REMEMBERED_HOURS - 2, hour - REMEMBERED_HOURS)
        await self._live[key].pipeline(
            [
                ("ZADD", key, "GT", lag_ms, hour),
                ("ZREM", key, *over),
                ("EXPIRE", key, (REMEMBERED_HOURS + 1) * HOUR_MS // 1000),
            ]
        )

    async def worst_ms(self, now_ms: int) -> int:
        """The largest lag of the last day, at least USUAL_MS."""
        key, oldest = keys.delivery_lag(), now_ms // HOUR_MS - REMEMBERED_HOURS
        found = await self._live[key].execute("ZREVRANGE", key, 0, 2 * REMEMBERED_HOURS, "WITHSCORES")
        hours = zip(found[::2], found[1::2], strict=True)
        return max((int(lag) for hour, lag in hours if int(hour) >= oldest), default=USUAL_MS)
