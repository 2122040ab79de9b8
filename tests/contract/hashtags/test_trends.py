"""Trending hashtags need several accounts, and older uses count less."""

import pytest

from socialsite.container import Services
from socialsite.ids import AccountId
from tests.support.world import World
from timelines.hashtags.trends import Trend
from timelines.hashtags.trends_repository import HALF_LIFE_HOURS, HASHTAGS_PER_HOUR_CAP, Trends
from timelines.posts.post import FOLLOWERS

HOUR_MS = 3_600_000


@pytest.fixture
def trends(services: Services) -> Trends:
    return services.repositories.trends


@pytest.fixture
def now_ms(services: Services) -> int:
    return services.clock.now_ms()


async def used(trends: Trends, tag: str, accounts: int, at_ms: int) -> None:
    for number in range(1, accounts + 1):
        await trends.count_uses(AccountId(number), [tag], at_ms)


async def test_one_account_cannot_make_a_trend(trends: Trends, now_ms: int) -> None:
    for hours in range(20, 0, -1):
        await trends.count_uses(AccountId(1), ["alone"], now_ms - hours * HOUR_MS)
    await used(trends, "together", 2, now_ms)
    assert await trends.top(now_ms, 10) == [("together", 2)]


async def test_a_use_counts_once_a_day(trends: Trends, now_ms: int) -> None:
    assert await trends.count_uses(AccountId(1), ["one", "two"], now_ms) == 2
    assert await trends.count_uses(AccountId(1), ["one", "three"], now_ms + HOUR_MS) == 1
    assert await trends.count_uses(AccountId(1), ["one"], now_ms + 25 * HOUR_MS) == 1


async def test_a_use_counts_half_after_the_half_life(trends: Trends, now_ms: int) -> None:
    await used(trends, "old", 5, now_ms - int(2 * HALF_LIFE_HOURS) * HOUR_MS)
    await used(trends, "new", 2, now_ms)
    await used(trends, "older", 9, now_ms - 25 * HOUR_MS)
    assert await trends.top(now_ms, 10) == [("new", 2), ("old", 5)]
    assert await trends.top(now_ms, 1) == [("new", 2)]


async def test_an_hour_keeps_its_most_used_hashtags(trends: Trends, now_ms: int) -> None:
    await used(trends, "kept", 3, now_ms)
    for number in range(2 * HASHTAGS_PER_HOUR_CAP):
        await trends.count_uses(AccountId(7), [f"t{number}"], now_ms)
    assert await trends.top(now_ms, 10) == [("kept", 3)]


async def test_only_public_posts_make_trends(world: World, services: Services) -> None:
    people = await world.people("alice", "bob", "carol")
    for person in people:
        await person.publishes("all of us: #Public")
        await services.publishing.publish(
            author_id=person.id, text="#among #us", audience=FOLLOWERS, now_ms=services.clock.now_ms()
        )
    await world.deliver_all()
    assert await services.trends.top() == (Trend("public", 3),)
    await people[0].publishes("#public #other")
    await people[1].publishes("#other")
    await world.deliver_all()
    assert await services.trends.top() == (Trend("public", 3),)  # cached for a moment


async def test_hashtags_of_hidden_accounts_and_deleted_posts_are_no_trends(world: World, services: Services) -> None:
    """They were counted before staff acted. A suspension that is undone shows them again."""
    people = await world.people("alice", "bob", "carol", "dave")
    for person in people[:2]:
        await person.publishes("buy #pills")
    limited, deleted = [await person.publishes("buy #things") for person in people[2:]]
    await world.deliver_all()

    async def trends() -> list[str]:
        services.trends._cache = (0, services.trends._cache[1])
        return sorted(trend.tag for trend in await services.trends.top())

    assert await trends() == ["pills", "things"]
    await people[3].deletes(deleted)
    await services.accounts.restrict(limited.author_id, "limit", 1)
    for person in people[:2]:
        await services.accounts.suspend(account_id=person.id)
    assert await trends() == []
    await services.accounts.reinstate(account_id=people[0].id)
    assert await trends() == ["pills"]
