"""Limits of queries of time series: points, intervals and members."""

import tracemalloc

import pytest

from socialsite.recipes.time_series import (
    ALL_MEMBERS,
    HOUR,
    MAX_POINTS,
    SECOND,
    DistinctMetric,
    Metric,
    MetricEvent,
    RankedMetric,
    TimeSeries,
    TooManyPoints,
    count_commands,
    distinct_commands,
    rank_commands,
)
from socialsite.store import Store

POSTS, ACTIVE, POSTERS = Metric("posts", by_second=True), DistinctMetric("active"), RankedMetric("posters")
HOUR_MS, DAY_MS = 3_600_000, 86_400_000


@pytest.fixture
def series(store: Store) -> TimeSeries:
    return TimeSeries(store)


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
