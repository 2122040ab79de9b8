"""Hybrid fan-out: pages are the same for fan-out on write and fan-out on read."""

import random
from dataclasses import replace

import pytest

from socialsite.clock import FixedClock
from socialsite.container import Services
from socialsite.ids import AccountId, PostId
from socialsite.service_config import ServiceConfig
from socialsite.store import Store
from tests.support.models import mostly_nightly
from tests.support.world import Person, World, ids_on
from timelines.audit import Audit

SMALL = ServiceConfig(home_cap=8, posts_per_pass=1, time_slice_ms=0, read_ahead=1, pull_grace_ms=3_000)
PULLING = replace(SMALL, pull_threshold=1)
PEOPLE, STEPS = 5, 120


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(1_900_000_000_000)


@pytest.fixture
def pulling(store: Store, clock: FixedClock) -> World:
    """Return a site that uses fan-out on read from two followers on."""
    return World(Services(store, clock, PULLING))


async def popular_author(world: World, clock: FixedClock) -> tuple[Person, Person, Person]:
    """Return an author in the fan-out-on-read set and two readers with cached home timelines."""
    author, one, other = await world.people("author", "one", "other")
    for reader in (one, other):
        await reader.follows(author)
        await reader.home()
    await author.publishes("the post that makes it known")
    await world.deliver_all()
    clock.advance(PULLING.pull_grace_ms + 1)
    return author, one, other


async def cached_ids(services: Services, person: Person) -> list[PostId]:
    part = await services.repositories.homes.read_whole(person.id)
    return list(part.ids) if part is not None else []


async def test_a_much_followed_author_is_read_from_the_profile(pulling: World, clock: FixedClock) -> None:
    author, one, _other = await popular_author(pulling, clock)
    post = await author.publishes("hello")
    await pulling.deliver_all()
    assert post.id not in await cached_ids(pulling.services, one)
    assert (await one.home_ids())[0] == post.id


async def test_posts_are_pushed_until_the_grace_period_ends(pulling: World, clock: FixedClock) -> None:
    author, one, _other = await popular_author(pulling, clock)
    clock.advance(-PULLING.pull_grace_ms)
    post = await author.publishes("in the grace time")
    await pulling.deliver_all()
    assert post.id in await cached_ids(pulling.services, one)


async def test_an_unfollowed_popular_author_leaves_the_home_timeline(pulling: World, clock: FixedClock) -> None:
    author, one, _other = await popular_author(pulling, clock)
    post = await author.publishes("hello")
    await one.unfollows(author)
    assert post.id not in await one.home_ids()


async def test_the_audit_accepts_home_timelines_without_posts_of_popular_authors(
    pulling: World, clock: FixedClock
) -> None:
    author, _one, _other = await popular_author(pulling, clock)
    await author.publishes("hello")
    await pulling.deliver_all()
    clock.advance(60_000)
    report = await Audit(pulling.services.audit_context, second_check_after_s=0).run()
    assert not report.discrepancies


async def test_no_post_is_missing_after_fan_out_on_read_is_disabled(
    pulling: World, store: Store, clock: FixedClock
) -> None:
    author, one, _other = await popular_author(pulling, clock)
    pulled = await author.publishes("pulled")
    await pulling.deliver_all()
    clock.advance(1)
    off = World(Services(store, clock, SMALL))
    pushed = await off.services.publishing.publish(author_id=author.id, text="pushed", now_ms=clock.now_ms())
    await off.deliver_all()
    page = await off.services.reading.home(one.id)
    assert ids_on(page)[:2] == [pushed.id, pulled.id]
    assert pushed.id in await cached_ids(off.services, one)


@pytest.mark.parametrize("seed", mostly_nightly(range(6), 2))
async def test_pages_are_equal_with_fan_out_on_write_and_on_read(store: Store, clock: FixedClock, seed: int) -> None:
    """After random actions every home timeline equals the merged author feeds, in both directions."""
    chance = random.Random(seed)
    world = World(Services(store, clock, PULLING))
    people = [*await world.people(*(f"p{number}" for number in range(PEOPLE)))]
    follows: set[tuple[int, int]] = set()
    posts: dict[int, int] = {}
    for _ in range(STEPS):
        one, other = chance.choice(people), chance.choice(people)
        clock.advance(chance.choice((1, 50, 1_500, 4_000)))
        match chance.choice(("post", "post", "follow", "follow", "unfollow", "read", "delete")):
            case "post":
                posts[(await one.publishes("text")).id] = one.id
            case "follow" if one is not other:
                await one.follows(other)
                follows.add((one.id, other.id))
            case "unfollow":
                await one.unfollows(other)
                follows.discard((one.id, other.id))
            case "read":
                await one.home()
            case "delete" if posts:
                post_id = PostId(chance.choice(list(posts)))
                author = AccountId(posts.pop(post_id))
                await world.services.publishing.delete(account_id=author, post_id=post_id)
        if chance.random() < 0.6:
            await world.deliver_all()
    await world.deliver_all()
    for reader in people:
        seen = {reader.id, *(followed for follower, followed in follows if follower == reader.id)}
        expected = sorted((id for id, author in posts.items() if author in seen), reverse=True)
        assert await walk(reader, down=True) == expected
        assert await walk(reader, down=False) == expected[::-1]


async def walk(reader: Person, *, down: bool) -> list[PostId]:
    """Return the post ids of all pages of a home timeline."""
    post_ids: list[PostId] = []
    cut: dict[str, int] = {} if down else {"after": 0}
    while True:
        page = await reader.home(limit=3, **cut)
        ids = ids_on(page)
        post_ids += ids if down else ids[::-1]
        cursor = page.next_before if down else page.previous_after
        if cursor is None or not ids:
            return post_ids
        cut = {"before": cursor} if down else {"after": cursor}
