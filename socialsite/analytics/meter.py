"""The meter of one process, which counts events in memory and writes the counts to Redis once a second.

Counting costs a few microseconds and no round trip. One call counts both in the site's time series and in
Prometheus. A process that exits normally writes its last counts; a killed process (SIGKILL) loses its last second.
While a node is unavailable, up to MAX_PENDING counts stay pending. If the reply to a write is lost, its counts are
dropped, so that no event is counted twice.
"""

import asyncio
import logging
from collections import defaultdict
from typing import TypeVar

from socialsite.analytics import metrics, prometheus
from socialsite.batches import batches
from socialsite.ids import TimeSource
from socialsite.recipes import time_series
from socialsite.recipes.buffer import Change, Entity, TimestampedValue, add_command
from socialsite.recipes.partial import group_by_node
from socialsite.store import Command, Node, Store, StoreError
from socialsite.store.commands import routing_key

FLUSH_INTERVAL_S = 1.0
MAX_PENDING = 20_000  # entries of each table in memory, and commands for an unavailable node
COMMANDS_PER_WRITE = 200
"""Maximum commands in one pipeline. It takes about 1 ms, and other tasks can run after it."""
MINUTE_MS = 60_000
LAST_SEEN_INTERVAL_MS = 5 * MINUTE_MS
"""An account's last-seen time is written at most once in each interval of the clock, not for each request.

Each write takes four scripts until it is in the totals. Intervals end at midnight.
"""

K = TypeVar("K")
log = logging.getLogger(__name__)


