"""Intervals of time series: how long they are, how long they are kept, and which of them suit a question.

Pure arithmetic. Times are Unix ms; an interval is named by its first second.
"""

from collections.abc import Sequence
from dataclasses import dataclass

MAX_CHART_POINTS = 200
"""A chart shows no more; the finest rollup with at most so many points answers a span."""


@dataclass(frozen=True, slots=True)
class Rollup:
    """Intervals of `seconds`; the last `kept` of them are there."""

    seconds: int
    kept_intervals: int

    def interval_start(self, at_ms: int) -> int:
        """The first second of the interval that holds `at_ms`."""
        second = at_ms // 1000
        return second - second % self.seconds

    def expires_at(self, interval: int) -> int:
        """Unix seconds. Counted from the interval, not from the write: late writes keep nothing alive."""
        return interval + self.seconds * (self.kept_intervals + 1)

    def intervals(self, start_ms: int, end_ms: int) -> range:
        """Those that hold any of `start_ms` to `end_ms`, both inclusive; empty where the start is later."""
        if start_ms > end_ms:
            return range(0)
        return range(self.interval_start(start_ms), self.interval_start(end_ms) + 1, self.seconds)

    def covers(self, start_ms: int, now_ms: int) -> bool:
        """Whether the interval of `start_ms` is still kept."""
        return self.interval_start(start_ms) >= self.interval_start(now_ms) - self.seconds * self.kept_intervals


SECOND = Rollup(1, 900)  # 15 minutes
MINUTE = Rollup(60, 2 * 1440)  # two days
HOUR = Rollup(3600, 60 * 24)  # 60 days
DAY = Rollup(86_400, 730)  # two years
LONG_TERM_ROLLUPS = (MINUTE, HOUR, DAY)


def best_rollup(rollups: Sequence[Rollup], start_ms: int, end_ms: int, now_ms: int) -> Rollup:
    """The finest one that still has the start and needs at most MAX_CHART_POINTS points; else the coarsest.

    `rollups` go from fine to coarse.
    """
    for rollup in rollups:
        fits = len(rollup.intervals(start_ms, end_ms)) <= MAX_CHART_POINTS
        if fits and rollup.covers(start_ms, now_ms):
            return rollup
    return rollups[-1]


RollupInterval = tuple[Rollup, int]
"""One interval of a rollup."""


def split_span(rollups: Sequence[Rollup], start_ms: int, end_ms: int, now_ms: int) -> list[RollupInterval]:
    """Intervals for a sum: each moment of the span once, and little beside it.

    The best rollup within, the next finer one at an end that lies inside an interval, where it is still kept:
    "the last four hours" are not five. What has not come yet needs no cutting.
    """
    best = best_rollup(rollups, start_ms, end_ms, now_ms)
    whole = best.intervals(start_ms, end_ms)
    finer = rollups[at - 1] if (at := rollups.index(best)) else None
    found: list[RollupInterval] = []
    for interval in whole:
        first_ms, last_ms = interval * 1000, (interval + best.seconds) * 1000 - 1
        is_cut = first_ms < start_ms or end_ms < min(last_ms, now_ms)
        inside = max(first_ms, start_ms), min(last_ms, end_ms)
        if is_cut and finer is not None and finer.covers(inside[0], now_ms):
            found += [(finer, each) for each in finer.intervals(*inside)]
        else:
            found.append((best, interval))
    return found
