"""Counts and boosts on open sockets, through real daphne processes."""

from collections.abc import Iterator

import pytest

from socialsite.services import Services
from tests.support.reacting import Acts
from tests.support.redis_server import RedisServer
from tests.support.sockets import Client, Daphne, Message, client, running, signed_in
from tests.support.world import World
from timelines.domain.post import Post


@pytest.fixture(scope="module")
def sites(redis_server: RedisServer) -> Iterator[tuple[Daphne, Daphne]]:
    """Two web processes over the same store."""
    with running(redis_server.url) as one, running(redis_server.url) as other:
        yield one, other


@pytest.fixture
def world(services: Services) -> World:
    return World(services)


@pytest.fixture
def acts(services: Services) -> Acts:
    return Acts(services)


async def counts_of(reader: Client, post: Post) -> Message:
    found = await reader.until(lambda m: m["type"] == "counts" and m["id"] == str(post.id))
    counts: Message = found["counts"]
    return counts


async def test_counts_reach_whoever_watches_on_every_process(sites, world, acts) -> None:
    alice, bob = await world.people("alice", "bob")
    post = await alice.publishes("hello")
    async with client(sites[0]) as one, client(sites[1], await signed_in(bob)) as two:
        for reader in (one, two):
            await reader.subscribe("public")
            await reader.say({"type": "watch", "ids": [str(post.id)]})
        await acts.likes(bob, post)
        for reader in (one, two):
            assert await counts_of(reader, post) == {"replies": 0, "boosts": 0, "likes": 1}
        await acts.boosts(bob, post)
        for reader in (one, two):
            assert await counts_of(reader, post) == {"replies": 0, "boosts": 1, "likes": 1}


async def test_a_boost_arrives_with_its_original_and_its_counts_follow(sites, world, acts) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    await carol.follows(bob)
    post = await alice.publishes("hello <b>there</b>")
    await world.work()
    await acts.likes(carol, post)
    async with client(sites[0], await signed_in(carol)) as reader, client(sites[1]) as public:
        await reader.subscribe("home")
        await public.subscribe("public")
        await acts.boosts(bob, post)
        await world.work()
        boost_id = await acts.boost_of(bob, post)
        entry = await reader.entry(boost_id, "home")
        assert entry["author"] == "bob"
        assert f'data-post-id="{boost_id}" data-boost-of="{post.id}"' in entry["html"]
        assert "hello &lt;b&gt;there" in entry["html"]
        assert f"/posts/{post.id}/unlike/" in entry["html"]
        await acts.likes(alice, post)
        await reader.until(lambda m: m["type"] == "counts" and m["counts"]["likes"] == 2)
        await acts.unboosts(bob, post)
        await reader.until(lambda m: m["type"] == "deleted" and m["id"] == str(boost_id))
        assert public.entry_ids("public") == []


async def test_a_boost_that_is_hidden_does_not_arrive(sites, world, acts) -> None:
    alice, bob, carol, dave = await world.people("alice", "bob", "carol", "dave")
    for followed in (bob, carol):
        await dave.follows(followed)
    post = await alice.publishes("hello")
    await world.work()
    async with client(sites[0], await signed_in(dave)) as reader:
        await reader.subscribe("home")
        for booster in (bob, carol):
            await acts.boosts(booster, post)
            await world.work()
        await reader.entry(await acts.boost_of(bob, post), "home")
        await reader.silence()
        assert set(reader.entry_ids("home")) == {await acts.boost_of(bob, post)}
