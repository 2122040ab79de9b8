"""The Prometheus metrics of this process, which `/metrics` exports (socialsite/web/metrics_page.py).

This module depends on no other layer, so every layer may use it. One count takes 1 to 2 us. `Meter` (meter.py) counts
the events that the site's own statistics contain as well.
"""

import asyncio
import os
from bisect import bisect_left
from collections import Counter as Counts
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from socialsite.analytics import multiprocess

multiprocess.setup()  # must run before the first import of prometheus_client

from prometheus_client import Counter, Gauge, Histogram  # noqa: E402

SAMPLE_INTERVAL_S = 1.0
PUBLISH_VIEW_NAME = "timelines:publish"
"""The name of the view that publishes posts."""
ROUND_TRIPS_PER_BATCH = 200
"""Number of pending round trips of a node at which they are added to the histogram."""
MEMORY_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class BatchHistogram(Histogram):
    """A histogram that observes a batch of values with one addition for each bucket.

    prometheus_client has no such method. `observe_many` changes the same private fields as `Histogram.observe`.
    """

    def observe_many(self, values: Iterable[float]) -> None:
        values = list(values)
        bounds = self._upper_bounds
        for position, count in Counts(bisect_left(bounds, value) for value in values).items():
            self._buckets[position].inc(count)
        self._sum.inc(sum(values))


REQUESTS = Histogram(
    "socialsite_request_seconds",
    "Requests by the name of their view and the class of their status",
    ("view", "status"),
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20),
)
PUBLISH_SECONDS = Histogram(
    "socialsite_publish_seconds",
    "Time from the request to the acknowledgement of a new post",
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20),
)
POST_TO_HOME_SECONDS = Histogram(
    "socialsite_post_to_home_seconds",
    "Time from a post's id to its entries in homes and lists, once for each pass",
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300),
)
ROUND_TRIPS = BatchHistogram(
    "socialsite_redis_round_trip_seconds",
    "Round trips to the Redis servers, as callers measure them",
    ("node",),
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5),
)
REDIS_FAILURES = Counter("socialsite_redis_failures", "Round trips without a reply", ("node",))
LOOP_LAG = Histogram(
    "socialsite_loop_lag_seconds",
    "Delay of a timer of the event loop, measured once a second",
    buckets=(0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5),
)
SIGNUPS = Counter("socialsite_signups", "Accounts created")
LOGINS = Counter("socialsite_logins", "Log-ins")
POSTS = Counter("socialsite_posts", "Posts published")
DELIVERIES = Counter("socialsite_deliveries", "Entries added to home and list timelines")
REFUSALS = Counter("socialsite_refusals", "Requests and messages that a rate limit refused", ("rule",))
ERRORS = Counter("socialsite_errors", "Responses with a status of 500 or more", ("status",))
SOCKETS_OPENED = Counter("socialsite_sockets_opened", "Websockets accepted")
SOCKETS = Gauge("socialsite_sockets", "Websockets open now", multiprocess_mode="livesum")
ALERTS = Gauge("socialsite_alert", "1 while an alert lasts, by name", ("name",), multiprocess_mode="mostrecent")
MEMORY = Gauge("socialsite_process_resident_bytes", "Memory of each process", multiprocess_mode="liveall")
OPEN_FILES = Gauge("socialsite_process_open_files", "Open files of each process", multiprocess_mode="liveall")

_pending_round_trips: dict[str, list[float]] = {}
"""Node -> durations in seconds that are not in the histogram yet."""
_request_histogram = cache(REQUESTS.labels)
_round_trip_histogram = cache(ROUND_TRIPS.labels)
_failure_counter = cache(REDIS_FAILURES.labels)
_labelled_counter = cache(Counter.labels)


def count(counter: Counter, label: str | None, amount: int = 1) -> None:
    """Increase a counter. `label` is the value of its only label, or None if it has no label."""
    (counter if label is None else _labelled_counter(counter, label)).inc(amount)


def observe_request(view: str, status: int, seconds: float, *, signed_in: bool) -> None:
    _request_histogram(view, f"{status // 100}xx").observe(seconds)
    # Visitors are redirected to the log-in page, also with 303.
    if view == PUBLISH_VIEW_NAME and status < 400 and signed_in:
        PUBLISH_SECONDS.observe(seconds)


def observe_round_trip(node: str, seconds: float, has_answer: bool) -> None:
    """Record a round trip to a Redis node, or a failure. Durations are added to the histogram in batches."""
    if not has_answer:
        _failure_counter(node).inc()
        return
    durations = _pending_round_trips.setdefault(node, [])
    durations.append(seconds)
    if len(durations) >= ROUND_TRIPS_PER_BATCH:
        flush_round_trips()


def flush_round_trips() -> None:
    """Add pending durations to the histogram. It is called once a second and before an export."""
    for node, durations in _pending_round_trips.items():
        _round_trip_histogram(node).observe_many(durations)
        durations.clear()


async def sample_forever() -> None:
    """Sample the event loop, memory and files every SAMPLE_INTERVAL_S until cancelled."""
    loop = asyncio.get_running_loop()
    while True:
        started = loop.time()
        await asyncio.sleep(SAMPLE_INTERVAL_S)
        LOOP_LAG.observe(max(0.0, loop.time() - started - SAMPLE_INTERVAL_S))
        await asyncio.to_thread(sample_process)  # listing thousands of open files takes milliseconds
        flush_round_trips()


def sample_process(proc: Path = Path("/proc/self")) -> None:
    """Set the gauges of memory and open files. Without /proc (macOS) they stay 0."""
    try:
        MEMORY.set(int((proc / "statm").read_text().split()[1]) * MEMORY_PAGE_BYTES)
        OPEN_FILES.set(len(os.listdir(proc / "fd")))
    except OSError:
        return
