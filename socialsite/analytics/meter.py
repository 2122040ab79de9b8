"""The meter of one process: counts in memory, and once a second writes what it counted, a pipeline a node.

So counting costs a request a few microseconds and no round trip. What a process counted in its last second is
lost when it is killed (SIGKILL); a clean end writes it. While a node is away its counts wait here, as many as
MOST_WAITING. Of a pipeline whose answer never came nobody knows whether it counted: it is given up, so that
nothing counts twice.
"""

import asyncio
import logging
from collections import defaultdict
from typing import TypeVar

from socialsite.analytics import prometheus as metrics
from socialsite.analytics.metrics import (
    ACTIVE,
    BUSY,
    DELIVERIES,
    ERRORS,
    LATENCY,
    LOGINS,
    PAGES,
    POSTERS,
    POSTS,
    REFUSALS,
    REQUESTS,
    SIGNUPS,
    SOCKETS,
)
from socialsite.ids import Now
from socialsite.recipes.buffer import Change, Entity, Mark, add_command
from socialsite.recipes.partial import by_node
from socialsite.recipes.series import (
    ALL,
    DistinctKind,
    Happened,
    Kind,
    RankedKind,
    count_commands,
    distinct_commands,
    rank_commands,
)
from socialsite.store import Command, Node, Store, StoreError
from socialsite.store.scripts import key_of

EVERY_S = 1.0
MOST_WAITING = 20_000  # things counted in memory, and commands kept for a node that is away
EACH_WRITE = 200
"""Commands at once, a millisecond's work: requests go on in between."""
MINUTE_MS = SEEN_EVERY_MS = 60_000
"""An account's last-seen time is written once in each minute of the clock: a visit is not a write a page, and
still counts in every hour and day it falls into."""

K = TypeVar("K")
log = logging.getLogger(__name__)


