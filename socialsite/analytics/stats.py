"""Statistics of the site for operators and pages, from its time series and view counters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from socialsite.analytics.meter import Meter
from socialsite.analytics.metrics import ACTIVE_ACCOUNTS, DELIVERY_LATENCY, POSTS, SIGNUPS, SITE_METRICS
from socialsite.clock import DAY_MS
from socialsite.ids import TimeSource
from socialsite.recipes.buffer import Buffers, BufferTotals, Entity, Flusher, TotalsKeyBuilder
from socialsite.recipes.periodic_tasks import PeriodicTask
from socialsite.recipes.time_series import ALL_MEMBERS, DAY, Metric, Point, TimeSeries
from socialsite.store import Store, StoreUnavailable

WEEK_MS = 7 * DAY_MS
EPOCH_WEEKDAY = 3
"""1 January 1970 was a Thursday, three days after a Monday."""


@dataclass(frozen=True, slots=True)
class Latency:
    """Percentiles of the time from publishing to the entry in a home. They are None if nothing was delivered."""

    p50_ms: float | None
    p99_ms: float | None

    @classmethod
    def of_buckets(cls, counts: Sequence[int]) -> Self:
        """Return the percentiles of the counts of the buckets of DELIVERY_LATENCY."""
        return cls(DELIVERY_LATENCY.quantile(counts, 0.5), DELIVERY_LATENCY.quantile(counts, 0.99))


@dataclass(frozen=True, slots=True)
class ViewCounts:
    """Counters of a post or account. `seen_ms` is the time of an account's last request, or 0 if there was none."""

    views: int = 0
    clicks: int = 0
    seen_ms: int = 0


@dataclass(frozen=True, slots=True)
class WeekOfActivity:
    """The counts of seven days from `start_ms`. `active` is the number of accounts that sent a request."""

    start_ms: int
    posts: int
    signups: int
    active: int


class Stats:
    """Reads the statistics. Each method takes one or two round trips to each node."""

    def __init__(self, store: Store, totals: BufferTotals) -> None:
        self.series = TimeSeries(store)
        self._totals = totals

    async def site_totals(self, start_ms: int, end_ms: int, *, now_ms: int) -> dict[str, int]:
        """Return the sum of each metric by name. Both ends of the period are inclusive."""
        queries = [(metric, ALL_MEMBERS) for metric in SITE_METRICS]
        sums = await self.series.read_totals(queries, start_ms, end_ms, now_ms=now_ms)
        return {metric.name: total for metric, total in zip(SITE_METRICS, sums, strict=True)}

    async def trends(self, start_ms: int, end_ms: int, *, now_ms: int) -> dict[str, list[Point]]:
        """Return the points over time of each metric by name."""
        queries = [(metric, ALL_MEMBERS) for metric in SITE_METRICS]
        ranges = await self.series.read_ranges(queries, start_ms, end_ms, now_ms=now_ms)
        return {metric.name: points for metric, points in zip(SITE_METRICS, ranges, strict=True)}

    async def totals_by_member(
        self, metric: Metric, members: Sequence[str], start_ms: int, end_ms: int, *, now_ms: int
    ) -> dict[str, int]:
        """Return the sum of each member that is not 0, such as refusals by rule or errors by status."""
        queries = [(metric, member) for member in members]
        sums = await self.series.read_totals(queries, start_ms, end_ms, now_ms=now_ms)
        return {member: total for member, total in zip(members, sums, strict=True) if total}

    async def latency(self, start_ms: int, end_ms: int, *, now_ms: int) -> Latency:
        queries = [(DELIVERY_LATENCY.metric, bucket) for bucket in DELIVERY_LATENCY.bucket_names]
        return Latency.of_buckets(await self.series.read_totals(queries, start_ms, end_ms, now_ms=now_ms))

    async def count_active_accounts(self, days: int, *, now_ms: int) -> int:
        """Return the number of accounts that sent a request on the last `days` calendar days (UTC), including today."""
        today_ms = now_ms - now_ms % DAY_MS
        return await self.series.count_distinct(ACTIVE_ACCOUNTS, today_ms - (days - 1) * DAY_MS, now_ms, now_ms=now_ms)

    async def weekly_activity(self, weeks: int, *, now_ms: int) -> list[WeekOfActivity]:
        """Return the activity of the last weeks (UTC, from Monday), the current week first."""
        monday_ms = now_ms - (now_ms + EPOCH_WEEKDAY * DAY_MS) % WEEK_MS
        activity = []
        for start_ms in range(monday_ms, monday_ms - weeks * WEEK_MS, -WEEK_MS):
            end_ms = min(start_ms + WEEK_MS - 1, now_ms)
            queries = [(metric, ALL_MEMBERS) for metric in (POSTS, SIGNUPS)]
            posts, signups = await self.series.read_totals(queries, start_ms, end_ms, now_ms=now_ms)
            active = await self.series.count_distinct(ACTIVE_ACCOUNTS, start_ms, end_ms, now_ms=now_ms)
            activity.append(WeekOfActivity(start_ms, posts, signups, active))
        return activity

    async def count_posts(self, *, now_ms: int) -> int:
        """Return the number of posts that were published in the last two years, also of those deleted since."""
        start_ms = now_ms - (DAY.kept_intervals - 1) * DAY_MS
        (count,) = await self.series.read_totals([(POSTS, ALL_MEMBERS)], start_ms, now_ms, now_ms=now_ms)
        return count

    async def delete_counters(self, entity: Entity) -> None:
        await self._totals.delete(entity)

    async def view_counts(self, entities: Sequence[Entity]) -> list[ViewCounts]:
        """Return the counters of each entity, including counts in the buffer."""
        changes = await self._totals.read(entities)
        return [
            ViewCounts(
                views=change.counts.get("views", 0),
                clicks=change.counts.get("clicks", 0),
                seen_ms=change.values["seen"].at_ms if "seen" in change.values else 0,
            )
            for change in changes
        ]

    async def view_counts_if_available(self, entity: Entity) -> ViewCounts | None:
        """Return the counters, or None while the store is unavailable. The page is then shown without them."""
        try:
            (counts,) = await self.view_counts([entity])
        except StoreUnavailable:
            return None
        return counts


BUFFER_FLUSH_INTERVAL_S = 10.0


@dataclass(frozen=True, slots=True)
class Statistics:
    """The parts of the statistics: `meter` counts, `flusher` adds buffered counts to totals, `stats` reads."""

    meter: Meter
    stats: Stats
    buffers: Buffers
    flusher: Flusher
    clock: TimeSource

    @classmethod
    def create(cls, store: Store, clock: TimeSource, totals_keys: Mapping[str, TotalsKeyBuilder]) -> Self:
        totals = BufferTotals(store, totals_keys)
        return cls(
            meter=Meter(store, clock),
            stats=Stats(store, totals),
            buffers=Buffers(store),
            flusher=Flusher(store, totals.apply),
            clock=clock,
        )

    @property
    def periodic_tasks(self) -> tuple[PeriodicTask, ...]:
        return (PeriodicTask("flush", BUFFER_FLUSH_INTERVAL_S, self._flush),)

    async def _flush(self) -> None:
        flushed = await self.flusher.flush(self.clock.now_ms())
        if flushed.error is not None:
            raise flushed.error
