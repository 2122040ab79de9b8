"""The maximum length of a cached timeline before it is trimmed."""

import pytest

from timelines.cached_timelines.spec import TimelineCacheSpec


def kind(cap: int) -> TimelineCacheSpec:
    return TimelineCacheSpec(key_of=lambda owner: None, key_pattern=b"", cap=cap, ttl_ms=0, read_ahead=0)  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize(("cap", "slack"), [(5, 1), (20, 2), (100, 10), (109, 10), (1_000, 100)])
def test_the_slack_is_a_tenth_of_the_cap_and_at_least_one(cap: int, slack: int) -> None:
    assert kind(cap).slack == slack


def test_owners_are_trimmed_at_lengths_that_differ_by_their_last_digit() -> None:
    assert [kind(100).max_length(owner) for owner in range(10)] == list(range(111, 121))
    assert kind(100).max_length(1_234_567) == kind(100).max_length(7)