class Meter:
    """Counts what happens in this process. All but `flush` only touch memory."""

    def __init__(self, store: Store, clock: Now) -> None:
        self._store = store
        self._clock = clock
        self._happened: dict[Happened, int] = {}
        # By minute, too: what is written a moment after midnight belongs to the day before.
        self._members: dict[tuple[DistinctKind, int], set[int]] = defaultdict(set)
        self._scores: dict[tuple[RankedKind, int], dict[int, int]] = defaultdict(dict)
        self._changes: dict[Entity, Change] = {}
        self._seen: dict[int, int] = {}  # account id -> minute
        self._waiting: list[Command] = []
        self._writing: asyncio.Task[None] | None = None
        self.dropped = 0
        """Things that were not counted: too many waited, or a node failed while it was told."""

    # What happens

    def signed_up(self) -> None:
        self.count(SIGNUPS)
        metrics.SIGNUPS.inc()

    def logged_in(self) -> None:
        self.count(LOGINS)
        metrics.LOGINS.inc()

    def published(self, author_id: int) -> None:
        self.count(POSTS)
        metrics.POSTS.inc()
        self.rank(POSTERS, author_id)

    def delivered(self, entries: int, late_ms: int) -> None:
        """`entries` reached their timelines `late_ms` after the post's id was made."""
        if entries:
            self.count(DELIVERIES, amount=entries)
            self.count(LATENCY.kind, LATENCY.member(late_ms), entries)
            metrics.DELIVERIES.inc(entries)
            metrics.TO_HOMES.observe(late_ms / 1000)

    def answered(self, status: int, *, is_page: bool, account_id: int | None) -> None:
        self.count(REQUESTS)
        if is_page and status == 200:
            self.count(PAGES)
        if status >= 500:
            self.count(ERRORS)
            self.count(ERRORS, str(status))
            metrics.errors_of(str(status)).inc()
        if account_id is not None:
            self.rank(BUSY, account_id)
            self._saw(account_id)

    def refused(self, rule: str) -> None:
        self.count(REFUSALS)
        self.count(REFUSALS, rule)
        metrics.refusals_of(rule).inc()

    def opened_socket(self) -> None:
        self.count(SOCKETS)

    def viewed(self, entity: Entity) -> None:
        """A post's page, or an account's profile."""
        self._change(entity).count("views")

    def clicked(self, entity: Entity) -> None:
        """A link of a post."""
        self._change(entity).count("clicks")

    # How it is counted

    def count(self, kind: Kind, member: str = ALL, amount: int = 1) -> None:
        happened = Happened(kind, member, self._clock.now_ms() // 1000)
        if happened in self._happened:
            self._happened[happened] += amount
        elif self._has_room(self._happened):
            self._happened[happened] = amount

    def rank(self, kind: RankedKind, account_id: int) -> None:
        scores = self._scores[kind, self._clock.now_ms() // MINUTE_MS]
        if account_id in scores or self._has_room(scores):
            scores[account_id] = scores.get(account_id, 0) + 1

    def _saw(self, account_id: int) -> None:
        now_ms = self._clock.now_ms()
        minute = now_ms // SEEN_EVERY_MS
        if self._seen.get(account_id) == minute:
            return
        if len(self._seen) >= MOST_WAITING:
            self._seen.clear()  # costs no more than writing once too often
        self._seen[account_id] = minute
        self._members[ACTIVE, minute].add(account_id)
        self._change(Entity("account", account_id)).mark("seen", Mark(now_ms, str(now_ms)))

    def _change(self, entity: Entity) -> Change:
        if entity in self._changes or self._has_room(self._changes):
            return self._changes.setdefault(entity, Change())
        return Change()

    def _has_room(self, counted: dict[K, int] | dict[Entity, Change]) -> bool:
        has_room = len(counted) < MOST_WAITING
        self.dropped += not has_room
        return has_room

    # Writing

    async def flush(self) -> None:
        """Write what was counted since the last time."""
        commands, self._waiting = self._waiting + self._collect(), []
        groups, homeless = by_node(self._store, commands, key_of)
        self._keep([command for command, _ in homeless])
        await asyncio.gather(*(self._write(*group) for group in groups))

    async def keep_flushing(self) -> None:
        """For ever; whoever starts this task owns and cancels it."""
        while True:
            await asyncio.sleep(EVERY_S)
            self._writing = asyncio.create_task(self.flush())
            await asyncio.shield(self._writing)  # whoever ends this waits for it in `close`

    async def close(self) -> None:
        """Write the rest, after what is being written."""
        if self._writing is not None:
            await asyncio.gather(self._writing, return_exceptions=True)
        await self.flush()

    def _collect(self) -> list[Command]:
        now_ms = self._clock.now_ms()
        happened, self._happened = self._happened, {}
        members, self._members = self._members, defaultdict(set)
        scores, self._scores = self._scores, defaultdict(dict)
        changes, self._changes = self._changes, {}
        commands = count_commands(happened)
        for (kind, minute), seen in members.items():
            commands += distinct_commands(kind, seen, minute * MINUTE_MS)
        for (ranked, minute), each in scores.items():
            commands += rank_commands(ranked, each, minute * MINUTE_MS)
        return commands + [add_command(entity, change, now_ms) for entity, change in changes.items()]

    def _keep(self, commands: list[Command]) -> None:
        """For the next time."""
        room = max(0, MOST_WAITING - len(self._waiting))
        self._waiting += commands[:room]
        self.dropped += len(commands[room:])

    async def _write(self, node: Node, commands: list[Command]) -> None:
        try:
            await node.execute(
                "EXISTS", key_of(commands[0])
            )  # is anybody there? Then nothing is in doubt yet
        except StoreError:
            self._keep(commands)
            return
        for start in range(0, len(commands), EACH_WRITE):
            part = commands[start : start + EACH_WRITE]
            try:
                await node.pipeline(part)
            except StoreError as error:
                self.dropped += len(part)
                log.warning("%d counts were not written: %s", len(part), error)
