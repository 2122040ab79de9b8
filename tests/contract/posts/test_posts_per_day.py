"""An account publishes only so many posts a day, and a post that is refused does not count."""

from collections.abc import AsyncIterator

import pytest

from socialsite.container import Services
from socialsite.errors import RateLimited
from socialsite.limits import ACCOUNTS_PER_ADDRESS, Caller
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.store import StoreUrls
from tests.support.world import Person, World
from timelines.errors import PostInvalid
from timelines.posts.post import Post

PER_DAY = 3


@pytest.fixture
async def services(redis_urls: StoreUrls) -> AsyncIterator[Services]:
    async with open_services(redis_urls, ServiceConfig(posts_per_day=PER_DAY)) as opened:
        yield opened


async def publish(services: Services, author: Person, text: str, **options: Post) -> Post:
    return await services.publishing.publish(
        author_id=author.id, text=text, now_ms=services.clock.now_ms(), caller=Caller(author.id, "192.0.2.1"),
        in_reply_to=options["parent"].id if options else None,
    )  # fmt: skip


async def test_an_account_publishes_only_its_number_of_posts_a_day(world: World, services: Services) -> None:
    alice, bob = await world.people("alice", "bob")
    for number in range(PER_DAY):
        await publish(services, alice, str(number))
    with pytest.raises(RateLimited) as refused:
        await publish(services, alice, "one too many")
    assert refused.value.rule == "posts"
    assert 0 < refused.value.retry_after_s <= 86_400
    await publish(services, bob, "bob has a number of his own")
    await alice.publishes("a worker and a command have no limit")


async def test_a_refused_post_does_not_count(alice: Person, bob: Person, services: Services) -> None:
    parent = await bob.publishes("hello")
    await bob.blocks(alice)
    for _ in range(PER_DAY):
        with pytest.raises(PostInvalid):
            await publish(services, alice, "a reply", parent=parent)
    for number in range(PER_DAY):
        await publish(services, alice, str(number))


async def test_an_address_has_ten_times_the_number(world: World, services: Services) -> None:
    people = await world.people(*(f"p{number}" for number in range(ACCOUNTS_PER_ADDRESS + 1)))
    for person in people[:-1]:
        for number in range(PER_DAY):
            await publish(services, person, str(number))
    with pytest.raises(RateLimited):
        await publish(services, people[-1], "from the same address")
