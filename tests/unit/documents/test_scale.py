"""The simulation behind docs/reference/scale.md: followers keep their shape at any size, and a day adds up."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.busiest_day import DayLoad, Habits, MinuteLoad, day_curve, longest_backlog_s, poisson, simulate_day
from benchmarks.population import MAX_FOLLOWED_SHARE, FollowerDistribution

CHANCE = random.Random(7)
DEGREES = sorted(int(CHANCE.paretovariate(1.5)) for _ in range(20_000))
SHAPE = FollowerDistribution.of_degrees(DEGREES)


@settings(max_examples=30, deadline=None)
@given(accounts=st.integers(1_000, 10**10), mean=st.floats(1, 500))
def test_every_account_is_in_one_group_and_has_a_limited_number_of_followers(accounts: int, mean: float) -> None:
    groups = SHAPE.groups(accounts, mean)
    assert sum(group.accounts for group in groups) == pytest.approx(accounts, rel=0.01)
    assert max(group.followers for group in groups) <= accounts * MAX_FOLLOWED_SHARE


@pytest.mark.parametrize("accounts", [10**5, 10**7, 10**9])
def test_the_mean_is_as_requested_and_the_largest_number_of_followers_rises_with_the_site(accounts: int) -> None:
    groups = SHAPE.groups(accounts, 50)
    assert sum(group.accounts * group.followers for group in groups) == pytest.approx(50 * accounts, rel=0.01)
    smaller = SHAPE.groups(accounts // 10, 50)
    assert max(g.followers for g in groups) > 3 * max(g.followers for g in smaller)


def test_the_exponent_of_a_known_distribution_is_found() -> None:
    assert SHAPE.exponent == pytest.approx(1.5, abs=0.2)


def test_a_simulated_day_adds_up_and_is_the_same_each_time() -> None:
    habits = Habits()
    assert sum(day_curve(habits)) == pytest.approx(1)
    groups = SHAPE.groups(100_000, habits.follows)
    one, again = (simulate_day(groups, habits, nodes=3) for _ in range(2))
    expected = 100_000 * habits.daily * habits.busiest * habits.posts
    assert one == again
    assert one.total("posts") == pytest.approx(expected, rel=0.05)
    assert one.total("jobs") >= one.total("posts")
    assert one.total("pages") == pytest.approx(expected / habits.posts * habits.pages)


def test_workers_that_are_too_few_fall_behind_and_catch_up() -> None:
    minutes = [MinuteLoad(0, deliveries, 0, 0, 0) for deliveries in (600.0, 6_000.0, 600.0)]
    assert longest_backlog_s(DayLoad(minutes, 0), deliveries_per_s=100) == 0
    assert longest_backlog_s(DayLoad(minutes, 0), deliveries_per_s=50) == pytest.approx(3_000 / 50)


@pytest.mark.parametrize("mean", [0.01, 3.0, 400.0])
def test_draws_have_their_mean(mean: float) -> None:
    chance = random.Random(3)
    drawn = [poisson(chance, mean) for _ in range(20_000)]
    assert sum(drawn) / len(drawn) == pytest.approx(mean, rel=0.12)
