"""Hydration of one post for many readers: current rights for each reader, a constant number of round trips."""

import pytest

from socialsite.clock import FixedClock
from socialsite.container import Services
from socialsite.service_config import ServiceConfig
from socialsite.store import Store
from tests.support.nodes import CountingNode, SingleNodeTopology
from tests.support.seats import home_viewer, visible_to
from tests.support.world import World
from timelines.reading.viewer_rights import ViewerContext
from timelines.visibility.rights import ViewContext


async def test_each_reader_gets_current_rights(services: Services) -> None:
    alice, bob, carol = await World(services).people("alice", "bob", "carol")
    await alice.follows(bob)
    post = await bob.publishes("hello")
    seats = [home_viewer(services, person) for person in (alice, bob, carol)]
    assert await visible_to(services, post, seats) == [True, True, False]
    await alice.unfollows(bob)
    assert await visible_to(services, post, seats) == [False, True, False]
    assert await visible_to(services, post, []) == []


async def test_a_removed_member_disappears_from_its_list_immediately(services: Services) -> None:
    alice, bob = await World(services).people("alice", "bob")
    made = await alice.makes_list(bob, title="Friends")
    rule = await services.lists.rule(made)
    post, seat = (
        await bob.publishes("hello"),
        ViewerContext(alice.id, ViewContext.LIST, rule.read_member_authors, rule.reply_rights),
    )
    assert await visible_to(services, post, [seat]) == [True]
    await services.lists.remove_member(owner_id=alice.id, list_id=made.id, account_id=bob.id)
    assert await visible_to(services, post, [seat]) == [False]


async def test_members_of_an_exclusive_list_are_hidden_from_home(services: Services) -> None:
    alice, bob = await World(services).people("alice", "bob")
    await alice.follows(bob)
    made = await alice.makes_list(bob, title="Apart")
    post = await bob.publishes("hello")
    assert await visible_to(services, post, [home_viewer(services, alice)]) == [True]
    await services.lists.edit(owner_id=alice.id, list_id=made.id, exclusive=True)
    assert await visible_to(services, post, [home_viewer(services, alice)]) == [False]


async def test_a_deleted_post_is_shown_to_no_reader(services: Services) -> None:
    alice, bob = await World(services).people("alice", "bob")
    post = await bob.publishes("hello")
    await bob.deletes(post)
    seats = [home_viewer(services, alice), ViewerContext(None, ViewContext.PUBLIC)]
    assert await visible_to(services, post, seats) == [False, False]


async def test_each_reader_sees_their_own_reactions(services: Services) -> None:
    alice, bob, carol = await World(services).people("alice", "bob", "carol")
    post = await bob.publishes("hello")
    await services.reactions.like(account_id=carol.id, post_id=post.id, now_ms=services.clock.now_ms())
    seats = [ViewerContext(reader, ViewContext.PUBLIC) for reader in (alice.id, bob.id, carol.id, None)]
    posts_by_viewer = await services.pipeline.read_post_for_viewers(post.id, None, seats)
    viewers = [entry.viewer for entry in posts_by_viewer if entry is not None]
    assert [viewer and viewer.liked for viewer in viewers] == [False, False, True, None]
    assert [viewer and viewer.own for viewer in viewers] == [False, True, False, None]


@pytest.mark.parametrize("readers", [1, 40])
async def test_the_number_of_round_trips_does_not_grow_with_the_readers(redis_url: str, readers: int) -> None:
    node = CountingNode(redis_url)
    store = Store(SingleNodeTopology(node))
    try:
        services = Services(store, FixedClock(1_900_000_000_000), ServiceConfig())
        world = World(services)
        bob = await world.person("bob")
        people = [await world.person(f"p{number}") for number in range(readers)]
        for person in people:
            await person.follows(bob)
        post = await bob.publishes("hello")
        node.trips.clear()
        assert all(await visible_to(services, post, [home_viewer(services, person) for person in people]))
        # The post, its author and counts; each reader's state; the followers by partition.
        (commands,) = node.trips
        assert 3 + readers < commands <= 3 + readers + min(readers, ServiceConfig().follow_partitions)
    finally:
        await store.close()
