"""The metrics of the site. Each has a time series in Redis, and some also have a Prometheus metric.

`Meter` counts both in one call. The names of the metrics are parts of Redis keys.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from prometheus_client import Counter, Histogram

from socialsite.analytics import prometheus
from socialsite.recipes.time_series import DistinctMetric, Metric, RankedMetric


@dataclass(frozen=True, slots=True, eq=False)
class SiteMetric(Metric):
    """A time series of the whole site, with the Prometheus counter of the same event.

    If the metric has members (rules or statuses), the member ALL_MEMBERS has the sum of all.
    """

    counter: Counter | None = None


SIGNUPS = SiteMetric("signups", counter=prometheus.SIGNUPS)
LOGINS = SiteMetric("logins", counter=prometheus.LOGINS)
POSTS = SiteMetric("posts", by_second=True, counter=prometheus.POSTS)
DELIVERIES = SiteMetric("deliveries", by_second=True, counter=prometheus.DELIVERIES)
"""Entries added to home and list timelines."""
REQUESTS = SiteMetric("requests", by_second=True)
"""Answered requests, without probes and static files. Prometheus counts them in the histogram of their durations."""
PAGE_VIEWS = SiteMetric("pages", by_second=True)
"""HTML pages with status 200."""
SOCKETS_OPENED = SiteMetric("sockets", counter=prometheus.SOCKETS_OPENED)
REFUSALS = SiteMetric("refusals", counter=prometheus.REFUSALS)
"""Requests and messages that a rate limit refused. The member is the rule."""
ERRORS = SiteMetric("errors", counter=prometheus.ERRORS)
"""Responses with a status of 500 or more. The member is the status."""

SITE_METRICS = (SIGNUPS, LOGINS, POSTS, DELIVERIES, REQUESTS, PAGE_VIEWS, SOCKETS_OPENED, REFUSALS, ERRORS)

ACTIVE_ACCOUNTS = DistinctMetric("active")
"""Accounts that sent a request, by hour and day."""
ACCOUNTS_BY_REQUESTS = RankedMetric("busy")
ACCOUNTS_BY_POSTS = RankedMetric("posters")


@dataclass(frozen=True, slots=True)
class DurationHistogram:
    """A histogram of durations. The member of a bucket is its inclusive upper bound in ms, or "more" for the last."""

    metric: Metric
    bounds_ms: tuple[int, ...]
    histogram: Histogram
    """The Prometheus histogram of the same durations, in seconds."""

    @property
    def bucket_names(self) -> tuple[str, ...]:
        return (*map(str, self.bounds_ms), "more")

    def bucket_name(self, ms: float) -> str:
        return self.bucket_names[bisect_left(self.bounds_ms, ms)]

    def quantile(self, counts: Sequence[int], share: float) -> float | None:
        """Return the duration in ms that a `share` of all durations do not exceed, or None without durations.

        The value is interpolated within its bucket. In the last bucket, which has no upper end, it is the lower end.
        """
        rank, counted, low = share * sum(counts), 0, 0
        if not sum(counts):
            return None
        for count, high in zip(counts, self.bounds_ms, strict=False):
            if count and counted + count >= rank:
                return low + (high - low) * (rank - counted) / count
            counted, low = counted + count, high
        return float(self.bounds_ms[-1])


DELIVERY_LATENCY = DurationHistogram(
    Metric("latency", by_second=True),
    (5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000),
    prometheus.POST_TO_HOME_SECONDS,
)
"""Time from a post's id to its entry in a home. Redis counts it for each home, Prometheus for each fan-out pass."""
