"""The clock of a Redis server is set back: ids stay ascending, and limits do not stand still."""

import pytest

from socialsite.clock import Clock, FixedClock
from socialsite.container import Services
from socialsite.errors import RateLimited
from socialsite.ids import MAX_AHEAD_MS, PostIdGenerator, id_at, ms_from_id
from socialsite.limits import ActionLimits, Caller
from socialsite.recipes.rate_limit import RateLimiter, Rule
from socialsite.startup import share_newest_post_id
from socialsite.store import Store

NOW_MS = 1_900_000_000_000
HOUR_MS = 3_600_000


async def test_a_process_that_starts_after_the_clock_was_set_back_continues_after_the_newest_id(
    services: Services, store: Store
) -> None:
    ahead = PostIdGenerator(FixedClock(services.clock.now_ms() + HOUR_MS))
    newest_id = [ahead.next_id() for _ in range(3)][-1]
    await share_newest_post_id(store, ahead)
    started = PostIdGenerator(services.clock)
    await share_newest_post_id(store, started)
    ids = [started.next_id() for _ in range(5_000)]
    assert newest_id < ids[0]
    assert ids == sorted(set(ids))
    assert ms_from_id(ids[-1]) - ms_from_id(newest_id) < 10  # ids do not run away from the clock


def test_an_id_of_a_clock_that_was_wrong_by_days_is_not_continued() -> None:
    ids = PostIdGenerator(FixedClock(NOW_MS))
    ids.continue_after(id_at(NOW_MS + MAX_AHEAD_MS + 1))
    assert ms_from_id(ids.next_id()) == NOW_MS


def test_an_earlier_id_changes_nothing() -> None:
    ids = PostIdGenerator(FixedClock(NOW_MS))
    last_id = ids.next_id()
    ids.continue_after(id_at(NOW_MS - HOUR_MS))
    assert ids.next_id() == last_id + 1


async def test_limits_continue_after_the_clock_was_set_back(store: Store) -> None:
    server_ms = NOW_MS + HOUR_MS

    async def read_server_ms() -> int:
        return server_ms

    clock = Clock(read_server_ms)
    limits = ActionLimits(RateLimiter(store), {"post": Rule("post", 2)}, clock)
    caller = Caller(None, "203.0.113.9")
    await clock.refresh()
    for _ in range(2):
        await limits.enforce(caller, "post")
    with pytest.raises(RateLimited):
        await limits.enforce(caller, "post")
    before_ms, server_ms = clock.now_ms(), NOW_MS
    await clock.refresh()
    await limits.enforce(caller, "post")
    assert clock.now_ms() >= before_ms
