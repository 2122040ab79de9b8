"""The sliding-window rate limit, and its refunds."""

import asyncio
from collections.abc import AsyncIterator
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from socialsite.migration.store_factory import open_store
from socialsite.recipes.rate_limit import (
    GRANTED,
    MINUTE_MS,
    Decision,
    Identifier,
    RateLimiter,
    Rule,
    counter_key,
    hit_command,
    parse_decision,
)
from socialsite.store import Store, StoreUrls
from tests.support.random_tests import examples
from tests.support.rate_limit_model import RateModel
from tests.support.topologies import Deployment

MINUTE = 29_000_000  # any full minute of the clock

START = MINUTE * MINUTE_MS

ALICE = Identifier.account(42)

HERE = Identifier.address("192.0.2.1")

POST = Rule("post", 5)

FOLLOW = Rule("follow", 2)

ADDRESS = Rule("address", 3)

BOTH = [(ALICE, [POST]), (HERE, [ADDRESS])]

OFF = Rule("search", None)


@pytest.fixture
def limits(store: Store) -> RateLimiter:
    return RateLimiter(store)


@pytest.fixture
async def clients(redis_urls: StoreUrls) -> AsyncIterator[list[Store]]:
    """Yield 64 stores, hence 64 connections."""
    stores = [await open_store(redis_urls) for _ in range(64)]
    yield stores
    for store in stores:
        await store.close()


async def hits(limits: RateLimiter, times: int, rules: list[Rule], now_ms: int) -> int:
    return sum([(await limits.hit(ALICE, rules, now_ms)).granted for _ in range(times)])


async def counted(limits: RateLimiter, subject: Identifier, rule: Rule, now_ms: int = START) -> int:
    (usage,) = await limits.read_stats(subject, [rule], now_ms)
    return usage.current


async def test_exactly_the_limit_is_granted(limits: RateLimiter) -> None:
    assert await hits(limits, 8, [POST], START) == 5


async def test_a_refusal_names_the_rule_and_the_wait(limits: RateLimiter) -> None:
    await hits(limits, 5, [POST], START)
    verdict = await limits.hit(ALICE, [POST], START)
    # 5 hits of the previous minute weigh 4 after 12 s of the next minute.
    assert (verdict.granted, verdict.rule, verdict.retry_after_s) == (False, "post", 72)


async def test_refused_calls_are_not_counted(limits: RateLimiter) -> None:
    await hits(limits, 50, [POST], START)
    assert await counted(limits, ALICE, POST) == 5


async def test_a_hit_that_one_rule_refuses_is_counted_by_no_rule(limits: RateLimiter) -> None:
    assert await hits(limits, 4, [POST, FOLLOW], START) == 2
    assert await counted(limits, ALICE, POST) == 2
    assert (await limits.hit(ALICE, [POST, FOLLOW], START)).rule == "follow"


async def test_of_two_refusing_rules_the_longer_wait_is_returned(limits: RateLimiter) -> None:
    slow, fast = Rule("slow", 1), Rule("fast", 4)
    await limits.hit(ALICE, [slow], START + 1000)
    await hits(limits, 4, [fast], START + 1000)
    verdict = await limits.hit(ALICE, [fast, slow], START + 1000)
    # "slow" needs its one hit to expire (119 s); "fast" grants one more after a quarter of the next minute.
    assert (verdict.rule, verdict.retry_after_s) == ("slow", 119)


async def test_a_rule_that_is_off_grants_and_leaves_no_key(limits: RateLimiter, deployment: Deployment) -> None:
    assert await hits(limits, 9, [OFF], START) == 9
    assert await hits(limits, 3, [OFF, FOLLOW], START) == 2
    assert deployment.all_keys() == [counter_key(ALICE, FOLLOW, MINUTE)]


async def test_a_rule_that_is_off_is_granted_in_a_pipeline_too(store: Store) -> None:
    (reply,) = await store.execute_all([hit_command(ALICE, [OFF], START)])
    assert parse_decision(reply) == GRANTED


async def test_identifiers_do_not_share_their_hits(limits: RateLimiter) -> None:
    await hits(limits, 5, [POST], START)
    assert (await limits.hit(Identifier.account(43), [POST], START)).granted


