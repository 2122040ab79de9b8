"""Boosts interrupted at any step are repeated, finished by the worker, or abandoned for a new id."""

import asyncio

import pytest

from socialsite.clock import FixedClock
from socialsite.container import Services
from socialsite.ids import PostId, id_at
from socialsite.service_config import ServiceConfig
from socialsite.store import Store
from tests.support.reacting import PersonReactions
from tests.support.world import Person, World
from timelines import keys
from timelines.jobs import SyndicatePost, encode_job
from timelines.posts.post import Post
from timelines.posts.stored_values import PostState
from timelines.reactions.boosts import boost_post
from timelines.reactions.repository import ReactionKind


async def undo(services: Services, person: Person, post: Post, boost_id: PostId, done: int) -> None:
    """Undo all but the first `done` steps after the reservation: the job, the post, its timelines."""
    at, node = services.repositories, services.store.node(keys.post(post.id))
    await node.execute("ZREM", keys.boosted_posts(person.id), post.id)
    if done < 3:
        await at.author_feeds.remove(person.id, boost_id)
        await at.homes.invalidate(person.id)
    if done < 2:
        await node.execute("SET", keys.post(boost_id), "pending", "EX", 3600)
    if done < 1:
        await node.execute("DEL", "jobs:{outbox}:stream")
        await services.outbox.create_group()


@pytest.mark.parametrize("done", range(4))
async def test_repeating_finishes_an_interrupted_boost(
    store: Store, services: Services, world: World, acts: PersonReactions, done: int
) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    await carol.follows(bob)
    post = await alice.publishes("hello")
    await world.deliver_all()
    await acts.boosts(bob, post)
    boost_id = await acts.boost_of(bob, post)
    assert boost_id
    await undo(services, bob, post, boost_id, done)
    answer = await acts.boosts(bob, post)
    assert answer.counts.boosts == 1
    assert answer.viewer
    assert answer.viewer.boosted
    await world.deliver_all()
    assert await acts.boost_of(bob, post) == boost_id
    for ids in (await bob.profile_ids(), await bob.home_ids(), await carol.home_ids()):
        assert ids == [boost_id]
    assert await acts.read_indexes(bob) == (set(), {post.id})


@pytest.mark.parametrize("done", range(1, 4))
async def test_the_worker_finishes_an_interrupted_boost(
    services: Services, world: World, acts: PersonReactions, done: int
) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    await carol.follows(bob)
    post = await alice.publishes("hello")
    await acts.boosts(bob, post)
    boost_id = await acts.boost_of(bob, post)
    assert boost_id
    await undo(services, bob, post, boost_id, done)
    await world.deliver_all()
    assert await bob.profile_ids() == await bob.home_ids() == await carol.home_ids() == [boost_id]


@pytest.mark.parametrize("gone", [PostState.PENDING, PostState.ABSENT])
async def test_a_boost_abandoned_for_a_minute_gets_a_new_id(store: Store, gone: PostState) -> None:
    clock = FixedClock(1_900_000_000_000)
    services = Services(store, clock, ServiceConfig())
    world, acts = World(services), PersonReactions(services)
    alice, bob = await world.people("alice", "bob")
    post = await alice.publishes("hello")
    await world.deliver_all()
    dead = id_at(clock.now_ms() + 1, 7)
    if gone is PostState.PENDING:
        await services.repositories.posts.reserve_id(dead)
    await services.repositories.reactions.add(ReactionKind.BOOST, post.id, bob.id, dead)
    clock.advance(61_000)
    answers = await asyncio.gather(*(acts.boosts(bob, post) for _ in range(5)))
    assert [answer.counts.boosts for answer in answers] == [1] * 5
    fresh = await acts.boost_of(bob, post)
    assert fresh
    assert fresh > dead
    # The job of the dead request is performed late: the tombstone stops it.
    await services.outbox.add(encode_job(SyndicatePost.from_post(boost_post(dead, bob.id, post))))
    await world.deliver_all()
    assert await bob.profile_ids() == await bob.home_ids() == [fresh]
    assert await services.repositories.posts.find_state(dead) is PostState.SUPERSEDED
