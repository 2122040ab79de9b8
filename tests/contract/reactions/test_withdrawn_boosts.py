"""Boosts removed by their booster or with the boosted post: everywhere, in bounded rounds, permanently."""

import asyncio

import pytest

from socialsite.container import Services
from tests.support.reactions import PersonReactions
from tests.support.world import Person, World
from timelines import keys
from timelines.errors import PostNotFound
from timelines.fanout import account_purge as purging
from timelines.jobs import DeleteBoostsOfPost, PurgeAccount, encode_job
from timelines.posts.post import PostCounts
from timelines.reactions import boosts
from timelines.reactions.repository import PostGone, ReactionKind


async def test_unboosting_removes_the_boost_everywhere_and_no_job_restores_it(
    world: World, alice: Person, bob: Person, carol: Person, acts: PersonReactions, services: Services
) -> None:
    await carol.follows(bob)
    assert await carol.home_ids() == []
    post = await alice.publishes("hello")
    await acts.boosts(bob, post)
    boost_id = await acts.boost_of(bob, post)
    assert boost_id
    for _ in range(2):
        answer = await acts.unboosts(bob, post)
        assert answer.counts == PostCounts()
        assert answer.viewer
        assert not answer.viewer.boosted
    await world.deliver_all()
    assert await bob.profile_ids() == await bob.home_ids() == await carol.home_ids() == []
    assert await acts.read_indexes(bob) == (set(), set())
    with pytest.raises(PostNotFound):
        await services.reading.post(boost_id, viewer_id=bob.id)


@pytest.mark.parametrize("steps", range(5))
async def test_repeating_finishes_an_interrupted_unboost(
    alice: Person, bob: Person, acts: PersonReactions, services: Services, steps: int
) -> None:
    post = await alice.publishes("hello")
    await acts.boosts(bob, post)
    boost_id = await acts.boost_of(bob, post)
    assert boost_id
    at = services.repositories
    if steps > 0:
        await at.posts.delete(boost_id, bob.id, include_reserved=True)
    if steps > 1:
        await at.author_timelines.remove(bob.id, boost_id)
    if steps > 2:
        await at.reactions.remove(ReactionKind.BOOST, post.id, bob.id, only_at=boost_id)
    if steps > 3:
        await at.reactions.sync_index(ReactionKind.BOOST, post.id, bob.id)
    assert (await acts.unboosts(bob, post)).counts == PostCounts()
    assert await bob.profile_ids() == await bob.home_ids() == []
    assert await acts.read_indexes(bob) == (set(), set())
    # A new boost is possible from each of these states.
    assert (await acts.boosts(bob, post)).counts.boosts == 1
    again = await acts.boost_of(bob, post)
    assert again
    assert again > boost_id
    assert await bob.profile_ids() == await bob.home_ids() == [again]


async def test_a_boost_after_an_interrupted_unboost_has_a_new_id(
    alice: Person, bob: Person, acts: PersonReactions, services: Services
) -> None:
    post = await alice.publishes("hello")
    await acts.boosts(bob, post)
    dead = await acts.boost_of(bob, post)
    assert dead
    await services.repositories.posts.delete(dead, bob.id)
    await acts.boosts(bob, post)
    fresh = await acts.boost_of(bob, post)
    assert fresh != dead
    assert await bob.profile_ids() == [fresh]
    assert (await acts.read_counts(post)).boosts == 1


async def test_deleting_an_own_boost_is_an_unboost(world: World, acts: PersonReactions, services: Services) -> None:
    alice, bob = await world.people("alice", "bob")
    post = await alice.publishes("hello")
    await acts.boosts(bob, post)
    boost_id = await acts.boost_of(bob, post)
    assert boost_id
    with pytest.raises(PostNotFound):
        await services.publishing.delete(account_id=alice.id, post_id=boost_id)
    for _ in range(2):
        await services.publishing.delete(account_id=bob.id, post_id=boost_id)
    assert await acts.read_counts(post) == PostCounts()
    assert await acts.boost_of(bob, post) is None
    assert await acts.read_indexes(bob) == (set(), set())
    assert await bob.profile_ids() == []


