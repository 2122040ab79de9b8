"""Which rollup answers a question about distinct or ranked members, and how many points are too many."""

import pytest

from socialsite.recipes.rollups import LASTING, SECOND
from socialsite.recipes.series import (
    MOST_POINTS,
    MOST_SETS,
    DistinctKind,
    Kind,
    RankedKind,
    TooManyPoints,
    _few,
    _require_few,
)

MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000
NOW_MS = 20_000 * DAY_MS + 12 * HOUR_MS
ACTIVE, POSTERS = DistinctKind("active"), RankedKind("posters")
MINUTES, HOURS, DAYS = POSTERS.rollups


@pytest.mark.parametrize(
    ("start_ms", "end_ms", "seconds"),
    [
        (NOW_MS, NOW_MS, 60),
        (NOW_MS - 119 * MINUTE_MS, NOW_MS, 60),  # MOST_SETS intervals
        (NOW_MS - 120 * MINUTE_MS, NOW_MS, 3600),  # one more
        (NOW_MS - 121 * MINUTE_MS, NOW_MS - 110 * MINUTE_MS, 3600),  # few, but minutes are gone by then
        (NOW_MS - 72 * HOUR_MS, NOW_MS, 3600),
        (NOW_MS - 73 * HOUR_MS, NOW_MS, 86_400),
        (NOW_MS - 10 * DAY_MS, NOW_MS - 10 * DAY_MS + 1, 86_400),
        (NOW_MS - 500 * DAY_MS, NOW_MS - 499 * DAY_MS, 86_400),  # gone everywhere: the coarsest
        (NOW_MS - 500 * DAY_MS, NOW_MS, 86_400),
    ],
)
def test_the_finest_that_still_has_the_start_in_few_intervals(
    start_ms: int, end_ms: int, seconds: int
) -> None:
    assert MOST_SETS == 120
    assert _few(POSTERS.rollups, start_ms, end_ms, NOW_MS).seconds == seconds


def test_hours_come_before_days() -> None:
    hours, days = ACTIVE.rollups
    assert _few(ACTIVE.rollups, NOW_MS - 72 * HOUR_MS, NOW_MS, NOW_MS) is hours
    assert _few(ACTIVE.rollups, NOW_MS - 73 * HOUR_MS, NOW_MS, NOW_MS) is days


def test_so_many_points_may_be_asked_for_and_no_more() -> None:
    _require_few(MOST_POINTS)
    with pytest.raises(TooManyPoints, match="20001 points; at most 20000"):
        _require_few(MOST_POINTS + 1)


def test_seconds_are_kept_of_what_asks_for_them() -> None:
    assert Kind("pages").rollups == LASTING
    assert Kind("posts", by_second=True).rollups == (SECOND, *LASTING)
