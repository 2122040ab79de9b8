"""Rollup intervals: inclusive ends, retention, and the choice of a rollup for a span."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialsite.recipes.time_series import (
    DAY,
    HOUR,
    LONG_TERM_ROLLUPS,
    MAX_CHART_POINTS,
    MINUTE,
    SECOND,
    Rollup,
    best_rollup,
    split_span,
)

NOW = 1_763_650_440_000  # 14:54:00 UTC
ALL = (SECOND, *LONG_TERM_ROLLUPS)
times = st.integers(0, 2**42)


@given(rollup=st.sampled_from(ALL), at_ms=times)
def test_an_interval_contains_its_time(rollup: Rollup, at_ms: int) -> None:
    first = rollup.interval_start(at_ms)
    assert first * 1000 <= at_ms < (first + rollup.seconds) * 1000
    assert first % rollup.seconds == 0


@given(rollup=st.sampled_from(ALL), start=times, span=st.integers(0, 10**7))
def test_both_ends_of_a_span_are_inclusive(rollup: Rollup, start: int, span: int) -> None:
    intervals = rollup.intervals(start, start + span)
    assert intervals[0] == rollup.interval_start(start)
    assert intervals[-1] == rollup.interval_start(start + span)


def test_a_whole_day_by_hours_has_25_points_unless_it_ends_before_the_hour() -> None:
    day = 86_400_000
    assert len(HOUR.intervals(NOW - day, NOW)) == 25
    assert len(HOUR.intervals(0, day - 1)) == 24
    assert len(HOUR.intervals(0, day)) == 25
    assert len(HOUR.intervals(NOW, NOW - 1)) == 0


def test_an_interval_is_stored_for_the_configured_time() -> None:
    start_ms = NOW - MINUTE.kept_intervals * 60_000
    assert MINUTE.covers(start_ms, NOW)
    assert MINUTE.expires_at(MINUTE.interval_start(start_ms)) * 1000 == NOW + 60_000
    assert not MINUTE.covers(start_ms - 60_000, NOW)


@pytest.mark.parametrize(
    ("minutes", "rollup"), [(3, SECOND), (4, MINUTE), (180, MINUTE), (1440, HOUR), (7 * 1440, HOUR), (30 * 1440, DAY)]
)
def test_a_span_is_answered_by_the_finest_rollup_that_a_chart_can_show(minutes: int, rollup: Rollup) -> None:
    start_ms = NOW - minutes * 60_000
    assert best_rollup(ALL, start_ms, NOW, NOW) == rollup
    assert len(rollup.intervals(start_ms, NOW)) <= MAX_CHART_POINTS


def test_a_chart_has_a_maximum_number_of_points() -> None:
    assert best_rollup(ALL, NOW - (MAX_CHART_POINTS - 1) * 60_000, NOW, NOW) == MINUTE
    assert best_rollup(ALL, NOW - MAX_CHART_POINTS * 60_000, NOW, NOW) == HOUR


def test_a_start_that_a_fine_rollup_no_longer_stores_uses_a_coarser_rollup() -> None:
    long_ago = NOW - 10 * 86_400_000
    assert best_rollup(ALL, long_ago, long_ago + 60_000, NOW) == HOUR
    assert best_rollup(ALL, 0, NOW, NOW) == DAY


@given(start=st.integers(NOW - 40 * 86_400_000, NOW), span=st.integers(0, 35 * 86_400_000))
def test_a_sum_counts_each_moment_of_its_span_once(start: int, span: int) -> None:
    end = min(start + span, NOW)
    pieces = sorted(split_span(ALL, start, end, NOW), key=lambda piece: piece[1])
    assert pieces[0][1] * 1000 <= start
    assert (pieces[-1][1] + pieces[-1][0].seconds) * 1000 > end
    assert all(one[1] + one[0].seconds == other[1] for one, other in itertools.pairwise(pieces))
    assert len(pieces) <= MAX_CHART_POINTS + 2 * 60


@pytest.mark.parametrize(
    ("span_ms", "beside_ms"),
    [(4 * 3_600_000, 60_000), (24 * 3_600_000, 60_000), (30 * 86_400_000, 3_600_000), (600_000, 1_000)],
)
def test_the_sum_of_the_last_hours_includes_no_further_hour(span_ms: int, beside_ms: int) -> None:
    """At 14:54:20 the first hour is split into minutes and the first day into hours."""
    now = NOW + 20_300
    first = min(at for _, at in split_span(ALL, now - span_ms, now, now)) * 1000
    assert now - span_ms - beside_ms < first <= now - span_ms


def test_a_sum_uses_a_coarser_rollup_if_the_finer_one_has_expired() -> None:
    long_ago = NOW - 50 * 86_400_000
    assert {rollup for rollup, _ in split_span(ALL, long_ago, long_ago + 7_200_000, NOW)} == {HOUR}


HOUR_MS = 3_600_000
FULL = NOW - NOW % HOUR_MS  # 54 minutes of the hour are in the future


@pytest.mark.parametrize("end", [FULL - 1, NOW, NOW + 5])
def test_an_interval_that_ends_with_the_span_or_now_is_not_split(end: int) -> None:
    assert {rollup for rollup, _ in split_span(ALL, FULL - 24 * HOUR_MS, end, NOW)} == {HOUR}


def test_an_interval_is_split_if_the_span_ends_one_ms_earlier() -> None:
    pieces = split_span(ALL, FULL - 24 * HOUR_MS, FULL - 2, NOW)
    assert pieces[:23] == [(HOUR, (FULL - (24 - n) * HOUR_MS) // 1000) for n in range(23)]
    assert pieces[23:] == [(MINUTE, (FULL - HOUR_MS) // 1000 + 60 * n) for n in range(60)]


def test_an_interval_stays_whole_if_the_finer_rollup_has_expired() -> None:
    start = NOW - MINUTE.kept_intervals * 60_000 - 60_000
    assert not MINUTE.covers(start, NOW)
    assert MINUTE.covers(start + 60_000, NOW)
    assert split_span(ALL, start, NOW, NOW)[0] == (HOUR, HOUR.interval_start(start))
