"""Boosts are posts with an idempotent id, and each reader sees one boost of a post (docs/reference/architecture.md)."""

import asyncio

import pytest

from socialsite.clock import DAY_MS, FixedClock
from socialsite.container import Services
from socialsite.ids import AccountId, PostId
from socialsite.service_config import ServiceConfig
from socialsite.store import Store, StoreFull
from tests.support.reacting import PersonReactions
from tests.support.world import World
from timelines import keys
from timelines.errors import NotBoostable
from timelines.posts.post import FOLLOWERS, UNLISTED, Post, PostCounts
from timelines.reactions.repository import ReactionKind
from timelines.reading.hydration import HydrationState
from timelines.reading.viewer_rights import ViewerContext
from timelines.visibility.rights import ViewContext, ViewerRelations


async def test_a_boost_is_in_its_boosters_timelines_before_the_response(world: World, acts: PersonReactions) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    await carol.follows(bob)
    post = await alice.publishes("hello #there")
    answer = await acts.boosts(bob, post)
    assert (answer.post, answer.counts, answer.original) == (post, PostCounts(boosts=1), None)
    assert answer.viewer
    assert answer.viewer.boosted
    boost_id = await acts.boost_of(bob, post)
    assert await bob.home_ids() == await bob.profile_ids() == [boost_id]
    assert await world.public_ids() == [post.id]
    await world.deliver_all()
    (entry,) = (await carol.home()).entries
    assert (entry.post.id, entry.author.handle) == (boost_id, "bob")
    assert (entry.shown.post, entry.shown.author.handle) == (post, "alice")
    assert entry.counts == PostCounts(boosts=1)


async def test_repeating_a_boost_changes_nothing(world: World, acts: PersonReactions, services: Services) -> None:
    alice, bob = await world.people("alice", "bob")
    post = await alice.publishes("hello")
    answers = await asyncio.gather(*(acts.boosts(bob, post) for _ in range(10)))
    first = await acts.boost_of(bob, post)
    await world.deliver_all()
    answers.append(await acts.boosts(bob, post))
    assert [answer.counts.boosts for answer in answers] == [1] * 11
    assert await acts.boost_of(bob, post) == first
    assert await bob.profile_ids() == await bob.home_ids() == [first]
    assert await services.outbox.fetch("abad1dea", 10, 1) == []


async def test_a_boost_of_a_boost_is_a_boost_of_the_original(
    world: World, acts: PersonReactions, services: Services
) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    post = await alice.publishes("hello")
    await acts.boosts(bob, post)
    boost = await services.repositories.posts.find(await acts.boost_of(bob, post) or PostId(0))
    assert boost
    assert (await acts.boosts(carol, boost)).post == post
    assert (await acts.likes(carol, boost)).post == post
    assert (await acts.bookmarks(carol, boost)).counts == PostCounts(boosts=2, likes=1)
    assert await acts.bookmark_ids(carol) == [post.id]
    answer = await carol.publishes("an answer", in_reply_to=boost)
    assert answer.in_reply_to == post.id
    assert (await acts.unboosts(carol, boost)).counts.boosts == 1


async def test_only_public_and_unlisted_posts_can_be_boosted(
    world: World, acts: PersonReactions, services: Services
) -> None:
    alice, bob = await world.people("alice", "bob")
    await bob.follows(alice)

    async def publish(audience: int) -> Post:
        return await services.publishing.publish(
            author_id=alice.id, text="words", audience=audience, now_ms=services.clock.now_ms()
        )

    followers, unlisted = await publish(FOLLOWERS), await publish(UNLISTED)
    for person in (alice, bob):
        with pytest.raises(NotBoostable):
            await acts.boosts(person, followers)
    assert (await acts.boosts(bob, unlisted)).counts.boosts == 1
    account = f"accounts:{{{alice.id}}}:account"
    post = await publish(0)
    await services.store.node(keys.home_timeline(alice.id)).execute("HSET", account, "private", "1")
    with pytest.raises(NotBoostable):
        await acts.boosts(bob, post)
    assert (await acts.read_counts_as(bob, post)).boosts == 0


