"""The statistics of a span of time: counts, delivery latency, rate limits, errors, active accounts."""

from typing import NamedTuple

from accounts.domain import Author
from socialsite.analytics.metrics import ACCOUNTS_BY_REQUESTS, DELIVERY_LATENCY, ERRORS, REFUSALS
from socialsite.analytics.stats import Latency
from socialsite.concurrency import run_together
from socialsite.container import Services
from socialsite.ids import AccountId
from socialsite.recipes.time_series import Point, RankedMetric

HOUR_MS = 3_600_000
SPAN_MS_BY_NAME = {"1h": HOUR_MS, "24h": 24 * HOUR_MS, "7d": 168 * HOUR_MS, "30d": 720 * HOUR_MS}
"""Name -> length of each span. A span is read in the finest rollup that a chart can show."""
ERROR_STATUSES = ("500", "502", "503", "504")
BUSIEST_ACCOUNTS_SHOWN = 10


class Activity(NamedTuple):
    """The statistics. `trends` has points by metric; `active` counts active accounts of today, 7 days and 30 days.

    `latency_points` has the start of each interval, and the latency from publishing to homes in it.
    """

    trends: dict[str, list[Point]]
    latency_points: list[tuple[int, Latency]]
    latency: Latency
    refusals: dict[str, int]
    errors: dict[str, int]
    active: tuple[int, int, int]
    busiest: list[tuple[Author, int]]


async def read_activity(services: Services, span_ms: int) -> Activity:
    """Read all statistics with a few pipelines to each node."""
    stats, now_ms = services.statistics.stats, services.clock.now_ms()
    span = (now_ms - span_ms, now_ms)
    bucket_series = [(DELIVERY_LATENCY.metric, member) for member in DELIVERY_LATENCY.bucket_names]
    trends, buckets, refusals, errors, active, busiest = await run_together(
        stats.trends(*span, now_ms=now_ms),
        stats.series.read_ranges(bucket_series, *span, now_ms=now_ms),
        stats.totals_by_member(REFUSALS, [*services.rules], *span, now_ms=now_ms),
        stats.totals_by_member(ERRORS, ERROR_STATUSES, *span, now_ms=now_ms),
        run_together(*(stats.count_active_accounts(days, now_ms=now_ms) for days in (1, 7, 30))),
        find_most_active(services, *span),
    )
    totals = [sum(point.count for point in bucket) for bucket in buckets]
    latency_points = [
        (points[0].at_ms, Latency.of_buckets([point.count for point in points]))
        for points in zip(*buckets, strict=True)
    ]
    day, week, month = active
    return Activity(trends, latency_points, Latency.of_buckets(totals), refusals, errors, (day, week, month), busiest)


async def find_most_active(
    services: Services, start_ms: int, now_ms: int, metric: RankedMetric = ACCOUNTS_BY_REQUESTS
) -> list[tuple[Author, int]]:
    """Return the accounts with the highest counts, without deleted accounts."""
    series = services.statistics.stats.series
    best = await series.read_top(metric, start_ms, now_ms, BUSIEST_ACCOUNTS_SHOWN, now_ms=now_ms)
    authors = await services.accounts.find_authors([AccountId(id) for id, _ in best])
    return [(authors[AccountId(id)], count) for id, count in best if AccountId(id) in authors]
