"""Boosts in timelines, who sees them, and crashes during a boost."""

import asyncio

import pytest

from socialsite.clock import DAY_MS, FixedClock
from socialsite.container import Services
from socialsite.ids import SEQUENCE_MASK, AccountId, PostId, id_at, ms_from_id
from socialsite.service_config import ServiceConfig
from socialsite.store import Store, StoreFull
from tests.support.reactions import PersonReactions
from tests.support.visibility_scenario import home_viewer, list_viewer
from tests.support.world import Person, World
from timelines import keys
from timelines.errors import NotBoostable
from timelines.jobs import SyndicatePost, encode_job
from timelines.posts.post import FOLLOWERS, UNLISTED, Post, PostCounts
from timelines.posts.repository import PostRepository
from timelines.posts.stored_values import PostState
from timelines.reactions.boosts import boost_post
from timelines.reactions.repository import ReactionKind
from timelines.reading.hydration import HydrationState
from timelines.reading.viewer_rights import ViewerContext
from timelines.visibility.boosters import MAX_EARLIER_BOOSTS, LaterBoosts, read_earlier_boosters
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
    alice: Person, bob: Person, carol: Person, acts: PersonReactions, services: Services
) -> None:
    post = await alice.publishes("hello")
    await acts.boosts(bob, post)
    boost = await services.repositories.posts.find(await acts.boost_of(bob, post) or PostId(0))
    assert boost
    assert (await acts.boosts(carol, boost)).post == post
    assert (await acts.likes(carol, boost)).post == post
    assert (await acts.bookmarks(carol, boost)).counts == PostCounts(boosts=2, likes=1)
    assert await acts.bookmark_ids(carol) == [post.id]
    assert (await carol.publishes("an answer", in_reply_to=boost)).in_reply_to == post.id
    assert (await acts.unboosts(carol, boost)).counts.boosts == 1


async def test_only_public_and_unlisted_posts_can_be_boosted(
    alice: Person, bob: Person, acts: PersonReactions, services: Services
) -> None:
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
        for act in (PersonReactions(full).boosts, PersonReactions(full).likes, PersonReactions(full).bookmarks):
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


async def undo(services: Services, person: Person, post: Post, boost_id: PostId, done: int) -> None:
    """Undo all but the first `done` steps after the reservation: the job, the post, its timelines."""
    at, node = services.repositories, services.store.node(keys.post(post.id))
    await node.execute("ZREM", keys.boosted_posts(person.id), post.id)
    if done < 3:
        await at.author_timelines.remove(person.id, boost_id)
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
    services: Services, world: World, alice: Person, bob: Person, carol: Person, acts: PersonReactions, done: int
) -> None:
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


BASE = 1_900_000_000_000


async def boosted(store: Store, original: PostId, ids: list[PostId]) -> LaterBoosts:
    """Add boosts of the post by the accounts 1, 2, … in this order."""
    boosts = [(AccountId(number), id) for number, id in enumerate(ids, start=1)]
    key = keys.boosts(original)
    await store.execute_all([("ZADD", key, *(part for account, id in boosts for part in (id, account)))])
    return boosts


