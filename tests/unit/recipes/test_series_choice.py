"""The choice of a rollup for distinct or ranked members, and the maximum number of points."""

import pytest

from socialsite.recipes.time_series import (
    LONG_TERM_ROLLUPS,
    MAX_POINTS,
    MAX_UNITED_INTERVALS,
    SECOND,
    DistinctMetric,
    Metric,
    RankedMetric,
    TooManyPoints,
    _require_max_points,
    best_rollup,
)

MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000
NOW_MS = 20_000 * DAY_MS + 12 * HOUR_MS
ACTIVE, POSTERS = DistinctMetric("active"), RankedMetric("posters")
MINUTES, HOURS, DAYS = POSTERS.rollups


@pytest.mark.parametrize(
    ("start_ms", "end_ms", "seconds"),
    [
        (NOW_MS, NOW_MS, 60),
        (NOW_MS - 119 * MINUTE_MS, NOW_MS, 60),  # MAX_UNITED_INTERVALS intervals
        (NOW_MS - 120 * MINUTE_MS, NOW_MS, 3600),  # one interval above the maximum
        (NOW_MS - 121 * MINUTE_MS, NOW_MS - 110 * MINUTE_MS, 3600),  # few intervals, but minutes have expired by then
        (NOW_MS - 72 * HOUR_MS, NOW_MS, 3600),
        (NOW_MS - 73 * HOUR_MS, NOW_MS, 86_400),
        (NOW_MS - 10 * DAY_MS, NOW_MS - 10 * DAY_MS + 1, 86_400),
        (NOW_MS - 500 * DAY_MS, NOW_MS - 499 * DAY_MS, 86_400),  # expired in every rollup: the coarsest rollup
        (NOW_MS - 500 * DAY_MS, NOW_MS, 86_400),
    ],
)
def test_the_finest_rollup_with_the_start_and_few_intervals_is_chosen(start_ms: int, end_ms: int, seconds: int) -> None:
    assert MAX_UNITED_INTERVALS == 120
    assert best_rollup(POSTERS.rollups, start_ms, end_ms, NOW_MS, MAX_UNITED_INTERVALS).seconds == seconds


def test_hours_come_before_days() -> None:
    hours, days = ACTIVE.rollups
    assert best_rollup(ACTIVE.rollups, NOW_MS - 72 * HOUR_MS, NOW_MS, NOW_MS, MAX_UNITED_INTERVALS) is hours
    assert best_rollup(ACTIVE.rollups, NOW_MS - 73 * HOUR_MS, NOW_MS, NOW_MS, MAX_UNITED_INTERVALS) is days


def test_more_than_the_maximum_number_of_points_is_refused() -> None:
    _require_max_points(MAX_POINTS)
    with pytest.raises(TooManyPoints, match="20001 points; at most 20000"):
        _require_max_points(MAX_POINTS + 1)


def test_a_metric_by_second_has_a_rollup_of_seconds() -> None:
    assert Metric("pages").rollups == LONG_TERM_ROLLUPS
    assert Metric("posts", by_second=True).rollups == (SECOND, *LONG_TERM_ROLLUPS)
