"""The meter of one process: counts in memory, and once a second writes what it counted, a pipeline a node.

So counting costs a request a few microseconds and no round trip. What a process counted in its last second is
lost when it is killed (SIGKILL); a clean end writes it. While a node is away its counts wait here, as many as
MAX_PENDING. Of a pipeline whose answer never came nobody knows whether it counted: it is given up, so that
nothing counts twice.
"""

import asyncio
import logging
from collections import defaultdict
from typing import TypeVar

from socialsite.analytics import prometheus as metrics
from socialsite.analytics.metrics import (
    ACCOUNTS_BY_POSTS,
    ACCOUNTS_BY_REQUESTS,
    ACTIVE_ACCOUNTS,
    DELIVERIES,
    DELIVERY_LATENCY,
    ERRORS,
    LOGINS,
    PAGE_VIEWS,
    POSTS,
    REFUSALS,
    REQUESTS,
    SIGNUPS,
    SOCKETS_OPENED,
)
from socialsite.ids import TimeSource
from socialsite.recipes.buffer import Change, Entity, TimestampedValue, add_command
from socialsite.recipes.partial import group_by_node
from socialsite.recipes.series import (
    ALL_MEMBERS,
    DistinctMetric,
    Metric,
    MetricEvent,
    RankedMetric,
    count_commands,
    distinct_commands,
    rank_commands,
)
from socialsite.store import Command, Node, Store, StoreError
from socialsite.store.commands import routing_key

FLUSH_INTERVAL_S = 1.0
MAX_PENDING = 20_000  # things counted in memory, and commands kept for a node that is away
COMMANDS_PER_WRITE = 200
"""Commands at once, a millisecond's work: requests go on in between."""
MINUTE_MS = LAST_SEEN_INTERVAL_MS = 60_000
"""An account's last-seen time is written once in each minute of the clock: a visit is not a write a page, and
still counts in every hour and day it falls into."""

K = TypeVar("K")
log = logging.getLogger(__name__)