async def test_later_boosts_of_a_boost_are_those_with_the_boost_as_an_earlier_boost(services: Services) -> None:
    """The limits are one day, to the millisecond, and 50 boosts."""
    original, store = id_at(BASE - 1), services.store
    times = [BASE, BASE + DAY_MS // 2, *(BASE + DAY_MS + ms for ms in range(-60, 3))]
    boosts = await boosted(store, original, [id_at(ms, low) for ms in times for low in (0, 7, SEQUENCE_MASK)])
    boost_pairs = [(original, id) for _, id in boosts]
    (earlier,) = await store.read(read_earlier_boosters(boost_pairs))
    later = await services.pipeline.load_later_boosts([(id, original) for _, id in boosts])
    for (account, id), found in zip(boosts, later, strict=True):
        assert found == [(other, at) for other, at in boosts if account in earlier[at]], ms_from_id(id)
    assert max(map(len, later)) == MAX_EARLIER_BOOSTS


async def test_the_day_of_a_boost_includes_its_last_millisecond(services: Services) -> None:
    original, store = id_at(BASE - 1), services.store
    first, *others = await boosted(store, original, [id_at(BASE + ms, 3) for ms in (0, *range(DAY_MS - 2, DAY_MS + 3))])
    (found,) = await services.pipeline.load_later_boosts([(first[1], original)])
    assert [ms_from_id(id) - BASE - DAY_MS for _, id in found] == [-2, -1, 0]
    assert found == others[:3]


async def test_removed_and_last_boosts_are_accepted(services: Services) -> None:
    original = id_at(BASE)
    first, second = await boosted(services.store, original, [id_at(BASE + 5), id_at(BASE + 9)])
    await services.store.execute_all([("ZREM", keys.boosts(original), first[0])])
    later_boosts = await services.pipeline.load_later_boosts(
        [(first[1], original), (second[1], original), (first[1], id_at(BASE + 1))]
    )
    assert later_boosts == [[second], [], []]
    assert await services.pipeline.load_later_boosts([]) == []


async def test_a_tombstone_contains_the_boosted_post(services: Services, world: World, acts: PersonReactions) -> None:
    alice, bob = await world.people("alice", "bob")
    post = await alice.publishes("hello")
    answer = await bob.publishes("an answer", in_reply_to=post)
    await acts.boosts(bob, post)
    boost_id = await acts.boost_of(bob, post)
    assert boost_id
    posts = services.repositories.posts
    assert (await posts.find_changed([boost_id, post.id, answer.id]))[1] == {}
    await acts.unboosts(bob, post)
    await bob.deletes(answer)
    expected = {boost_id: post.id, answer.id: None}
    deleted = (await posts.find_changed([boost_id, post.id, answer.id, PostId(1)]))[1]
    assert {id: each.boost_of for id, each in deleted.items()} == expected
    await posts.delete(boost_id, bob.id, include_reserved=True)  # a repeated deletion keeps the tombstone
    assert (await posts.find_changed([boost_id]))[1][boost_id].boost_of == post.id
    assert (await posts.find_tombstone(bob.id, boost_id)) == Post(boost_id, bob.id, "")
    assert await services.repositories.threads.find_parents([boost_id, answer.id]) == {answer.id: post.id}


async def test_tombstones_of_earlier_releases_and_of_reservations_name_no_boosted_post(store: Store) -> None:
    posts, values = PostRepository(store), ["deleted", "deleted:7", "deleted:7:4096", "superseded"]
    ids = [PostId(4096 * number) for number in range(1, 5)]
    await store.execute_all([("SET", keys.post(id), value) for id, value in zip(ids, values, strict=True)])
    claimed = id_at(BASE)
    await posts.reserve_id(claimed)
    await posts.delete(claimed, AccountId(7), include_reserved=True)
    deleted = (await posts.find_changed([*ids, claimed]))[1]
    assert {id: each.boost_of for id, each in deleted.items()} == dict.fromkeys([*ids[:3], claimed])


async def test_timelines_show_an_author_by_follows_and_lists(
    services: Services, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("timelines.reading.pipeline.VIEWERS_PER_BATCH", 2)
    alice, bob, carol = await world.people("alice", "bob", "carol")
    await alice.follows(bob)
    seats = {f"home of {who.handle}": home_viewer(services, who) for who in (alice, bob, carol)}
    seats["with bob"] = await list_viewer(services, carol, bob)
    seats["without bob"] = await list_viewer(services, alice, carol)
    expected = {"home of alice", "home of bob", "with bob"}
    assert await services.pipeline.timelines_showing_author(bob.id, seats) == expected
    assert await services.pipeline.timelines_showing_author(bob.id, {}) == set()
