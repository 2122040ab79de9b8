"""Pages that merge the author feeds of many accounts: they are limited, and other pages merge nothing."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from socialsite.clock import FixedClock
from socialsite.container import Services
from socialsite.errors import RateLimited
from socialsite.ids import AccountId
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.store import Store, StoreUrls
from tests.support.nodes import SerialNode, SingleNodeTopology
from tests.support.world import World
from timelines.author_feeds.merging import MAX_FEEDS_PER_READ
from timelines.pages.page import MIN_FETCH

NOW_MS = 1_900_000_000_000
FIRST_FOLLOWED = 10_000
HOME_CAP = 2 * MIN_FETCH


@pytest_asyncio.fixture
async def limited(redis_urls: StoreUrls) -> AsyncIterator[Services]:
    async with open_services(redis_urls, ServiceConfig(home_cap=HOME_CAP, rate_limits={"merge": 2})) as services:
        yield services


async def follow(services: Services, follower_id: AccountId, count: int) -> None:
    follows = [(follower_id, AccountId(FIRST_FOLLOWED + number), NOW_MS) for number in range(count)]
    await services.repositories.follows.add_many(follows)


async def test_older_pages_of_very_many_authors_are_limited(limited: Services) -> None:
    alice, bob = await World(limited).people("alice", "bob")
    await follow(limited, alice.id, MAX_FEEDS_PER_READ)
    await follow(limited, bob.id, MAX_FEEDS_PER_READ - 1)
    world = World(limited)
    for person in (bob, alice):
        ids = [(await person.publishes(f"post {number}")).id for number in range(2 * HOME_CAP)][::-1]
        await world.deliver_all()
        oldest = {"before": ids[-3], "limit": 2}
        assert await person.home_ids(limit=2) == ids[:2]  # merges once to build the home
        assert await person.home_ids(**oldest) == ids[-2:]
        if person is bob:
            assert await person.home_ids(**oldest) == ids[-2:]
    with pytest.raises(RateLimited) as refusal:
        await alice.home_ids(**oldest)
    assert refusal.value.rule == "merge"
    assert await alice.home_ids(limit=2) == ids[:2]


async def test_a_home_with_few_posts_takes_two_round_trips(redis_url: str) -> None:
    """The cached head has all posts, so no author feeds are read: it takes the head, then the posts."""
    node = SerialNode(redis_url)
    services = Services(Store(SingleNodeTopology(node)), FixedClock(NOW_MS), ServiceConfig())
    world = World(services)
    alice, bob = await world.people("alice", "bob")
    await alice.follows(bob)
    post = await bob.publishes("the only post")
    await world.deliver_all()
    assert await alice.home_ids() == [post.id]
    start = node.trips
    assert await alice.home_ids() == [post.id]
    assert node.trips - start == 2
    await node.close()


async def test_every_page_of_a_virtual_list_of_very_many_members_is_limited(limited: Services) -> None:
    alice, bob = await World(limited).people("alice", "bob")
    part, other = await alice.makes_list(bob), await alice.makes_list()
    for number in range(MAX_FEEDS_PER_READ):
        await limited.lists.memberships.add(part.id, AccountId(FIRST_FOLLOWED + number), NOW_MS)
    both = await limited.lists.create(
        owner_id=alice.id, title="Both", now_ms=NOW_MS, operation="union", parts=[part.id, other.id]
    )
    for _ in range(2):
        await limited.reading.list_timeline(both.id, viewer_id=alice.id)
    with pytest.raises(RateLimited):
        await limited.reading.list_timeline(both.id, viewer_id=alice.id)