class Meter:
    """Counts what happens in this process. All but `flush` only touch memory."""

    def __init__(self, store: Store, clock: TimeSource) -> None:
        self._store = store
        self._clock = clock
        self._events: dict[MetricEvent, int] = {}
        # By minute, too: what is written a moment after midnight belongs to the day before.
        self._distinct_accounts: dict[tuple[DistinctMetric, int], set[int]] = defaultdict(set)
        self._scores: dict[tuple[RankedMetric, int], dict[int, int]] = defaultdict(dict)
        self._changes: dict[Entity, Change] = {}
        self._seen_minutes: dict[int, int] = {}  # account id -> minute
        self._pending_commands: list[Command] = []
        self._flush_task: asyncio.Task[None] | None = None
        self.dropped = 0
        """Things that were not counted: too many waited, or a node failed while it was told."""

    # What happens

    def count_signup(self) -> None:
        self.count(SIGNUPS)
        metrics.SIGNUPS.inc()

    def count_login(self) -> None:
        self.count(LOGINS)
        metrics.LOGINS.inc()

    def count_post(self, author_id: int) -> None:
        self.count(POSTS)
        metrics.POSTS.inc()
        self.count_ranked(ACCOUNTS_BY_POSTS, author_id)

    def count_deliveries(self, entries: int, latency_ms: int) -> None:
        """`entries` reached their timelines `late_ms` after the post's id was made."""
        if entries:
            self.count(DELIVERIES, amount=entries)
            self.count(DELIVERY_LATENCY.metric, DELIVERY_LATENCY.bucket_name(latency_ms), entries)
            metrics.DELIVERIES.inc(entries)
            metrics.POST_TO_HOME_SECONDS.observe(latency_ms / 1000)

    def count_response(self, status: int, *, is_page: bool, account_id: int | None) -> None:
        self.count(REQUESTS)
        if is_page and status == 200:
            self.count(PAGE_VIEWS)
        if status >= 500:
            self.count(ERRORS)
            self.count(ERRORS, str(status))
            metrics.error_counter(str(status)).inc()
        if account_id is not None:
            self.count_ranked(ACCOUNTS_BY_REQUESTS, account_id)
            self._mark_seen(account_id)

    def count_refusal(self, rule: str) -> None:
        self.count(REFUSALS)
        self.count(REFUSALS, rule)
        metrics.refusal_counter(rule).inc()

    def count_socket(self) -> None:
        self.count(SOCKETS_OPENED)

    def count_view(self, entity: Entity) -> None:
        """A post's page, or an account's profile."""
        self._get_change(entity).add_count("views")

    def count_click(self, entity: Entity) -> None:
        """A link of a post."""
        self._get_change(entity).add_count("clicks")

    # How it is counted

    def count(self, kind: Metric, member: str = ALL_MEMBERS, amount: int = 1) -> None:
        happened = MetricEvent(kind, member, self._clock.now_ms() // 1000)
        if happened in self._events:
            self._events[happened] += amount
        elif self._has_room(self._events):
            self._events[happened] = amount

    def count_ranked(self, kind: RankedMetric, account_id: int) -> None:
        scores = self._scores[kind, self._clock.now_ms() // MINUTE_MS]
        if account_id in scores or self._has_room(scores):
            scores[account_id] = scores.get(account_id, 0) + 1

    def _mark_seen(self, account_id: int) -> None:
        now_ms = self._clock.now_ms()
        minute = now_ms // LAST_SEEN_INTERVAL_MS
        if self._seen_minutes.get(account_id) == minute:
            return
        if len(self._seen_minutes) >= MAX_PENDING:
            self._seen_minutes.clear()  # costs no more than writing once too often
        self._seen_minutes[account_id] = minute
        self._distinct_accounts[ACTIVE_ACCOUNTS, minute].add(account_id)
        self._get_change(Entity("account", account_id)).set_value("seen", TimestampedValue(now_ms, str(now_ms)))

    def _get_change(self, entity: Entity) -> Change:
        if entity in self._changes or self._has_room(self._changes):
            return self._changes.setdefault(entity, Change())
        return Change()

    def _has_room(self, counted: dict[K, int] | dict[Entity, Change]) -> bool:
        has_room = len(counted) < MAX_PENDING
        self.dropped += not has_room
        return has_room

    # Writing

    async def flush(self) -> None:
        """Write what was counted since the last time."""
        commands, self._pending_commands = self._pending_commands + self._collect_commands(), []
        groups, homeless = group_by_node(self._store, commands, routing_key)
        self._requeue([command for command, _ in homeless])
        await asyncio.gather(*(self._write(*group) for group in groups))

    async def flush_forever(self) -> None:
        """For ever; whoever starts this task owns and cancels it."""
        while True:
            await asyncio.sleep(FLUSH_INTERVAL_S)
            self._flush_task = asyncio.create_task(self.flush())
            await asyncio.shield(self._flush_task)  # whoever ends this waits for it in `close`

    async def close(self) -> None:
        """Write the rest, after what is being written."""
        if self._flush_task is not None:
            await asyncio.gather(self._flush_task, return_exceptions=True)
        await self.flush()

    def _collect_commands(self) -> list[Command]:
        now_ms = self._clock.now_ms()
        happened, self._events = self._events, {}
        members, self._distinct_accounts = self._distinct_accounts, defaultdict(set)
        scores, self._scores = self._scores, defaultdict(dict)
        changes, self._changes = self._changes, {}
        commands = count_commands(happened)
        for (kind, minute), seen in members.items():
            commands += distinct_commands(kind, seen, minute * MINUTE_MS)
        for (ranked, minute), each in scores.items():
            commands += rank_commands(ranked, each, minute * MINUTE_MS)
        return commands + [add_command(entity, change, now_ms) for entity, change in changes.items()]

    def _requeue(self, commands: list[Command]) -> None:
        """For the next time."""
        room = max(0, MAX_PENDING - len(self._pending_commands))
        self._pending_commands += commands[:room]
        self.dropped += len(commands[room:])

    async def _write(self, node: Node, commands: list[Command]) -> None:
        try:
            await node.execute("EXISTS", routing_key(commands[0]))  # is anybody there? Then nothing is in doubt yet
        except StoreError:
            self._requeue(commands)
            return
        for start in range(0, len(commands), COMMANDS_PER_WRITE):
            part = commands[start : start + COMMANDS_PER_WRITE]
            try:
                await node.pipeline(part)
            except StoreError as error:
                self.dropped += len(part)
                log.warning("%d counts were not written: %s", len(part), error)
