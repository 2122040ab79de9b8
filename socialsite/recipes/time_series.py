"""Time series: counters by metric, member and interval, stored for a limited time, as in Sentry's `sentry.tsdb`.

    series:{s17}:posts:60:1763650440    HASH   member -> count      metric : seconds of the interval : first second
    series:{active}:distinct:86400:…    HyperLogLog of members      (one tag per metric: one node unites intervals)
    series:{posters}:ranked:3600:…      ZSET   member -> score      (the same)

Members of an interval are stored in one hash per virtual shard; the shard is crc32 of the member, modulo 64. So all
members of a hash share one TTL and a compact encoding, and a metric with many members spreads over all nodes. A hash
has at most MAX_MEMBERS members; further members are counted as "other". A query reads at most MAX_POINTS points.
Each metric is stored in several rollups. Recording is one script per hash, which also sets its expiry.
Times are Unix ms; an interval is identified by its first second.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from zlib import crc32

from socialsite.batches import batches
from socialsite.store import Command, Key, Repository, load_script
from socialsite.store.key_families import DERIVED, key_family

MAX_CHART_POINTS = 200
"""The maximum number of points in a chart. A query uses the finest rollup that does not need more points."""
SHARD_COUNT = 64
MAX_MEMBERS = 1_000  # members of a hash
MAX_RANKED_MEMBERS = 500  # members of a ranking after a trim; it has up to twice as many before
MAX_POINTS = 20_000  # points of a query
MAX_UNITED_INTERVALS = 120  # intervals that one distinct count or ranking combines
MAX_SCRIPT_MEMBERS = 1_000  # Lua's unpack accepts a few thousand arguments
ALL_MEMBERS = "all"
"""The only member of a metric that does not distinguish members."""

COUNT, DISTINCT, DISTINCT_COUNT, RANK, TOP = (
    load_script(f"time_series_{name}.lua", __package__)
    for name in ("count", "distinct", "distinct_count", "rank", "top")
)


# Rollups


@dataclass(frozen=True, slots=True)
class Rollup:
    """Intervals of `seconds`, of which the last `kept_intervals` are stored."""

    seconds: int
    kept_intervals: int

    def interval_start(self, at_ms: int) -> int:
        """Return the first second of the interval that contains `at_ms`."""
        second = at_ms // 1000
        return second - second % self.seconds

    def expires_at(self, interval: int) -> int:
        """Return the expiry of an interval in Unix seconds. A late write does not extend it."""
        return interval + self.seconds * (self.kept_intervals + 1)

    def intervals(self, start_ms: int, end_ms: int) -> range:
        """Return the intervals from `start_ms` to `end_ms`, both inclusive. It is empty if the start is later."""
        if start_ms > end_ms:
            return range(0)
        return range(self.interval_start(start_ms), self.interval_start(end_ms) + 1, self.seconds)

    def covers(self, start_ms: int, now_ms: int) -> bool:
        """Return whether the interval of `start_ms` is still stored."""
        return self.interval_start(start_ms) >= self.interval_start(now_ms) - self.seconds * self.kept_intervals


SECOND = Rollup(1, 900)  # 15 minutes
MINUTE = Rollup(60, 2 * 1440)  # two days
HOUR = Rollup(3600, 60 * 24)  # 60 days
DAY = Rollup(86_400, 730)  # two years
LONG_TERM_ROLLUPS = (MINUTE, HOUR, DAY)

RollupInterval = tuple[Rollup, int]
"""A rollup and the first second of one of its intervals."""


def best_rollup(
    rollups: Sequence[Rollup], start_ms: int, end_ms: int, now_ms: int, max_points: int = MAX_CHART_POINTS
) -> Rollup:
    """Return the finest rollup that still stores the start and needs at most `max_points`; else the coarsest.

    `rollups` are sorted from fine to coarse.
    """
    for rollup in rollups:
        if rollup.covers(start_ms, now_ms) and len(rollup.intervals(start_ms, end_ms)) <= max_points:
            return rollup
    return rollups[-1]


def split_span(rollups: Sequence[Rollup], start_ms: int, end_ms: int, now_ms: int) -> list[RollupInterval]:
    """Return intervals that cover the span without overlap.

    They belong to the best rollup. An interval that is only partly inside the span is replaced by intervals of the
    next finer rollup if they are still stored, so that "the last four hours" does not become five. An end in the
    future does not split an interval.
    """
    best = best_rollup(rollups, start_ms, end_ms, now_ms)
    finer = rollups[index - 1] if (index := rollups.index(best)) else None
    pieces: list[RollupInterval] = []
    for interval in best.intervals(start_ms, end_ms):
        first_ms, last_ms = interval * 1000, (interval + best.seconds) * 1000 - 1
        is_partial = first_ms < start_ms or end_ms < min(last_ms, now_ms)
        inside = max(first_ms, start_ms), min(last_ms, end_ms)
        if is_partial and finer is not None and finer.covers(inside[0], now_ms):
            pieces += [(finer, start) for start in finer.intervals(*inside)]
        else:
            pieces.append((best, interval))
    return pieces


# Metrics


@dataclass(frozen=True, slots=True, eq=False)  # metrics are constants, so fast hashing by identity is enough
class Metric:
    """A counted event. `name` is a fixed word. `by_second` adds a rollup that stores 15 minutes by second."""

    name: str
    by_second: bool = False

    @property
    def rollups(self) -> tuple[Rollup, ...]:
        """The rollups from fine to coarse."""
        return (SECOND, *LONG_TERM_ROLLUPS) if self.by_second else LONG_TERM_ROLLUPS


@dataclass(frozen=True, slots=True, eq=False)
class DistinctMetric:
    """A metric that counts distinct members by hour and day."""

    name: str
    rollups: tuple[Rollup, ...] = (Rollup(3600, 72), Rollup(86_400, 120))


@dataclass(frozen=True, slots=True, eq=False)
class RankedMetric:
    """A metric that stores its most active members by minute, hour and day."""

    name: str
    rollups: tuple[Rollup, ...] = (Rollup(60, 120), Rollup(3600, 72), Rollup(86_400, 60))


class MetricEvent(NamedTuple):
    """A metric, one of its members, and the second in which events happened."""

    metric: Metric
    member: str
    second: int


@dataclass(frozen=True, slots=True)
class Point:
    """The first ms of an interval and its count."""

    at_ms: int
    count: int


class TooManyPoints(ValueError):
    """The query would read more than MAX_POINTS points. Use a shorter span or a coarser rollup."""


_interval_key: Callable[[int, str, int, int], Key] = key_family("series:{s<n>}:<kind>:<seconds>:<at>", "hash",
    "counts of an interval by member, of virtual shard n (0 to 63)", role=DERIVED,
    cap="MEMBERS_CAP, further ones as `other`",
    lifetime="its rollup's: 15 min, 2 days, 60 days or 2 years")  # fmt: skip
_distinct_key: Callable[[str, int, int], Key] = key_family("series:{<kind>}:distinct:<seconds>:<at>", "string",
    "HyperLogLog of the accounts seen in an interval", role=DERIVED, cap="12 kB",
    lifetime="3 days of hours, 120 days")  # fmt: skip
_ranked_key: Callable[[str, int, int], Key] = key_family("series:{<kind>}:ranked:<seconds>:<at>", "zset",
    "most active accounts of an interval; of kind `trends` hashtags by the accounts that used them, of kind `popular`"
    " posts by the accounts that reacted", role=DERIVED,
    cap="twice MAX_RANKED_MEMBERS; `trends` twice HASHTAGS_PER_HOUR_CAP, `popular` twice POSTS_PER_INTERVAL_CAP",
    lifetime="2 hours of minutes, 3 days of hours, 60 days; `trends` 7 days, `popular` 54 h")  # fmt: skip


def interval_key(metric: Metric, rollup: Rollup, interval: int, member: str) -> Key:
    return _interval_key(crc32(member.encode()) % SHARD_COUNT, metric.name, rollup.seconds, interval)


def distinct_key(metric: DistinctMetric, rollup: Rollup, interval: int) -> Key:
    return _distinct_key(metric.name, rollup.seconds, interval)


def ranked_key(metric: RankedMetric, rollup: Rollup, interval: int) -> Key:
    return _ranked_key(metric.name, rollup.seconds, interval)


# Commands for the caller's pipeline


def count_commands(amounts: Mapping[MetricEvent, int]) -> list[Command]:
    """Return the commands that add the amounts: one script per hash."""
    hashes: dict[Key, list[str | int]] = {}
    for (metric, member, second), amount in amounts.items():
        for rollup in metric.rollups:
            interval = rollup.interval_start(second * 1000)
            key = interval_key(metric, rollup, interval, member)
            hashes.setdefault(key, [rollup.expires_at(interval), MAX_MEMBERS]).extend((member, amount))
    return [COUNT.command([key], args) for key, args in hashes.items()]


def distinct_commands(metric: DistinctMetric, members: Iterable[int], now_ms: int) -> list[Command]:
    members = list(members)
    return [
        DISTINCT.command([distinct_key(metric, rollup, interval)], [rollup.expires_at(interval), *chunk])
        for rollup in metric.rollups
        for interval in [rollup.interval_start(now_ms)]
        for chunk in batches(members, MAX_SCRIPT_MEMBERS)
    ]


def rank_commands(metric: RankedMetric, scores: Mapping[int, int], now_ms: int) -> list[Command]:
    pairs = list(scores.items())
    return [
        RANK.command(
            [ranked_key(metric, rollup, interval)], [rollup.expires_at(interval), MAX_RANKED_MEMBERS, *_flat(chunk)]
        )
        for rollup in metric.rollups
        for interval in [rollup.interval_start(now_ms)]
        for chunk in batches(pairs, MAX_SCRIPT_MEMBERS)
    ]


class TimeSeries(Repository):
    """Queries of time series. Each query takes one round trip per node."""

    async def read_ranges(
        self,
        series: Sequence[tuple[Metric, str]],
        start_ms: int,
        end_ms: int,
        *,
        now_ms: int,
        rollup: Rollup | None = None,
    ) -> list[list[Point]]:
        """Return the points of each (metric, member) from `start_ms` to `end_ms`, both inclusive, oldest first.

        An empty interval is a point with count 0. Without `rollup`, the best one is chosen. Raises TooManyPoints.
        """
        rollups = [rollup or best_rollup(metric.rollups, start_ms, end_ms, now_ms) for metric, _ in series]
        ranges = [each.intervals(start_ms, end_ms) for each in rollups]
        _require_max_points(sum(map(len, ranges)))  # before any list of that length is built
        spans = [[(each, start) for start in starts] for each, starts in zip(rollups, ranges, strict=True)]
        counts = iter(await self._read_counts(series, spans))
        return [[Point(start * 1000, next(counts)) for _, start in span] for span in spans]

    async def read_totals(
        self, series: Sequence[tuple[Metric, str]], start_ms: int, end_ms: int, *, now_ms: int
    ) -> list[int]:
        """Return the sum of each (metric, member) from `start_ms` to `end_ms`, both inclusive (see `split_span`)."""
        spans = [split_span(metric.rollups, start_ms, end_ms, now_ms) for metric, _ in series]
        counts = iter(await self._read_counts(series, spans))
        return [sum(next(counts) for _ in span) for span in spans]

    async def _read_counts(
        self, series: Sequence[tuple[Metric, str]], spans: Sequence[Sequence[RollupInterval]]
    ) -> list[int]:
        """Return the counts of all intervals of all spans, in one round trip per node. Raises TooManyPoints."""
        _require_max_points(sum(map(len, spans)))
        commands = [
            ("HGET", interval_key(metric, rollup, start, member), member)
            for (metric, member), span in zip(series, spans, strict=True)
            for rollup, start in span
        ]
        return [int(reply or 0) for reply in await self._series.execute_all(commands)]

    async def count_distinct(self, metric: DistinctMetric, start_ms: int, end_ms: int, *, now_ms: int) -> int:
        """Estimate the number of distinct members in the span. Use days if the span has too many hours."""
        rollup = best_rollup(metric.rollups, start_ms, end_ms, now_ms, MAX_UNITED_INTERVALS)
        keys = [distinct_key(metric, rollup, at) for at in rollup.intervals(start_ms, end_ms)[-MAX_UNITED_INTERVALS:]]
        return int(await self._series[keys[0]].execute(*DISTINCT_COUNT.command(keys))) if keys else 0

    async def read_top(
        self, metric: RankedMetric, start_ms: int, end_ms: int, limit: int, *, now_ms: int
    ) -> list[tuple[int, int]]:
        """Return the `limit` members with the highest scores in the span, as (member, score), highest first."""
        rollup = best_rollup(metric.rollups, start_ms, end_ms, now_ms, MAX_UNITED_INTERVALS)
        keys = [ranked_key(metric, rollup, at) for at in rollup.intervals(start_ms, end_ms)[-MAX_UNITED_INTERVALS:]]
        reply = await self._series[keys[0]].execute(*TOP.command(keys, [limit])) if keys else []
        return [(int(member), int(float(score))) for member, score in zip(reply[::2], reply[1::2], strict=True)]


def _require_max_points(points: int) -> None:
    if points > MAX_POINTS:
        raise TooManyPoints(f"{points} points; at most {MAX_POINTS}")


def _flat(pairs: Iterable[tuple[int, int]]) -> list[int]:
    return [part for pair in pairs for part in pair]
