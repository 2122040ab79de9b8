"""Authors whose posts are not syndicated to homes: readers take them from the profiles (hybrid fan-out).

One small set for the whole site. Whoever is in it stays: homes do not hold what they wrote since.
"""

from collections.abc import Sequence

from socialsite.ids import AccountId
from socialsite.store import Store
from timelines import keys

FAN_OUT_ON_READ_CAP = 1_000
"""Authors; more are syndicated to as everybody, so that what a reader has to ask stays bounded."""


class FanOutOnReadAuthors:
    """`timelines:{pulled}:authors`: account id -> Unix ms since when."""

    def __init__(self, store: Store) -> None:
        self._timelines = store.component("timelines")

    async def read_all(self) -> dict[AccountId, int]:
        key = keys.fan_out_on_read_authors()
        found = await self._timelines[key].execute("ZRANGE", key, 0, FAN_OUT_ON_READ_CAP - 1, "WITHSCORES")
        return {AccountId(int(id)): int(since_ms) for id, since_ms in zip(found[::2], found[1::2], strict=True)}

    async def add(self, account_id: AccountId, now_ms: int) -> None:
        """From `now_ms` on, unless it is there already. Confirmed, as the pushes were that now end."""
        key = keys.fan_out_on_read_authors()
        await self._timelines.write(key, ("ZADD", key, "NX", now_ms, account_id))

    async def remove(self, account_ids: Sequence[AccountId]) -> None:
        """For accounts that nobody follows any more."""
        key = keys.fan_out_on_read_authors()
        await self._timelines[key].execute("ZREM", key, *account_ids)
