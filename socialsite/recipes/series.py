"""Time series: counters by kind, member and interval, for a bounded time (the seed's "sentry.tsdb").

    series:{s17}:posts:60:1763650440    HASH   member -> count      kind : rollup in s : first second
    series:{active}:distinct:86400:…    HyperLogLog of members      (one tag a kind: a node unites the days)
    series:{posters}:ranked:3600:…      ZSET   member -> score      (the same)

All members of an interval stand in one hash, in as many as 64 virtual shards by crc32 of the member: one TTL
for all, compact encoding, and a kind with many members spreads over all nodes. A hash has at most MEMBERS_CAP
members, further ones count as "other"; a query has at most MAX_POINTS points.
Each kind is written in several rollups at once; recording is one script a hash, so no key lives for ever.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar
from zlib import crc32

from socialsite.recipes.rollups import (
    DAY,
    HOUR,
    LONG_TERM_ROLLUPS,
    MINUTE,
    SECOND,
    Rollup,
    RollupInterval,
    best_rollup,
    split_span,
)
from socialsite.store import Command, Key, Store, load_script

SHARD_COUNT = 64
MAX_MEMBERS = 1_000  # members of a hash
MAX_RANKED_MEMBERS = 500  # members of a ranking; up to twice as many between two trims
MAX_POINTS = 20_000  # of a query
MAX_UNITED_INTERVALS = 120  # intervals that one distinct count or ranking unites
ALL_MEMBERS = "all"
"""The member of a kind that has no members of its own."""

COUNT, DISTINCT, DISTINCT_COUNT, RANK, TOP = (
    load_script(f"series_{name}.lua", __package__) for name in ("count", "distinct", "distinct_count", "rank", "top")
)
T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)  # constants: hashed by identity, thousands of times a second
class Metric:
    """What is counted. `name` is a fixed word; `by_second` asks for 15 minutes of seconds as well."""

    name: str
    by_second: bool = False

    @property
    def rollups(self) -> tuple[Rollup, ...]:
        """From fine to coarse."""
        return (SECOND, *LONG_TERM_ROLLUPS) if self.by_second else LONG_TERM_ROLLUPS


@dataclass(frozen=True, slots=True, eq=False)
class DistinctMetric:
    """Whose different members are counted, by hour and day."""

    name: str
    rollups: tuple[Rollup, ...] = (Rollup(3600, 72), Rollup(86_400, 120))


@dataclass(frozen=True, slots=True, eq=False)
class RankedMetric:
    """Whose most active members are kept, by minute, hour and day."""

    name: str
    rollups: tuple[Rollup, ...] = (Rollup(60, 120), Rollup(3600, 72), Rollup(86_400, 60))


class MetricEvent(NamedTuple):
    """`amount` of a member within one second."""

    metric: Metric
    member: str
    second: int


@dataclass(frozen=True, slots=True)
class Point:
    """An interval's first ms and its count."""

    at_ms: int
    count: int


class TooManyPoints(ValueError):
    """The query would be unbounded: a shorter span or a coarser rollup is needed."""


def interval_key(kind: Metric, rollup: Rollup, interval: int, member: str) -> Key:
    """HASH: member -> count, of the members of a virtual shard in an interval. MEMBERS_CAP, TTL by rollup."""
    shard = crc32(member.encode()) % SHARD_COUNT
    return Key("series", tag=f"s{shard}", name=f"{kind.name}:{rollup.seconds}:{interval}")


def distinct_key(kind: DistinctMetric, rollup: Rollup, interval: int) -> Key:
    """HyperLogLog (STRING, at most 12 kB) of an interval's members. TTL by rollup."""
    return Key("series", tag=kind.name, name=f"distinct:{rollup.seconds}:{interval}")


def ranked_key(kind: RankedMetric, rollup: Rollup, interval: int) -> Key:
    """ZSET: member -> score of an interval. Twice MAX_RANKED_MEMBERS; TTL by rollup."""
    return Key("series", tag=kind.name, name=f"ranked:{rollup.seconds}:{interval}")


# Recording: commands for a pipeline of the caller


def count_commands(happened: Mapping[MetricEvent, int]) -> list[Command]:
    """One script for each hash that something fell into."""
    hashes: dict[Key, list[str | int]] = {}
    for (kind, member, second), amount in happened.items():
        for rollup in kind.rollups:
            interval = rollup.interval_start(second * 1000)
            key = interval_key(kind, rollup, interval, member)
            hashes.setdefault(key, [rollup.expires_at(interval), MAX_MEMBERS]).extend((member, amount))
    return [COUNT.command([key], args) for key, args in hashes.items()]


def distinct_commands(kind: DistinctMetric, members: Iterable[int], now_ms: int) -> list[Command]:
    seen = list(members)
    return [
        DISTINCT.command([distinct_key(kind, rollup, at)], [rollup.expires_at(at), *some])
        for rollup in kind.rollups
        for at in [rollup.interval_start(now_ms)]
        for some in _chunks(seen)
    ]


