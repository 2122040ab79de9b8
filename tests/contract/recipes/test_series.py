"""Time series, and their bounds."""

import asyncio
import random
import tracemalloc
from collections import Counter
from itertools import islice

import pytest
import redis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from socialsite.migration.store_factory import open_store
from socialsite.recipes.time_series import (
    ALL_MEMBERS,
    DAY,
    HOUR,
    MAX_MEMBERS,
    MAX_POINTS,
    MAX_RANKED_MEMBERS,
    MINUTE,
    SECOND,
    SHARD_COUNT,
    DistinctMetric,
    Metric,
    MetricEvent,
    Point,
    RankedMetric,
    Rollup,
    TimeSeries,
    TooManyPoints,
    count_commands,
    distinct_commands,
    distinct_key,
    interval_key,
    rank_commands,
    ranked_key,
)
from socialsite.store import Key, Store, StoreUrls
from tests.support.random_tests import examples
from tests.support.stores import opened_store
from tests.support.topologies import Deployment

POSTS = Metric("posts", by_second=True)

PAGES = Metric("pages")

ACTIVE = DistinctMetric("active")

POSTERS = RankedMetric("posters")

HOUR_MS, DAY_MS = 3_600_000, 86_400_000


@pytest.fixture
def series(store: Store) -> TimeSeries:
    return TimeSeries(store)


@pytest.fixture
async def now_ms(store: Store) -> int:
    """Return the server's time, because the server stores no events of expired intervals."""
    return await store.now_ms() // 1000 * 1000