async def test_the_original_hides_its_boosts_for_a_day(store: Store) -> None:
    clock = FixedClock(1_900_000_000_000)
    services = Services(store, clock, ServiceConfig())
    world, acts = World(services), PersonReactions(services)
    alice, bob, carol = await world.people("alice", "bob", "carol")
    for author in (alice, bob):
        await carol.follows(author)
    early, late = await alice.publishes("early"), await alice.publishes("late")
    clock.advance(DAY_MS)
    await acts.boosts(bob, late)
    clock.advance(1)
    await acts.boosts(bob, early)
    await world.deliver_all()
    assert await carol.home_ids() == [await acts.boost_of(bob, early), late.id, early.id]


async def test_the_next_boost_replaces_a_removed_boost(world: World, acts: PersonReactions) -> None:
    alice, bob, carol, dave = await world.people("alice", "bob", "carol", "dave")
    for booster in (bob, carol):
        await dave.follows(booster)
    post = await alice.publishes("hello")
    await acts.boosts(bob, post)
    await acts.boosts(carol, post)
    await world.deliver_all()
    assert await dave.home_ids() == [await acts.boost_of(bob, post)]
    await acts.unboosts(bob, post)
    assert await dave.home_ids() == [await acts.boost_of(carol, post)]
    await acts.boosts(bob, post)
    await world.deliver_all()
    assert await dave.home_ids() == [await acts.boost_of(carol, post)]
    await dave.unfollows(carol)
    assert await dave.home_ids() == [await acts.boost_of(bob, post)]


async def test_fifty_earlier_boosts_are_checked_for_each_boost(world: World, acts: PersonReactions) -> None:
    alice, bob, carol, dave = await world.people("alice", "bob", "carol", "dave")
    for booster in (bob, carol):
        await dave.follows(booster)
    post = await alice.publishes("hello")
    await acts.boosts(bob, post)
    first = await acts.boost_of(bob, post)
    assert first
    reactions = acts.services.repositories.reactions
    for number in range(49):
        await reactions.add(ReactionKind.BOOST, post.id, AccountId(1000 + number), first + 1 + number)
    await acts.boosts(carol, post)
    await world.deliver_all()
    assert await dave.home_ids() == [first]
    await reactions.add(ReactionKind.BOOST, post.id, AccountId(2000), first + 50)
    assert await dave.home_ids() == [await acts.boost_of(carol, post), first]


async def test_a_boost_is_refused_while_memory_is_full(world: World, acts: PersonReactions, services: Services) -> None:
    alice, bob = await world.people("alice", "bob")
    post = await alice.publishes("hello")
    full = Services(services.store, services.clock, ServiceConfig(memory_reserve=1 << 62))
    await services.store.nodes[0].execute("CONFIG", "SET", "maxmemory", "1gb")
    try:
        for act in (
            PersonReactions(full).boosts,
            PersonReactions(full).likes,
            PersonReactions(full).bookmarks,
        ):
            with pytest.raises(StoreFull):
                await act(bob, post)
        assert (await acts.unboosts(bob, post)).counts == PostCounts()
    finally:
        await services.store.nodes[0].execute("CONFIG", "SET", "maxmemory", "0")


async def test_all_earlier_boosters_of_a_full_page_are_checked(services: Services) -> None:
    """A page of 200 boosts with 50 earlier boosters each exceeds the limit of one script call."""
    reader, everybody = AccountId(1), [AccountId(number) for number in range(2, 10_002)]
    pipeline, rights = services.pipeline, services.reading.home_rights(reader)
    state = HydrationState(pipeline.sources, [ViewerContext(reader, ViewContext.HOME, rights)], 1)
    await services.repositories.blocks_and_mutes.block(reader, everybody[-1], 1)
    await state.load_accounts(everybody)
    assert state.rights[0].allowed_ids == set()
    assert state.rights[0].relations == ViewerRelations(reader, 1, blocks=frozenset({everybody[-1]}))
