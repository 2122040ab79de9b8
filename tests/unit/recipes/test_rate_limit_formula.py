"""The formula of the sliding minute and the names of limits, without a server."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialsite.recipes.rate_limit import (
    MINUTE_MS,
    Decision,
    Identifier,
    Rule,
    counter_key,
    hit_command,
    network_of,
    parse_decision,
    used_milli,
)
from socialsite.store.key import KEY_PATTERN
from tests.support.rate_limit_model import RateModel

gaps = st.lists(st.integers(0, 45_000), max_size=60)


def play(model: RateModel, gaps: list[int], start_ms: int = 0) -> None:
    now_ms = start_ms
    for gap in gaps:
        now_ms += gap
        model.hit(now_ms)


@given(limit=st.integers(1, 12), gaps=gaps)
def test_the_formula_grants_less_than_twice_the_limit_in_any_60_seconds(limit: int, gaps: list[int]) -> None:
    model = RateModel(limit)
    play(model, gaps)
    assert model.worst_minute() <= max(limit, 2 * limit - 1)


def test_the_worst_60_seconds_grant_one_hit_less_than_twice_the_limit() -> None:
    model = RateModel(10)
    for _ in range(10):
        assert model.hit(MINUTE_MS - 1)
    while model.hit(2 * MINUTE_MS - 2):
        pass
    assert model.worst_minute() == 19


@given(limit=st.integers(1, 12), gaps=gaps)
def test_a_hit_that_is_granted_now_is_also_granted_later_without_other_hits(limit: int, gaps: list[int]) -> None:
    model = RateModel(limit)
    play(model, gaps)
    now_ms = sum(gaps)
    answers = [model.would_grant(now_ms + wait) for wait in range(0, 3 * MINUTE_MS, 250)]
    assert answers == sorted(answers)


@given(current=st.integers(0, 1000), previous=st.integers(0, 1000), elapsed=st.integers(0, MINUTE_MS - 1))
def test_the_weighted_minute_is_rounded_up(current: int, previous: int, elapsed: int) -> None:
    exact = current + previous * (MINUTE_MS - elapsed) / MINUTE_MS
    assert exact * 1000 - 0.001 <= used_milli(current, previous, elapsed) < exact * 1000 + 1


def test_the_wait_is_rounded_up_to_whole_seconds() -> None:
    assert parse_decision([0, b"post", 1001, 5]) == Decision(False, "post", 2, limit=5)
    assert parse_decision([0, b"post", 1, 5]) == Decision(False, "post", 1, limit=5)
    assert parse_decision([1, b"post", 4, 5]) == Decision(True, "post", remaining=4, limit=5)


def test_the_keys_of_an_identifier_share_a_tag_and_follow_the_grammar() -> None:
    rules = [Rule("post", 3), Rule("search", None)]
    for subject in (Identifier.account(42), Identifier.address("192.0.2.1"), Identifier.handle("Alice {x}:*")):
        keys = [part for part in hit_command(subject, rules, 90_000) if hasattr(part, "tag")]
        assert len({key.tag for key in keys}) == 1
        assert all(KEY_PATTERN.fullmatch(key) for key in keys)
    assert counter_key(Identifier.account(42), rules[0], 7) == "limits:{a42}:post:7"


def test_the_tag_of_an_address_has_sixteen_hex_digits() -> None:
    assert re.fullmatch(r"[0-9a-f]{16}", Identifier.address("192.0.2.1").tag)
    assert Identifier.address("192.0.2.1") != Identifier.address("192.0.2.2")
    assert Identifier.address("alice") != Identifier.handle("alice")
    assert Identifier.handle("Alice") == Identifier.handle("alice")


@pytest.mark.parametrize(
    ("text", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::", "2001:db8:1:2::/64"),
        ("unix socket", "unix socket"),
        ("", ""),
    ],
)
def test_an_ipv6_client_is_limited_by_its_network(text: str, network: str) -> None:
    assert network_of(text) == network


@pytest.mark.parametrize("name", ["", "Post", "a:b", "{x}", "two words", "pöst"])
def test_a_rule_is_named_by_one_plain_word(name: str) -> None:
    with pytest.raises(ValueError, match="lower-case word"):
        Rule(name, 1)


def test_a_limit_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Rule("post", 0)