async def test_a_hit_works_inside_a_bigger_pipeline(store: Store) -> None:
    commands = [hit_command(ALICE, [FOLLOW], START), ("GET", counter_key(ALICE, FOLLOW, MINUTE))]
    verdict, current = await store.execute_all(commands)
    assert parse_decision(verdict) == Decision(granted=True, rule="follow", remaining=1, limit=2)
    assert current == b"1"


async def test_the_next_minute_of_the_clock_allows_no_second_burst(limits: RateLimiter) -> None:
    assert await hits(limits, 9, [POST], START + MINUTE_MS - 1) == 5
    assert await hits(limits, 9, [POST], START + MINUTE_MS) == 0
    assert await hits(limits, 9, [POST], START + MINUTE_MS + 12_000) == 1
    assert await hits(limits, 9, [POST], START + 2 * MINUTE_MS - 1) == 3


async def test_any_60_seconds_grant_less_than_twice_the_limit(limits: RateLimiter) -> None:
    late = await hits(limits, 20, [POST], START + MINUTE_MS - 1)
    assert late + (await hits(limits, 20, [POST], START + 2 * MINUTE_MS - 2)) == 2 * 5 - 1


@pytest.mark.parametrize("elapsed", [0, 1, 29_999, 30_000, 59_999])
async def test_64_concurrent_clients_get_exactly_the_hits_of_the_formula(clients: list[Store], elapsed: int) -> None:
    rule, model, now_ms = Rule("post", 100), RateModel(100), START + MINUTE_MS + elapsed
    calls = [(START + MINUTE_MS - 1, 70), (now_ms, 3)]  # now_ms: 64 clients, 3 times each
    expected = [sum(model.hit(at) for _ in range(64 * times)) for at, times in calls]
    for (at, times), granted in zip(calls, expected, strict=True):
        verdicts = await asyncio.gather(
            *(RateLimiter(store).hit(ALICE, [rule], at) for store in clients for _ in range(times))
        )
        assert sum(verdict.granted for verdict in verdicts) == granted


async def test_64_clients_at_the_end_of_a_minute_stay_below_twice_the_limit(clients: list[Store]) -> None:
    """The clock enters the next minute during the concurrent hits."""
    rule, ticks, granted = Rule("post", 20), count(), 0

    async def hammer(store: Store) -> None:
        nonlocal granted
        for _ in range(40):
            now_ms = START + MINUTE_MS - 500 + next(ticks) // 2
            verdict = await RateLimiter(store).hit(ALICE, [rule], now_ms)
            granted += verdict.granted

    await asyncio.gather(*(hammer(store) for store in clients))
    assert 20 <= granted < 40


numbers = iter(range(1000, 1_000_000))


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(limit=st.integers(1, 8), gaps=st.lists(st.integers(0, 40_000), min_size=1, max_size=40))
def test_the_script_agrees_with_the_plain_model(redis_urls: StoreUrls, limit: int, gaps: list[int]) -> None:
    async def play() -> None:
        store = await open_store(redis_urls)
        limits, model = RateLimiter(store), RateModel(limit)
        subject, now_ms = Identifier.account(next(numbers)), START
        try:
            for gap in gaps:
                now_ms += gap
                verdict = await limits.hit(subject, [Rule("post", limit)], now_ms)
                assert verdict.granted == model.hit(now_ms)
                if not verdict.granted:
                    assert verdict.retry_after_s == model.retry_after_s(now_ms)
        finally:
            await store.close()

    asyncio.run(play())


async def test_every_counter_has_a_ttl(limits: RateLimiter, deployment: Deployment) -> None:
    await asyncio.gather(*(limits.hit(Identifier.account(n), [POST, FOLLOW], START) for n in range(50)))
    await limits.refund_all([(Identifier.account(1), [POST, FOLLOW])], START)
    await limits.hit(Identifier.account(1), [POST, FOLLOW], START)
    lives = []
    for key in deployment.all_keys("limits:*"):
        with deployment.holding(key) as client:
            lives.append(client.pttl(key))
    assert len(lives) == 100
    assert all(0 < life <= 120_000 for life in lives)


async def test_only_the_first_hit_sets_the_ttl_of_a_counter(limits: RateLimiter, deployment: Deployment) -> None:
    await limits.hit(ALICE, [POST], START)
    key = counter_key(ALICE, POST, MINUTE)
    with deployment.holding(key) as client:
        client.pexpire(key, 50_000)
        await limits.hit(ALICE, [POST], START)
        assert client.pttl(key) <= 50_000


