"""Refunded and reset hits: all hits under every rule, and no hit of another identifier."""

import pytest

from socialsite.recipes.rate_limit import MINUTE_MS, Identifier, RateLimiter, Rule
from socialsite.store import Store

START = 29_000_000 * MINUTE_MS
ALICE, HERE = Identifier.account(42), Identifier.address("192.0.2.1")
POST, FOLLOW, ADDRESS, OFF = Rule("post", 5), Rule("follow", 2), Rule("address", 3), Rule("search", None)
BOTH = [(ALICE, [POST, OFF, FOLLOW]), (HERE, [ADDRESS])]


@pytest.fixture
def limits(store: Store) -> RateLimiter:
    return RateLimiter(store)


async def counted(limits: RateLimiter, now_ms: int = START) -> list[tuple[int, int]]:
    """Return (this minute, previous minute) of each rule with a counter."""
    stats = await limits.read_stats(ALICE, [POST, FOLLOW], now_ms) + await limits.read_stats(HERE, [ADDRESS], now_ms)
    return [(usage.current, usage.previous) for usage in stats]


async def test_a_refund_takes_back_a_hit_under_every_rule(limits: RateLimiter) -> None:
    for _ in range(2):
        assert (await limits.hit_all(BOTH, START)).granted
    await limits.refund_all(BOTH, START + MINUTE_MS - 1)
    assert await counted(limits) == [(1, 0)] * 3
    await limits.refund_all([BOTH[0], (HERE, [OFF])], START)
    assert await counted(limits) == [(0, 0), (0, 0), (1, 0)]


async def test_a_refunded_hit_may_be_granted_again(limits: RateLimiter) -> None:
    for _ in range(9):
        assert (await limits.hit_all(BOTH, START)).granted
        await limits.refund_all(BOTH, START)


async def test_a_refund_changes_the_minute_of_its_hit(limits: RateLimiter) -> None:
    await limits.hit_all(BOTH, START)
    await limits.hit_all(BOTH, START + MINUTE_MS)
    await limits.refund_all(BOTH, START)
    assert await counted(limits, START + MINUTE_MS) == [(1, 0)] * 3


@pytest.mark.parametrize("later", [0, 1])
async def test_a_reset_deletes_this_minute_and_the_previous_minute(limits: RateLimiter, later: int) -> None:
    for _ in range(2):
        await limits.hit_all(BOTH, START)
    now_ms = START + later * MINUTE_MS
    assert await limits.clear(ALICE, [POST, FOLLOW], now_ms) is True
    assert await limits.clear(ALICE, [POST, FOLLOW], now_ms) is False
    assert (await counted(limits, START))[:2] == [(0, 0), (0, 0)]
    assert await counted(limits, START + MINUTE_MS) == [(0, 0), (0, 0), (0, 2)]


async def test_expired_counters_are_not_reported_as_reset(limits: RateLimiter) -> None:
    await limits.hit(ALICE, [POST], START)
    assert await limits.clear(ALICE, [POST], START + 2 * MINUTE_MS) is False
