"""Counts the uses of hashtags by hour. An account counts only once a day for each hashtag.

The keys of the counts and of the uses have the same tag, so that one script can write both.
"""

from collections.abc import Sequence
from typing import Final

from socialsite.clock import DAY_MS
from socialsite.ids import AccountId
from socialsite.recipes.time_series import RankedMetric, Rollup, ranked_key
from socialsite.store import Key, Store, load_script

NOTE, TOP = (load_script(f"trend_{name}.lua", __package__) for name in ("note", "top"))
HOURS: Final = 24
HOUR = Rollup(3_600, HOURS + 2)
TRENDS_METRIC = RankedMetric("trends", (HOUR,))
HALF_LIFE_HOURS: Final = 4.0
"""A use that is four hours old counts half as much as a use now."""
MIN_ACCOUNTS: Final = 2
HASHTAGS_PER_HOUR_CAP: Final = 200  # hashtags that a trim keeps; it runs above twice this number
USES_CAP: Final = 100_000


def uses_key() -> Key:
    """Return the key of the sorted set of uses, which keeps the newest USES_CAP uses of the last day.

    The member is "<account>:<hashtag>". The score is the time of the first use within a day in Unix ms.
    """
    return Key("series", tag=TRENDS_METRIC.name, name="uses")


class Trends:
    def __init__(self, store: Store) -> None:
        self._series = store.component("series")

    async def count_uses(self, account_id: AccountId, tags: Sequence[str], at_ms: int) -> int:
        """Count the hashtags that the account did not use within a day, and return their number. May be repeated."""
        if not tags:
            return 0
        hour = HOUR.interval_start(at_ms)
        script_keys = [uses_key(), ranked_key(TRENDS_METRIC, HOUR, hour)]
        bounds = [at_ms, at_ms - DAY_MS, USES_CAP, DAY_MS]
        args = [*bounds, HOUR.expires_at(hour), HASHTAGS_PER_HOUR_CAP, account_id, *tags]
        return int(await self._series[script_keys[0]].run(NOTE, script_keys, args))

    async def top(self, now_ms: int, limit: int) -> list[tuple[str, int]]:
        """Return the most used hashtags, each with the number of accounts that used it within a day."""
        hours = HOUR.intervals(now_ms - (HOURS - 1) * HOUR.seconds * 1_000, now_ms)
        ages = [(now_ms // 1_000 - hour) / HOUR.seconds for hour in hours]
        weights = [0.5 ** (age / HALF_LIFE_HOURS) for age in ages]
        script_keys = [ranked_key(TRENDS_METRIC, HOUR, hour) for hour in hours]
        flat = await self._series[script_keys[0]].run(TOP, script_keys, [limit, MIN_ACCOUNTS, *weights])
        pairs = zip(flat[::2], flat[1::2], strict=True)
        return [(tag.decode(), int(float(accounts))) for tag, accounts in pairs]