async def test_account_and_address_count_together(limits: RateLimiter) -> None:
    for _ in range(3):
        assert (await limits.hit_all(BOTH, START)).granted
    verdict = await limits.hit_all(BOTH, START)
    assert (verdict.granted, verdict.rule) == (False, "address")


async def test_a_hit_granted_to_only_one_of_two_identifiers_is_refunded(limits: RateLimiter) -> None:
    for _ in range(9):
        await limits.hit_all(BOTH, START)
    assert await counted(limits, ALICE, POST) == 3
    assert await counted(limits, HERE, ADDRESS) == 3


async def test_an_expired_counter_is_not_brought_back_by_a_refund(limits: RateLimiter, deployment: Deployment) -> None:
    await limits.refund_all([(ALICE, [POST])], START)
    assert deployment.all_keys() == []


async def test_reading_stats_counts_no_hit(limits: RateLimiter) -> None:
    await hits(limits, 4, [POST], START)
    for _ in range(3):
        (usage,) = await limits.read_stats(ALICE, [POST], START + MINUTE_MS + 30_000)
    assert (usage.current, usage.previous, usage.used_milli) == (0, 4, 2000)


async def test_an_operator_can_reset_the_counters(limits: RateLimiter) -> None:
    await hits(limits, 5, [POST], START)
    assert await limits.clear(ALICE, [POST], START)
    assert not await limits.clear(ALICE, [POST], START)
    assert (await limits.hit(ALICE, [POST], START)).granted


async def test_limits_work_while_memory_is_full(limits: RateLimiter, deployment: Deployment) -> None:
    with deployment.configured("maxmemory", 1, usual=0):
        assert await hits(limits, 9, [POST], START) == 5
        await limits.refund_all([(ALICE, [POST])], START)


REFUNDED = [(ALICE, [POST, OFF, FOLLOW]), (HERE, [ADDRESS])]


async def counts_by_rule(limits: RateLimiter, now_ms: int = START) -> list[tuple[int, int]]:
    """Return (this minute, previous minute) of each rule with a counter."""
    stats = await limits.read_stats(ALICE, [POST, FOLLOW], now_ms) + await limits.read_stats(HERE, [ADDRESS], now_ms)
    return [(usage.current, usage.previous) for usage in stats]


async def test_a_refund_takes_back_a_hit_under_every_rule(limits: RateLimiter) -> None:
    for _ in range(2):
        assert (await limits.hit_all(REFUNDED, START)).granted
    await limits.refund_all(REFUNDED, START + MINUTE_MS - 1)
    assert await counts_by_rule(limits) == [(1, 0)] * 3
    await limits.refund_all([REFUNDED[0], (HERE, [OFF])], START)
    assert await counts_by_rule(limits) == [(0, 0), (0, 0), (1, 0)]


async def test_a_refunded_hit_may_be_granted_again(limits: RateLimiter) -> None:
    for _ in range(9):
        assert (await limits.hit_all(REFUNDED, START)).granted
        await limits.refund_all(REFUNDED, START)


async def test_a_refund_changes_the_minute_of_its_hit(limits: RateLimiter) -> None:
    await limits.hit_all(REFUNDED, START)
    await limits.hit_all(REFUNDED, START + MINUTE_MS)
    await limits.refund_all(REFUNDED, START)
    assert await counts_by_rule(limits, START + MINUTE_MS) == [(1, 0)] * 3


@pytest.mark.parametrize("later", [0, 1])
async def test_a_reset_deletes_this_minute_and_the_previous_minute(limits: RateLimiter, later: int) -> None:
    for _ in range(2):
        await limits.hit_all(REFUNDED, START)
    now_ms = START + later * MINUTE_MS
    assert await limits.clear(ALICE, [POST, FOLLOW], now_ms) is True
    assert await limits.clear(ALICE, [POST, FOLLOW], now_ms) is False
    assert (await counts_by_rule(limits, START))[:2] == [(0, 0), (0, 0)]
    assert await counts_by_rule(limits, START + MINUTE_MS) == [(0, 0), (0, 0), (0, 2)]


async def test_expired_counters_are_not_reported_as_reset(limits: RateLimiter) -> None:
    await limits.hit(ALICE, [POST], START)
    assert await limits.clear(ALICE, [POST], START + 2 * MINUTE_MS) is False
