"""Figures of the site for operators and pages, from its time series and its counters."""

from collections.abc import Sequence
from dataclasses import dataclass

from socialsite.analytics.metrics import (
    ACCOUNTS_BY_REQUESTS,
    ACTIVE_ACCOUNTS,
    DELIVERY_LATENCY,
    SITE_METRICS,
    DurationHistogram,
)
from socialsite.recipes.buffer import Entity
from socialsite.recipes.buffer_totals import BufferTotals
from socialsite.recipes.rollups import Rollup
from socialsite.recipes.series import ALL_MEMBERS, Metric, Point, RankedMetric, TimeSeries
from socialsite.store import Store, StoreUnavailable

DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Latency:
    """From publishing to homes, in ms; None where nothing was delivered."""

    p50_ms: float | None
    p99_ms: float | None


@dataclass(frozen=True, slots=True)
class ViewCounts:
    """What an entity's buffer and totals say. `seen_ms`: last time an account was here; 0: never."""

    views: int = 0
    clicks: int = 0
    seen_ms: int = 0


class Stats:
    """Answers questions about the site; each is one or two round trips a node."""

    def __init__(self, store: Store, totals: BufferTotals) -> None:
        self.series = TimeSeries(store)
        self._totals = totals

    async def site_totals(self, start_ms: int, end_ms: int, *, now_ms: int) -> dict[str, int]:
        """The sums of the whole site by kind, both ends inclusive."""
        asked = [(kind, ALL_MEMBERS) for kind in SITE_METRICS]
        sums = await self.series.read_totals(asked, start_ms, end_ms, now_ms=now_ms)
        return {kind.name: total for kind, total in zip(SITE_METRICS, sums, strict=True)}

    async def trends(
        self, start_ms: int, end_ms: int, *, now_ms: int, rollup: Rollup | None = None
    ) -> dict[str, list[Point]]:
        """The whole site by kind over time."""
        asked = [(kind, ALL_MEMBERS) for kind in SITE_METRICS]
        found = await self.series.read_ranges(asked, start_ms, end_ms, now_ms=now_ms, rollup=rollup)
        return {kind.name: points for kind, points in zip(SITE_METRICS, found, strict=True)}

    async def totals_by_member(
        self, kind: Metric, members: Sequence[str], start_ms: int, end_ms: int, *, now_ms: int
    ) -> dict[str, int]:
        """Sums of some members of a kind: refusals by rule, errors by status."""
        asked = [(kind, member) for member in members]
        sums = await self.series.read_totals(asked, start_ms, end_ms, now_ms=now_ms)
        return {member: total for member, total in zip(members, sums, strict=True) if total}

    async def latency(
        self, start_ms: int, end_ms: int, *, now_ms: int, histogram: DurationHistogram = DELIVERY_LATENCY
    ) -> Latency:
        asked = [(histogram.metric, member) for member in histogram.bucket_names]
        counts = await self.series.read_totals(asked, start_ms, end_ms, now_ms=now_ms)
        return Latency(histogram.quantile(counts, 0.5), histogram.quantile(counts, 0.99))

    async def count_active_accounts(self, days: int, *, now_ms: int) -> int:
        """How many accounts were here on the last `days` days of the calendar (UTC), today included."""
        today_ms = now_ms - now_ms % DAY_MS
        return await self.series.count_distinct(ACTIVE_ACCOUNTS, today_ms - (days - 1) * DAY_MS, now_ms, now_ms=now_ms)

    async def most_active(
        self,
        start_ms: int,
        end_ms: int,
        limit: int,
        *,
        now_ms: int,
        kind: RankedMetric = ACCOUNTS_BY_REQUESTS,
    ) -> list[tuple[int, int]]:
        """(account id, requests) of the most active accounts, best first."""
        return await self.series.read_top(kind, start_ms, end_ms, limit, now_ms=now_ms)

    async def delete_counters(self, entity: Entity) -> None:
        """The entity was deleted, its counters with it."""
        await self._totals.delete(entity)

    async def view_counts(self, entities: Sequence[Entity]) -> list[ViewCounts]:
        """Views and last-seen times, also those not flushed yet."""
        found = await self._totals.read(entities)
        return [
            ViewCounts(
                views=change.counts.get("views", 0),
                clicks=change.counts.get("clicks", 0),
                seen_ms=change.values["seen"].at_ms if "seen" in change.values else 0,
            )
            for change in found
        ]

    async def view_counts_if_available(self, entity: Entity) -> ViewCounts | None:
        """For pages that have more to say: None while the counters are away."""
        try:
            (visits,) = await self.view_counts([entity])
        except StoreUnavailable:
            return None
        return visits