def rank_commands(kind: RankedMetric, scores: Mapping[int, int], now_ms: int) -> list[Command]:
    pairs = list(scores.items())
    return [
        RANK.command([ranked_key(kind, rollup, at)], [rollup.expires_at(at), MAX_RANKED_MEMBERS, *_flat(some)])
        for rollup in kind.rollups
        for at in [rollup.interval_start(now_ms)]
        for some in _chunks(pairs)
    ]


class TimeSeries:
    """Questions to time series, each in one round trip a node."""

    def __init__(self, store: Store) -> None:
        self._series = store.component("series")

    async def read_ranges(
        self,
        asked: Sequence[tuple[Metric, str]],
        start_ms: int,
        end_ms: int,
        *,
        now_ms: int,
        rollup: Rollup | None = None,
    ) -> list[list[Point]]:
        """For each (kind, member) its points from `start_ms` to `end_ms`, both inclusive, oldest first.

        Empty intervals are points of 0. Without a rollup the best one for the span. Raises TooManyPoints.
        """
        chosen = [rollup or best_rollup(kind.rollups, start_ms, end_ms, now_ms) for kind, _ in asked]
        cuts = [each.intervals(start_ms, end_ms) for each in chosen]
        _require_max_points(sum(map(len, cuts)))  # before anything is as long as what was asked for
        spans = [[(each, at) for at in cut] for each, cut in zip(chosen, cuts, strict=True)]
        counts = iter(await self._read_counts(asked, spans))
        return [[Point(at * 1000, next(counts)) for _, at in span] for span in spans]

    async def read_totals(
        self, asked: Sequence[tuple[Metric, str]], start_ms: int, end_ms: int, *, now_ms: int
    ) -> list[int]:
        """For each (kind, member) what came from `start_ms` to `end_ms`, both inclusive, as finely cut as
        `pieces` tells."""
        spans = [split_span(kind.rollups, start_ms, end_ms, now_ms) for kind, _ in asked]
        counts = iter(await self._read_counts(asked, spans))
        return [sum(next(counts) for _ in span) for span in spans]

    async def _read_counts(
        self, asked: Sequence[tuple[Metric, str]], spans: Sequence[Sequence[RollupInterval]]
    ) -> list[int]:
        """What each piece holds, one after another, in one round trip a node. Raises TooManyPoints."""
        _require_max_points(sum(map(len, spans)))
        commands = [
            ("HGET", interval_key(kind, each, at, member), member)
            for (kind, member), span in zip(asked, spans, strict=True)
            for each, at in span
        ]
        return [int(reply or 0) for reply in await self._series.gather(commands)]

    async def count_distinct(self, kind: DistinctMetric, start_ms: int, end_ms: int, *, now_ms: int) -> int:
        """How many different members all intervals of the span saw; by days where hours are too many."""
        rollup = _choose_rollup(kind.rollups, start_ms, end_ms, now_ms)
        keys = [distinct_key(kind, rollup, at) for at in rollup.intervals(start_ms, end_ms)[-MAX_UNITED_INTERVALS:]]
        return int(await self._series[keys[0]].run(DISTINCT_COUNT, keys)) if keys else 0

    async def read_top(
        self, kind: RankedMetric, start_ms: int, end_ms: int, limit: int, *, now_ms: int
    ) -> list[tuple[int, int]]:
        """The `limit` most active members of the span and their scores, best first."""
        rollup = _choose_rollup(kind.rollups, start_ms, end_ms, now_ms)
        keys = [ranked_key(kind, rollup, at) for at in rollup.intervals(start_ms, end_ms)[-MAX_UNITED_INTERVALS:]]
        found = await self._series[keys[0]].run(TOP, keys, [limit]) if keys else []
        return [(int(m), int(float(score))) for m, score in zip(found[::2], found[1::2], strict=True)]


def _require_max_points(points: int) -> None:
    if points > MAX_POINTS:
        raise TooManyPoints(f"{points} points; at most {MAX_POINTS}")


def _choose_rollup(rollups: Sequence[Rollup], start_ms: int, end_ms: int, now_ms: int) -> Rollup:
    """The finest rollup that still has the start in at most MAX_UNITED_INTERVALS intervals; else the coarsest."""
    fitting = (
        rollup
        for rollup in rollups
        if rollup.covers(start_ms, now_ms) and len(rollup.intervals(start_ms, end_ms)) <= MAX_UNITED_INTERVALS
    )
    return next(fitting, rollups[-1])


def _chunks(things: Sequence[T], size: int = 1_000) -> Iterable[Sequence[T]]:
    """Lua unpacks no more than some thousands at once."""
    return (things[at : at + size] for at in range(0, len(things), size))


def _flat(pairs: Iterable[tuple[int, int]]) -> list[int]:
    return [part for pair in pairs for part in pair]


__all__ = [
    "ALL_MEMBERS",
    "DAY",
    "HOUR",
    "MINUTE",
    "SECOND",
    "DistinctMetric",
    "Metric",
    "MetricEvent",
    "Point",
    "RankedMetric",
    "Rollup",
    "TimeSeries",
    "TooManyPoints",
    "count_commands",
    "distinct_commands",
    "rank_commands",
]  # fmt: skip