async def test_concurrent_boosts_and_unboosts_end_in_a_consistent_state(world: World, acts: PersonReactions) -> None:
    alice, bob = await world.people("alice", "bob")
    post = await alice.publishes("hello")
    for _ in range(15):
        await asyncio.gather(*(acts.boosts(bob, post) if n % 2 else acts.unboosts(bob, post) for n in range(5)))
        await world.deliver_all()
        boost_id = await acts.boost_of(bob, post)
        expected = [boost_id] if boost_id else []
        assert await bob.profile_ids() == await bob.home_ids() == expected
        assert (await acts.read_counts(post)).boosts == len(expected)
        assert (await acts.read_indexes(bob))[1] == ({post.id} if expected else set())


async def test_a_boost_disappears_with_its_original_and_its_author(
    world: World, alice: Person, bob: Person, carol: Person, acts: PersonReactions, services: Services
) -> None:
    await carol.follows(bob)
    post, other = await alice.publishes("hello"), await alice.publishes("more")
    for each in (post, other):
        await acts.boosts(bob, each)
    await world.deliver_all()
    await alice.deletes(post)
    assert await carol.home_ids() == await bob.profile_ids() == [await acts.boost_of(bob, other)]
    with pytest.raises(PostGone):
        await services.repositories.reactions.add(ReactionKind.BOOST, post.id, carol.id, 1)
    await services.accounts.suspend(account_id=alice.id)
    assert await carol.home_ids() == await bob.profile_ids() == []


@pytest.mark.parametrize("ending", ["post", "account"])
async def test_the_worker_deletes_boosts_above_the_limit_of_a_request(
    world: World, services: Services, acts: PersonReactions, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    """The request deletes one round, the worker the following rounds; an interrupted round is continued."""
    monkeypatch.setattr(boosts, "BOOSTS_PER_ROUND", 2)
    alice, *boosters = await world.people("alice", *(f"booster{number}" for number in range(7)))
    post = await alice.publishes("hello")
    for booster in boosters:
        await acts.boosts(booster, post)
    await world.deliver_all()

    async def counts() -> list[int]:
        return [await services.reading.post_count(booster.id) for booster in boosters]

    if ending == "post":
        await alice.deletes(post)
        assert await counts() == [1, 1, 1, 1, 1, 0, 0]  # the newest boosts are deleted first
        assert await services.fan_out.handle(encode_job(DeleteBoostsOfPost(post.id)))
        assert await counts() == [1, 1, 1, 0, 0, 0, 0]
        await alice.deletes(post)  # a repeated deletion
        assert await counts() == [1, 0, 0, 0, 0, 0, 0]
    else:
        await services.accounts.delete(account_id=alice.id)
    await world.deliver_all()
    assert await counts() == [0] * 7
    assert [await acts.read_indexes(booster) for booster in boosters] == [(set(), set())] * 7
    (left,) = await services.store.execute_all([("EXISTS", keys.boosts_to_delete(post.id))])
    assert not left


async def test_a_round_of_a_purge_deletes_few_boosts(
    world: World, services: Services, acts: PersonReactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purging, "ITEMS_PER_ROUND", 2)
    monkeypatch.setattr(purging, "POSTS_AT_ONCE", 1)
    alice, *others = await world.people("alice", "bob", "carol", "dave")
    for post in [await alice.publishes(f"post {number}") for number in range(2)]:
        for booster in others:
            await acts.boosts(booster, post)
    await world.deliver_all()
    await services.accounts.delete(account_id=alice.id)
    job = encode_job(PurgeAccount(alice.id))
    assert await services.fan_out.handle(job) == (job,)
    assert [await services.reading.post_count(booster.id) for booster in others] == [1, 1, 1]
    await world.deliver_all()
    assert [await services.reading.post_count(booster.id) for booster in others] == [0, 0, 0]


@pytest.mark.parametrize("ending", ["post", "account"])
async def test_boosts_are_deleted_with_the_boosted_post(
    world: World, alice: Person, bob: Person, carol: Person, services: Services, acts: PersonReactions, ending: str
) -> None:
    """Otherwise invisible posts would be counted for their boosters."""
    post = await alice.publishes("hello")
    for booster in (bob, carol):
        await acts.boosts(booster, post)
    await world.deliver_all()
    if ending == "post":
        await alice.deletes(post)
    else:
        await services.accounts.delete(account_id=alice.id)
        await world.deliver_all()
    for booster in (bob, carol):
        assert await services.reading.post_count(booster.id) == 0
        assert await acts.read_indexes(booster) == (set(), set())