async def count(store: Store, kind: Metric, at_ms: int, amount: int = 1, member: str = ALL_MEMBERS) -> None:
    await store.execute_all(count_commands({MetricEvent(kind, member, at_ms // 1000): amount}))


async def test_an_event_is_counted_in_every_rollup(store: Store, series: TimeSeries, now_ms: int) -> None:
    await count(store, POSTS, now_ms, 2)
    await count(store, POSTS, now_ms, 3)
    for rollup in POSTS.rollups:
        points = await series.read_ranges([(POSTS, ALL_MEMBERS)], now_ms, now_ms, now_ms=now_ms, rollup=rollup)
        assert points == [[Point(rollup.interval_start(now_ms) * 1000, 5)]]


async def test_both_ends_are_inclusive_and_empty_intervals_are_zero(
    store: Store, series: TimeSeries, now_ms: int
) -> None:
    hour = HOUR.interval_start(now_ms) * 1000
    for at_ms, amount in ((hour - 2 * HOUR_MS, 1), (hour, 4), (hour - 2 * HOUR_MS - 1, 9)):
        await count(store, POSTS, at_ms, amount)
    (points,) = await series.read_ranges([(POSTS, ALL_MEMBERS)], hour - 2 * HOUR_MS, hour, now_ms=now_ms, rollup=HOUR)
    assert points == [Point(hour - 2 * HOUR_MS, 1), Point(hour - HOUR_MS, 0), Point(hour, 4)]


async def test_several_series_are_returned_in_the_requested_order(
    store: Store, series: TimeSeries, now_ms: int
) -> None:
    await count(store, PAGES, now_ms, 7, "home")
    await count(store, POSTS, now_ms, 2)
    requests = [(POSTS, ALL_MEMBERS), (PAGES, "home"), (PAGES, "nothing")]
    assert await series.read_totals(requests, now_ms - DAY_MS, now_ms, now_ms=now_ms) == [2, 7, 0]


async def test_the_sum_of_the_last_hours_excludes_earlier_hours(series: TimeSeries, store: Store, now_ms: int) -> None:
    hour = now_ms // HOUR_MS * HOUR_MS
    now = hour + HOUR_MS // 2  # the span begins in the middle of an hour and of a day
    for at_ms, amount in ((now - 4 * HOUR_MS - 60_000, 1), (now - 4 * HOUR_MS, 20), (now, 300)):
        await count(store, POSTS, at_ms, amount)
    assert await series.read_totals([(POSTS, ALL_MEMBERS)], now - 4 * HOUR_MS, now, now_ms=now) == [320]
    assert await series.read_totals([(POSTS, ALL_MEMBERS)], now - 5 * HOUR_MS, now - 1, now_ms=now) == [21]


async def test_a_day_of_ten_series_reads_each_hour_once(redis_url: str) -> None:
    store = await open_store(redis_url)
    now_ms, asked = await store.now_ms(), [(Metric(f"kind{letter}"), ALL_MEMBERS) for letter in "abcdefghij"]
    with redis.Redis.from_url(redis_url) as client:
        client.config_resetstat()
        await TimeSeries(store).read_ranges(asked, now_ms - DAY_MS, now_ms, now_ms=now_ms)
        assert client.info("commandstats")["cmdstat_hget"]["calls"] == 10 * 25
    await store.close()


async def test_a_query_is_bounded(series: TimeSeries, now_ms: int) -> None:
    with pytest.raises(TooManyPoints):
        await series.read_ranges([(POSTS, ALL_MEMBERS)], 0, now_ms, now_ms=now_ms, rollup=MINUTE)


async def test_every_key_ends_with_its_interval_however_late_it_is_written(
    store: Store, now_ms: int, deployment: Deployment
) -> None:
    await count(store, POSTS, now_ms)
    await count(store, POSTS, now_ms - 2 * HOUR_MS)
    await store.execute_all(distinct_commands(ACTIVE, [1, 2], now_ms))
    await store.execute_all(rank_commands(POSTERS, {1: 2}, now_ms))
    await count(store, POSTS, now_ms)
    ends = {}
    for key in map(Key.parse, deployment.all_keys("series:*")):
        ends[key] = await store.now_ms() // 1000 + await store.node(key).execute("TTL", key)
    assert len(ends) >= 10
    by_seconds = {rollup.seconds: rollup for rollup in (SECOND, MINUTE, HOUR, DAY)}
    for key, end in ends.items():
        *name, seconds, interval = key.split("}:")[1].split(":")
        if name == ["posts"]:
            assert abs(end - by_seconds[int(seconds)].expires_at(int(interval))) <= 2
        assert end > now_ms // 1000


async def test_events_older_than_a_rollup_are_not_stored(store: Store, now_ms: int, deployment: Deployment) -> None:
    await count(store, POSTS, now_ms - 3 * 365 * DAY_MS)
    assert deployment.all_keys() == []


async def test_members_beyond_the_cap_count_as_other(store: Store, now_ms: int) -> None:
    shard = interval_key(PAGES, DAY, 0, "1").tag
    same = (str(n) for n in range(1, 90_000) if interval_key(PAGES, DAY, 0, str(n)).tag == shard)
    many = await asyncio.to_thread(list, islice(same, MAX_MEMBERS + 50))
    for chunk in (many[:900], many[900:], many[-100:], many[:100]):
        await store.execute_all(count_commands({MetricEvent(PAGES, each, now_ms // 1000): 1 for each in chunk}))
    key = interval_key(PAGES, DAY, DAY.interval_start(now_ms), many[0])
    assert await store.node(key).execute("HLEN", key) == MAX_MEMBERS + 1
    assert await store.node(key).execute("HGET", key, "other") == b"100"
    assert await store.node(key).execute("HGET", key, many[0]) == b"2"


def test_members_spread_over_64_virtual_shards() -> None:
    tags = Counter(interval_key(PAGES, DAY, 0, str(n)).tag for n in range(64_000))
    assert len(tags) == SHARD_COUNT
    assert max(tags.values()) < 1_300


async def test_distinct_members_count_once_over_hours_and_days(store: Store, series: TimeSeries, now_ms: int) -> None:
    people = range(1, 5_001)
    for back in (0, HOUR_MS, DAY_MS, 10 * DAY_MS):
        await store.execute_all(distinct_commands(ACTIVE, people, now_ms - back))
    await store.execute_all(distinct_commands(ACTIVE, range(5_001, 6_001), now_ms))
    for start in (now_ms - 2 * HOUR_MS, now_ms - 30 * DAY_MS):
        distinct = await series.count_distinct(ACTIVE, start, now_ms, now_ms=now_ms)
        assert distinct == pytest.approx(6_000, rel=0.03)
    assert await series.count_distinct(ACTIVE, now_ms + DAY_MS, now_ms, now_ms=now_ms) == 0


async def test_a_hyperloglog_stays_small(store: Store, now_ms: int) -> None:
    await store.execute_all(distinct_commands(ACTIVE, range(100_000), now_ms))
    rollup = ACTIVE.rollups[-1]
    key = distinct_key(ACTIVE, rollup, rollup.interval_start(now_ms))
    assert await store.node(key).execute("STRLEN", key) <= 12_400


async def test_the_most_active_members_of_a_span_are_listed_first(
    store: Store, series: TimeSeries, now_ms: int
) -> None:
    await store.execute_all(rank_commands(POSTERS, {1: 5, 2: 3}, now_ms))
    await store.execute_all(rank_commands(POSTERS, {2: 4, 3: 1}, now_ms - 60_000))
    await store.execute_all(rank_commands(POSTERS, {3: 100}, now_ms - 10 * 60_000))
    assert await series.read_top(POSTERS, now_ms - 5 * 60_000, now_ms, 2, now_ms=now_ms) == [(2, 7), (1, 5)]
    assert (await series.read_top(POSTERS, now_ms - 60 * 60_000, now_ms, 9, now_ms=now_ms))[0] == (3, 101)


async def test_a_ranking_keeps_the_members_with_the_highest_scores(
    store: Store, series: TimeSeries, now_ms: int
) -> None:
    for start in range(0, 5_000, 500):
        await store.execute_all(rank_commands(POSTERS, {n: n + 1 for n in range(start, start + 500)}, now_ms))
    best = await series.read_top(POSTERS, now_ms, now_ms, 3, now_ms=now_ms)
    assert best == [(4_999, 5_000), (4_998, 4_999), (4_997, 4_998)]
    key = ranked_key(POSTERS, POSTERS.rollups[0], now_ms // 60_000 * 60)
    assert await store.node(key).execute("ZCARD", key) <= 2 * MAX_RANKED_MEMBERS


async def test_thirty_daily_rankings_are_united_into_one_of_a_month(
    store: Store, series: TimeSeries, now_ms: int
) -> None:
    for day in range(30):
        scores = {random.randrange(5_000): random.randrange(1, 90) for _ in range(900)}
        await store.execute_all(rank_commands(POSTERS, scores, now_ms - day * DAY_MS))
    assert len(await series.read_top(POSTERS, now_ms - 30 * DAY_MS, now_ms, 100, now_ms=now_ms)) == 100


moments = st.lists(st.tuples(st.integers(0, 3 * DAY_MS), st.integers(1, 5)), max_size=30)

kinds = iter(range(1, 10**9))


def word(number: int) -> str:
    return "".join(chr(97 + int(digit)) for digit in str(number))


@settings(max_examples=examples(50), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    happened=moments, cut=st.tuples(st.integers(0, 3 * DAY_MS), st.integers(0, 3 * DAY_MS)),
    rollup=st.sampled_from([HOUR, DAY]),
)  # fmt: skip
def test_the_series_agree_with_counting_by_hand(
    redis_urls: StoreUrls, happened: list[tuple[int, int]], cut: tuple[int, int], rollup: Rollup
) -> None:
    async def run() -> None:
        async with opened_store(redis_urls) as store:
            now_ms, kind = await store.now_ms(), Metric(word(next(kinds)))
            for back, amount in happened:
                await count(store, kind, now_ms - back, amount)
            start, end = now_ms - max(cut), now_ms - min(cut)
            (points,) = await TimeSeries(store).read_ranges(
                [(kind, ALL_MEMBERS)], start, end, now_ms=now_ms, rollup=rollup
            )
            truth: Counter[int] = Counter()
            for back, amount in happened:
                truth[rollup.interval_start(now_ms - back) * 1000] += amount
            assert points == [Point(at * 1000, truth[at * 1000]) for at in rollup.intervals(start, end)]

    asyncio.run(run())


async def test_a_query_has_a_maximum_number_of_points(store: Store, series: TimeSeries) -> None:
    now_ms = await store.now_ms()
    await store.execute_all(count_commands({MetricEvent(POSTS, ALL_MEMBERS, now_ms // 1000): 3}))
    first_ms = now_ms - (MAX_POINTS - 1) * 1000
    (points,) = await series.read_ranges([(POSTS, ALL_MEMBERS)], first_ms, now_ms, now_ms=now_ms, rollup=SECOND)
    assert (len(points), points[-1].count) == (MAX_POINTS, 3)
    with pytest.raises(TooManyPoints):
        await series.read_ranges([(POSTS, ALL_MEMBERS)], first_ms - 1000, now_ms, now_ms=now_ms, rollup=SECOND)


async def test_a_query_of_too_many_points_is_refused_before_it_is_built(store: Store, series: TimeSeries) -> None:
    now_ms = await store.now_ms()
    tracemalloc.start()
    try:
        with pytest.raises(TooManyPoints):
            await series.read_ranges([(POSTS, ALL_MEMBERS)], now_ms - 20 * DAY_MS, now_ms, now_ms=now_ms, rollup=SECOND)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


async def test_sums_of_many_series_are_bounded_together(store: Store, series: TimeSeries) -> None:
    now_ms = await store.now_ms() // HOUR_MS * HOUR_MS
    start_ms = now_ms - 199 * HOUR_MS  # 200 points of an hour each, all complete
    requests = [(POSTS, ALL_MEMBERS)] * (MAX_POINTS // 200)
    await store.execute_all(count_commands({MetricEvent(POSTS, ALL_MEMBERS, start_ms // 1000): 2}))
    assert len(HOUR.intervals(start_ms, now_ms)) == 200
    assert await series.read_totals(requests, start_ms, now_ms, now_ms=now_ms) == [2] * len(requests)
    with pytest.raises(TooManyPoints):
        await series.read_totals([*requests, (POSTS, ALL_MEMBERS)], start_ms, now_ms, now_ms=now_ms)


async def test_a_single_interval_is_enough_for_a_distinct_count_and_a_ranking(store: Store, series: TimeSeries) -> None:
    now_ms = await store.now_ms()
    await store.execute_all(distinct_commands(ACTIVE, range(2_001), now_ms))
    await store.execute_all(rank_commands(POSTERS, {member: 1 + (member == 2_000) for member in range(2_001)}, now_ms))
    assert await series.count_distinct(ACTIVE, now_ms, now_ms, now_ms=now_ms) == pytest.approx(2_001, rel=0.03)
    assert await series.read_top(POSTERS, now_ms, now_ms, 1, now_ms=now_ms) == [(2_000, 2)]
    assert await series.count_distinct(ACTIVE, now_ms + 1, now_ms, now_ms=now_ms) == 0
    assert await series.read_top(POSTERS, now_ms + 1, now_ms, 9, now_ms=now_ms) == []
