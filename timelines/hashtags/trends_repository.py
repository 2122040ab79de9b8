"""Counts the uses of hashtags by hour. An account counts only once a day for each hashtag."""

from collections.abc import Sequence
from typing import Final

from socialsite.ids import AccountId
from socialsite.recipes.distinct_ranking import DistinctRanking, RankingSpec
from socialsite.store import Store

HOURS: Final = 24
HISTORY_DAYS: Final = 7
"""The UTC days of a trend's history, as in Mastodon. The newest has just begun."""
HALF_LIFE_HOURS: Final = 4.0
"""A use that is four hours old counts half as much as a use now."""
HASHTAGS_PER_HOUR_CAP: Final = 200
USES_CAP: Final = 100_000
TRENDS = RankingSpec(
    "trends", 3_600, HOURS, HALF_LIFE_HOURS * 3_600, USES_CAP, HASHTAGS_PER_HOUR_CAP,
    earlier_intervals=HOURS * (HISTORY_DAYS - 1),
)  # fmt: skip


HOUR_MS: Final = 3_600_000


class Trends:
    def __init__(self, store: Store) -> None:
        self._ranking = DistinctRanking(store, TRENDS)

    async def count_uses(self, account_id: AccountId, tags: Sequence[str], at_ms: int) -> int:
        """Count the hashtags that the account did not use within a day, and return their number. May be repeated."""
        return await self._ranking.count(account_id, tags, at_ms)

    async def top(self, now_ms: int, limit: int) -> list[tuple[str, int]]:
        """Return the most used hashtags, each with the number of accounts that used it within a day."""
        return [(each.member, each.accounts) for each in await self._ranking.top(now_ms, limit)]

    async def by_hour(self, now_ms: int, tags: Sequence[str]) -> dict[str, tuple[int, ...]]:
        """Return the new accounts of each hashtag in each hour of HISTORY_DAYS days, the oldest first.

        The last is the hour that has just begun.
        """
        hours = HOURS * (HISTORY_DAYS - 1) + now_ms // HOUR_MS % HOURS + 1
        return await self._ranking.by_interval(now_ms, tags, hours)
