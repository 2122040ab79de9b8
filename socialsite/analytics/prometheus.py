"""What this process tells Prometheus, by name; `/metrics` shows it (metrics_page.py, docs/guide/troubleshooting.md).

A leaf: it knows Prometheus's library and nothing of the site, so that every layer may count. A count costs a
microsecond or two. The statistics of the site itself (`/ops/`, `stats`) live in Redis (statistics/meter.py).
"""

import asyncio
import os
from bisect import bisect_left
from collections import Counter as Counts
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from socialsite.analytics import multiprocess as metrics_shared

metrics_shared.setup()

from prometheus_client import Counter, Gauge, Histogram  # noqa: E402  (joined first)

SAMPLE_INTERVAL_S = 1.0
PUBLISH_VIEW_NAME = "timelines:publish"
"""The view that takes a new post."""
ROUND_TRIPS_PER_BATCH = 200
"""Round trips of a node that wait to be counted, at most."""
MEMORY_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class BatchHistogram(Histogram):
    """A histogram that takes many values at once, with one addition for each bucket that they fall into.

    The library has no such thing: this writes its own fields, as `Histogram.observe` does.
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
    "From the request to the acknowledgement of a new post",
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20),
)
POST_TO_HOME_SECONDS = Histogram(
    "socialsite_post_to_home_seconds",
    "From a post's id to its entry in homes and lists, once a pass",
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300),
)
ROUND_TRIPS = BatchHistogram(
    "socialsite_redis_round_trip_seconds",
    "Answers of the Redis servers, as those who wait for them see it",
    ("node",),
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5),
)
REDIS_FAILURES = Counter("socialsite_redis_failures", "Round trips without an answer", ("node",))
LOOP_LAG = Histogram(
    "socialsite_loop_lag_seconds",
    "How much later than asked the event loop wakes somebody, looked at once a second",
    buckets=(0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5),
)
SIGNUPS = Counter("socialsite_signups", "Accounts made")
LOGINS = Counter("socialsite_logins", "Log-ins")
POSTS = Counter("socialsite_posts", "Posts published")
DELIVERIES = Counter("socialsite_deliveries", "Entries brought to home and list timelines")
REFUSALS = Counter("socialsite_refusals", "Requests and messages that a rate limit refused", ("rule",))
ERRORS = Counter("socialsite_errors", "Answers of 500 and above", ("status",))
SOCKETS_OPENED = Counter("socialsite_sockets_opened", "Websockets accepted")
SOCKETS = Gauge("socialsite_sockets", "Websockets open now", multiprocess_mode="livesum")
MEMORY = Gauge("socialsite_process_resident_bytes", "Memory of each process", multiprocess_mode="liveall")
OPEN_FILES = Gauge("socialsite_process_open_files", "Open files of each process", multiprocess_mode="liveall")

_pending_round_trips: dict[str, list[float]] = {}
"""Round trips that are not in the histogram yet, in seconds, by node."""
_request_histogram = cache(REQUESTS.labels)
_round_trip_histogram = cache(ROUND_TRIPS.labels)
_failure_counter = cache(REDIS_FAILURES.labels)
refusal_counter = cache(REFUSALS.labels)
error_counter = cache(ERRORS.labels)


def observe_request(view: str, status: int, seconds: float, *, signed_in: bool) -> None:
    _request_histogram(view, f"{status // 100}xx").observe(seconds)
    if view == PUBLISH_VIEW_NAME and status < 400 and signed_in:  # others are sent to log in, with a 303 as well
        PUBLISH_SECONDS.observe(seconds)


def observe_round_trip(node: str, seconds: float, has_answer: bool) -> None:
    """`came`: whether there was an answer. A page makes several: they are counted many at once."""
    if not has_answer:
        _failure_counter(node).inc()
        return
    waiting = _pending_round_trips.setdefault(node, [])
    waiting.append(seconds)
    if len(waiting) >= ROUND_TRIPS_PER_BATCH:
        flush_round_trips()


def flush_round_trips() -> None:
    """Bring what waits into the histogram: once a second, and before anybody looks at it."""
    for node, waiting in _pending_round_trips.items():
        _round_trip_histogram(node).observe_many(waiting)
        waiting.clear()


@contextmanager
def track_open_socket() -> Iterator[None]:
    SOCKETS_OPENED.inc()
    SOCKETS.inc()
    try:
        yield
    finally:
        SOCKETS.dec()


async def sample_forever() -> None:
    """For ever: what nobody calls us for. Whoever starts this task owns and cancels it."""
    loop = asyncio.get_running_loop()
    while True:
        asked = loop.time()
        await asyncio.sleep(SAMPLE_INTERVAL_S)
        LOOP_LAG.observe(max(0.0, loop.time() - asked - SAMPLE_INTERVAL_S))
        sample_process()
        flush_round_trips()


def sample_process(proc: Path = Path("/proc/self")) -> None:
    """Memory and files; where there is no /proc (macOS) they stay 0."""
    try:
        MEMORY.set(int((proc / "statm").read_text().split()[1]) * MEMORY_PAGE_BYTES)
        OPEN_FILES.set(len(os.listdir(proc / "fd")))
    except OSError:
        return