class Meter:
    """Counts the events of this process. Only `flush` and `close` access the store."""

    def __init__(self, store: Store, clock: TimeSource) -> None:
        self._store = store
        self._clock = clock
        self._events: dict[time_series.MetricEvent, int] = {}
        # The keys include the time, so that events before midnight count for their day if they are written after it.
        self._distinct_accounts: dict[tuple[time_series.DistinctMetric, int], set[int]] = defaultdict(set)
        self._scores: dict[tuple[time_series.RankedMetric, int], dict[int, int]] = defaultdict(dict)
        self._changes: dict[Entity, Change] = {}
        self._seen_since_ms: dict[int, int] = {}  # account id -> start of the interval
        self._pending_commands: list[Command] = []
        self._flush_task: asyncio.Task[None] | None = None
        self.dropped = 0
        """Number of lost counts: more than MAX_PENDING were pending, or a node failed during a write."""

    # Events

    def count(self, metric: metrics.SiteMetric, member: str | None = None, amount: int = 1) -> None:
        """Count an event of the site. `member` is the rule or status, if the metric has members."""
        self._count_series(metric, time_series.ALL_MEMBERS, amount)
        if member is not None:
            self._count_series(metric, member, amount)
        if metric.counter is not None:
            prometheus.count(metric.counter, member, amount)

    def count_post(self, author_id: int) -> None:
        self.count(metrics.POSTS)
        self._count_ranked(metrics.ACCOUNTS_BY_POSTS, author_id)

    def count_deliveries(self, entries: int, latency_ms: int) -> None:
        """Count `entries` that were added to timelines `latency_ms` after the post's id was made."""
        if entries:
            self.count(metrics.DELIVERIES, amount=entries)
            self._count_series(
                metrics.DELIVERY_LATENCY.metric, metrics.DELIVERY_LATENCY.bucket_name(latency_ms), entries
            )
            metrics.DELIVERY_LATENCY.histogram.observe(latency_ms / 1000)

    def count_response(self, status: int, *, is_page: bool, account_id: int | None) -> None:
        """Count an answered request. `is_page` means that an HTML page was requested by GET."""
        self.count(metrics.REQUESTS)
        if is_page and status == 200:
            self.count(metrics.PAGE_VIEWS)
        if status >= 500:
            self.count(metrics.ERRORS, str(status))
        if account_id is not None:
            self._count_ranked(metrics.ACCOUNTS_BY_REQUESTS, account_id)
            self._mark_seen(account_id)

    def count_view(self, entity: Entity) -> None:
        """Count a view of a post's page or of an account's profile."""
        self._get_change(entity).add_count("views")

    def count_click(self, entity: Entity) -> None:
        """Count a click on a link of a post."""
        self._get_change(entity).add_count("clicks")

    # Tables in memory

    def _count_series(self, metric: time_series.Metric, member: str, amount: int) -> None:
        event = time_series.MetricEvent(metric, member, self._clock.now_ms() // 1000)
        if event in self._events:
            self._events[event] += amount
        elif self._has_room(self._events):
            self._events[event] = amount

    def _count_ranked(self, metric: time_series.RankedMetric, account_id: int) -> None:
        scores = self._scores[metric, self._clock.now_ms() // MINUTE_MS]
        if account_id in scores or self._has_room(scores):
            scores[account_id] = scores.get(account_id, 0) + 1

    def _mark_seen(self, account_id: int) -> None:
        now_ms = self._clock.now_ms()
        since_ms = now_ms - now_ms % LAST_SEEN_INTERVAL_MS
        if self._seen_since_ms.get(account_id) == since_ms:
            return
        if len(self._seen_since_ms) >= MAX_PENDING:
            self._seen_since_ms.clear()  # costs at most one extra write for each account
        self._seen_since_ms[account_id] = since_ms
        self._distinct_accounts[metrics.ACTIVE_ACCOUNTS, since_ms].add(account_id)
        self._get_change(Entity("account", account_id)).set_value("seen", TimestampedValue(now_ms, str(now_ms)))

    def _get_change(self, entity: Entity) -> Change:
        if entity in self._changes or self._has_room(self._changes):
            return self._changes.setdefault(entity, Change())
        return Change()

    def _has_room(self, table: dict[K, int] | dict[Entity, Change]) -> bool:
        has_room = len(table) < MAX_PENDING
        self.dropped += not has_room
        return has_room

    # Writing

    async def flush(self) -> None:
        commands, self._pending_commands = self._pending_commands + self._collect_commands(), []
        groups, unroutable = group_by_node(self._store, commands, routing_key)
        self._requeue([command for command, _ in unroutable])
        await asyncio.gather(*(self._write(*group) for group in groups))

    async def flush_forever(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_INTERVAL_S)
            self._flush_task = asyncio.create_task(self.flush())
            await asyncio.shield(self._flush_task)  # a flush outlives the cancellation; `close` waits for it

    async def close(self) -> None:
        """Wait for a running flush, then write the remaining counts."""
        if self._flush_task is not None:
            await asyncio.gather(self._flush_task, return_exceptions=True)
        await self.flush()

    def _collect_commands(self) -> list[Command]:
        now_ms = self._clock.now_ms()
        events, self._events = self._events, {}
        members, self._distinct_accounts = self._distinct_accounts, defaultdict(set)
        scores, self._scores = self._scores, defaultdict(dict)
        changes, self._changes = self._changes, {}
        commands = time_series.count_commands(events)
        for (distinct_metric, since_ms), account_ids in members.items():
            commands += time_series.distinct_commands(distinct_metric, account_ids, since_ms)
        for (ranked_metric, minute), account_scores in scores.items():
            commands += time_series.rank_commands(ranked_metric, account_scores, minute * MINUTE_MS)
        return commands + [add_command(entity, change, now_ms) for entity, change in changes.items()]

    def _requeue(self, commands: list[Command]) -> None:
        """Keep commands for the next flush, up to MAX_PENDING, and drop the others."""
        room = max(0, MAX_PENDING - len(self._pending_commands))
        self._pending_commands += commands[:room]
        self.dropped += len(commands[room:])

    async def _write(self, node: Node, commands: list[Command]) -> None:
        try:
            # While the node is unavailable, nothing is written or lost.
            await node.execute("EXISTS", routing_key(commands[0]))
        except StoreError:
            self._requeue(commands)
            return
        for part in batches(commands, COMMANDS_PER_WRITE):
            try:
                await node.execute_all(part)
            except StoreError as error:
                self.dropped += len(part)
                log.warning("%d counts were not written: %s", len(part), error)
