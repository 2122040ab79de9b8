"""Figures of the site for operators and pages, from its time series and its counters."""

from collections.abc import Sequence
from dataclasses import dataclass

from socialsite.analytics.metrics import ACTIVE, BUSY, LATENCY, SITE, Histogram
from socialsite.recipes.buffer import Entity
from socialsite.recipes.buffer_totals import Totals
from socialsite.recipes.rollups import Rollup
from socialsite.recipes.series import ALL, Kind, Point, RankedKind, Series
from socialsite.store import Store, StoreUnavailable

DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Latency:
    """From publishing to homes, in ms; None where nothing was delivered."""

    p50_ms: float | None
    p99_ms: float | None


@dataclass(frozen=True, slots=True)
class Visits:
    """What an entity's buffer and totals say. `seen_ms`: last time an account was here; 0: never."""

    views: int = 0
    clicks: int = 0
    seen_ms: int = 0


class Figures:
    """Answers questions about the site; each is one or two round trips a node."""

    def __init__(self, store: Store, totals: Totals) -> None:
        self.series = Series(store)
        self._totals = totals

    async def site(self, start_ms: int, end_ms: int, *, now_ms: int) -> dict[str, int]:
        """The sums of the whole site by kind, both ends inclusive."""
        asked = [(kind, ALL) for kind in SITE]
        sums = await self.series.totals(asked, start_ms, end_ms, now_ms=now_ms)
        return {kind.name: total for kind, total in zip(SITE, sums, strict=True)}

    async def trends(
        self, start_ms: int, end_ms: int, *, now_ms: int, rollup: Rollup | None = None
    ) -> dict[str, list[Point]]:
        """The whole site by kind over time."""
        asked = [(kind, ALL) for kind in SITE]
        found = await self.series.ranges(asked, start_ms, end_ms, now_ms=now_ms, rollup=rollup)
        return {kind.name: points for kind, points in zip(SITE, found, strict=True)}

    async def by_member(
        self, kind: Kind, members: Sequence[str], start_ms: int, end_ms: int, *, now_ms: int
    ) -> dict[str, int]:
        """Sums of some members of a kind: refusals by rule, errors by status."""
        asked = [(kind, member) for member in members]
        sums = await self.series.totals(asked, start_ms, end_ms, now_ms=now_ms)
        return {member: total for member, total in zip(members, sums, strict=True) if total}

    async def latency(self, start_ms: int, end_ms: int, *, now_ms: int, of: Histogram = LATENCY) -> Latency:
        asked = [(of.kind, member) for member in of.members]
        counts = await self.series.totals(asked, start_ms, end_ms, now_ms=now_ms)
        return Latency(of.quantile(counts, 0.5), of.quantile(counts, 0.99))

    async def active_accounts(self, days: int, *, now_ms: int) -> int:
        """How many accounts were here on the last `days` days of the calendar (UTC), today included."""
        today_ms = now_ms - now_ms % DAY_MS
        return await self.series.distinct(ACTIVE, today_ms - (days - 1) * DAY_MS, now_ms, now_ms=now_ms)

    async def most_active(
        self, start_ms: int, end_ms: int, limit: int, *, now_ms: int, kind: RankedKind = BUSY
    ) -> list[tuple[int, int]]:
        """(account id, requests) of the most active accounts, best first."""
        return await self.series.top(kind, start_ms, end_ms, limit, now_ms=now_ms)

    async def forget(self, entity: Entity) -> None:
        """The entity was deleted, its counters with it."""
        await self._totals.forget(entity)

    async def visits(self, entities: Sequence[Entity]) -> list[Visits]:
        """Views and last-seen times, also those not flushed yet."""
        found = await self._totals.read(entities)
        return [
            Visits(
                views=change.counts.get("views", 0),
                clicks=change.counts.get("clicks", 0),
                seen_ms=change.marks["seen"].at_ms if "seen" in change.marks else 0,
            )
            for change in found
        ]

    async def visits_if_known(self, entity: Entity) -> Visits | None:
        """For pages that have more to say: None while the counters are away."""
        try:
            (visits,) = await self.visits([entity])
        except StoreUnavailable:
            return None
        return visits
