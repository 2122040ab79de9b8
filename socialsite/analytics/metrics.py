"""What the site counts, by name. Names are fixed words: they stand in keys."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from socialsite.recipes.series import DistinctMetric, Metric, RankedMetric

SIGNUPS = Metric("signups")
LOGINS = Metric("logins")
POSTS = Metric("posts", by_second=True)
DELIVERIES = Metric("deliveries", by_second=True)
"""Entries brought to home and list timelines."""
REQUESTS = Metric("requests", by_second=True)
"""Every answered request but probes and static files."""
PAGE_VIEWS = Metric("pages", by_second=True)
"""Page views: pages read with success."""
SOCKETS_OPENED = Metric("sockets")
"""Sockets opened."""
REFUSALS = Metric("refusals")
"""Requests and messages that a limit refused; member: the rule. ALL: all of them."""
ERRORS = Metric("errors")
"""Answers of 500 and above; member: the status. ALL: all of them."""

SITE_METRICS = (SIGNUPS, LOGINS, POSTS, DELIVERIES, REQUESTS, PAGE_VIEWS, SOCKETS_OPENED, REFUSALS, ERRORS)
"""Those whose member ALL is a figure of the whole site."""

ACTIVE_ACCOUNTS = DistinctMetric("active")
"""Accounts that asked for anything, by hour and day."""
ACCOUNTS_BY_REQUESTS = RankedMetric("busy")
"""Accounts by requests."""
ACCOUNTS_BY_POSTS = RankedMetric("posters")
"""Accounts by posts."""


@dataclass(frozen=True, slots=True)
class DurationHistogram:
    """Durations by bucket; a bucket's member is its upper bound in ms, inclusive, the last one's "more"."""

    metric: Metric
    bounds_ms: tuple[int, ...]

    @property
    def bucket_names(self) -> tuple[str, ...]:
        return (*map(str, self.bounds_ms), "more")

    def bucket_name(self, ms: float) -> str:
        return self.bucket_names[bisect_left(self.bounds_ms, ms)]

    def quantile(self, counts: Sequence[int], share: float) -> float | None:
        """The duration that `share` of all do not exceed, interpolated within its bucket; None of nothing.

        What lies in the last bucket is only known to be longer than its bound.
        """
        wanted, seen, low = share * sum(counts), 0, 0
        if not sum(counts):
            return None
        for count, high in zip(counts, self.bounds_ms, strict=False):
            if count and seen + count >= wanted:
                return low + (high - low) * (wanted - seen) / count
            seen, low = seen + count, high
        return float(self.bounds_ms[-1])


DELIVERY_LATENCY = DurationHistogram(
    Metric("latency", by_second=True),
    (5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000),
)
"""From a post's id to its entry in a home, counted for each home it reached."""
