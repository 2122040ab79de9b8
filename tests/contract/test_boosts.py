"""Boosts: posts of their own, agreed on like an idempotency key, and shown once (DESIGN 2.8)."""

import asyncio

import pytest

from accounts.domain import DAY_MS, AccountId
from socialsite.clock import FixedClock
from socialsite.configuration import Configuration
from socialsite.ids import PostId, id_at
from socialsite.services import Services, build_services
from socialsite.store import Store, StoreFull
from tests.support.reacting import Acts
from tests.support.world import Person, World
from timelines import keys
from timelines.domain.jobs import FadeBoosts, PurgeAccount, SyndicatePost, encode_job
from timelines.domain.page import Counts
from timelines.domain.post import FOLLOWERS, UNLISTED, Post
from timelines.domain.rights import Place, ReaderState
from timelines.errors import BoostRefused, PostNotFound
from timelines.repositories.posts import PostState
from timelines.repositories.reactions import Gone, Kind
from timelines.services import boosting, purging
from timelines.services.boosting import boost_post
from timelines.services.looking_up import Lookup


@pytest.fixture
def acts(services: Services) -> Acts:
    return Acts(services)


async def test_a_boost_stands_in_its_boosters_timelines_before_the_answer(world: World, acts: Acts) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    await carol.follows(bob)
    post = await alice.publishes("hello #there")
    answer = await acts.boosts(bob, post)
    assert (answer.post, answer.counts, answer.original) == (post, Counts(boosts=1), None)
    assert answer.viewer
    assert answer.viewer.boosted
    boost_id = await acts.boost_of(bob, post)
    assert await bob.home_ids() == await bob.profile_ids() == [boost_id]
    assert await world.public_ids() == [post.id]
    await world.work()
    (entry,) = (await carol.home()).entries
    assert (entry.post.id, entry.author.handle) == (boost_id, "bob")
    assert (entry.shown.post, entry.shown.author.handle) == (post, "alice")
    assert entry.counts == Counts(boosts=1)


async def test_repeating_a_boost_changes_nothing(world: World, acts: Acts, services: Services) -> None:
    alice, bob = await world.people("alice", "bob")
    post = await alice.publishes("hello")
    answers = await asyncio.gather(*(acts.boosts(bob, post) for _ in range(10)))
    first = await acts.boost_of(bob, post)
    await world.work()
    answers.append(await acts.boosts(bob, post))
    assert [answer.counts.boosts for answer in answers] == [1] * 11
    assert await acts.boost_of(bob, post) == first
    assert await bob.profile_ids() == await bob.home_ids() == [first]
    assert await services.outbox.take("abad1dea", 10, 1) == []


async def test_a_boost_of_a_boost_is_one_of_the_original(
    world: World, acts: Acts, services: Services
) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    post = await alice.publishes("hello")
    await acts.boosts(bob, post)
    boost = await services.repositories.posts.find(await acts.boost_of(bob, post) or PostId(0))
    assert boost
    assert (await acts.boosts(carol, boost)).post == post
    assert (await acts.likes(carol, boost)).post == post
    assert (await acts.bookmarks(carol, boost)).counts == Counts(boosts=2, likes=1)
    assert await acts.bookmark_ids(carol) == [post.id]
    answer = await carol.publishes("an answer", in_reply_to=boost)
    assert answer.in_reply_to == post.id
    assert (await acts.unboosts(carol, boost)).counts.boosts == 1


async def test_only_what_everybody_may_see_is_boosted(world: World, acts: Acts, services: Services) -> None:
    alice, bob = await world.people("alice", "bob")
    await bob.follows(alice)

    async def publish(audience: int) -> Post:
        return await services.publishing.publish(
            author_id=alice.id, text="words", audience=audience, now_ms=services.clock.now_ms()
        )

    followers, unlisted = await publish(FOLLOWERS), await publish(UNLISTED)
    for person in (alice, bob):
        with pytest.raises(BoostRefused):
            await acts.boosts(person, followers)
    assert (await acts.boosts(bob, unlisted)).counts.boosts == 1
    account = f"accounts:{{{alice.id}}}:account"
    post = await publish(0)
    await services.store.node(keys.home_timeline(alice.id)).execute("HSET", account, "private", "1")
    with pytest.raises(BoostRefused):
        await acts.boosts(bob, post)
    assert (await acts.counted_by(bob, post)).boosts == 0


async def undo(services: Services, person: Person, post: Post, boost_id: PostId, done: int) -> None:
    """Leave of a boost only its first `done` steps after the agreement: the job, the post, its places."""
    at, node = services.repositories, services.store.node(keys.post(post.id))
    await node.execute("ZREM", keys.boosted(person.id), post.id)
    if done < 3:
        await at.profiles.remove(person.id, boost_id)
        await at.homes.forget(person.id)
    if done < 2:
        await node.execute("SET", keys.post(boost_id), "pending", "EX", 3600)
    if done < 1:
        await node.execute("DEL", "jobs:{outbox}:stream")
        await services.outbox.prepare()


@pytest.mark.parametrize("done", range(4))
async def test_repeating_finishes_what_a_crash_cut_off(
    store: Store, services: Services, world: World, acts: Acts, done: int
) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    await carol.follows(bob)
    post = await alice.publishes("hello")
    await world.work()
    await acts.boosts(bob, post)
    boost_id = await acts.boost_of(bob, post)
    assert boost_id
    await undo(services, bob, post, boost_id, done)
    answer = await acts.boosts(bob, post)
    assert answer.counts.boosts == 1
    assert answer.viewer
    assert answer.viewer.boosted
    await world.work()
    assert await acts.boost_of(bob, post) == boost_id
    for ids in (await bob.profile_ids(), await bob.home_ids(), await carol.home_ids()):
        assert ids == [boost_id]
    assert await acts.index_of(bob) == (set(), {post.id})


@pytest.mark.parametrize("done", range(1, 4))
async def test_the_worker_finishes_what_a_crash_cut_off(
    services: Services, world: World, acts: Acts, done: int
) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    await carol.follows(bob)
    post = await alice.publishes("hello")
    await acts.boosts(bob, post)
    boost_id = await acts.boost_of(bob, post)
    assert boost_id
    await undo(services, bob, post, boost_id, done)
    await world.work()
    assert await bob.profile_ids() == await bob.home_ids() == await carol.home_ids() == [boost_id]


@pytest.mark.parametrize("gone", [PostState.PENDING, PostState.ABSENT])
async def test_a_boost_given_up_for_a_minute_takes_a_fresh_id(store: Store, gone: PostState) -> None:
    clock = FixedClock(1_900_000_000_000)
    services = build_services(store, clock, Configuration())
    world, acts = World(services), Acts(services)
    alice, bob = await world.people("alice", "bob")
    post = await alice.publishes("hello")
    await world.work()
    dead = id_at(clock.now_ms() + 1, 7)
    if gone is PostState.PENDING:
        await services.repositories.posts.claim(dead)
    await services.repositories.reactions.join(Kind.BOOST, post.id, bob.id, dead)
    clock.advance(61_000)
    answers = await asyncio.gather(*(acts.boosts(bob, post) for _ in range(5)))
    assert [answer.counts.boosts for answer in answers] == [1] * 5
    fresh = await acts.boost_of(bob, post)
    assert fresh
    assert fresh > dead
    # The job of the request that died comes late: the tombstone stops it.
    await services.outbox.add(encode_job(SyndicatePost(boost_post(dead, bob.id, post))))
    await world.work()
    assert await bob.profile_ids() == await bob.home_ids() == [fresh]
    assert await services.repositories.posts.state(dead) is PostState.SUPERSEDED


async def test_unboosting_takes_it_out_everywhere_and_no_job_revives_it(
    world: World, acts: Acts, services: Services
) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    await carol.follows(bob)
    assert await carol.home_ids() == []
    post = await alice.publishes("hello")
    await acts.boosts(bob, post)
    boost_id = await acts.boost_of(bob, post)
    assert boost_id
    for _ in range(2):
        answer = await acts.unboosts(bob, post)
        assert answer.counts == Counts()
        assert answer.viewer
        assert not answer.viewer.boosted
    await world.work()
    assert await bob.profile_ids() == await bob.home_ids() == await carol.home_ids() == []
    assert await acts.index_of(bob) == (set(), set())
    with pytest.raises(PostNotFound):
        await services.reading.post(boost_id, viewer_id=bob.id)


@pytest.mark.parametrize("steps", range(5))
async def test_repeating_finishes_an_unboost_that_a_crash_cut_off(
    world: World, acts: Acts, services: Services, steps: int
) -> None:
    alice, bob = await world.people("alice", "bob")
    post = await alice.publishes("hello")
    await acts.boosts(bob, post)
    boost_id = await acts.boost_of(bob, post)
    assert boost_id
    at = services.repositories
    if steps > 0:
        await at.posts.delete(boost_id, bob.id, claimed=True)
    if steps > 1:
        await at.profiles.remove(bob.id, boost_id)
    if steps > 2:
        await at.reactions.leave(Kind.BOOST, post.id, bob.id, only_at=boost_id)
    if steps > 3:
        await at.reactions.note(Kind.BOOST, post.id, bob.id)
    assert (await acts.unboosts(bob, post)).counts == Counts()
    assert await bob.profile_ids() == await bob.home_ids() == []
    assert await acts.index_of(bob) == (set(), set())
    # And from each of these states one can boost again instead.
    assert (await acts.boosts(bob, post)).counts.boosts == 1
    again = await acts.boost_of(bob, post)
    assert again
    assert again > boost_id
    assert await bob.profile_ids() == await bob.home_ids() == [again]


async def test_after_half_an_unboost_a_boost_takes_a_fresh_id(
    world: World, acts: Acts, services: Services
) -> None:
    alice, bob = await world.people("alice", "bob")
    post = await alice.publishes("hello")
    await acts.boosts(bob, post)
    dead = await acts.boost_of(bob, post)
    assert dead
    await services.repositories.posts.delete(dead, bob.id)
    await acts.boosts(bob, post)
    fresh = await acts.boost_of(bob, post)
    assert fresh != dead
    assert await bob.profile_ids() == [fresh]
    assert (await acts.counted(post)).boosts == 1


async def test_deleting_ones_boost_is_unboosting(world: World, acts: Acts, services: Services) -> None:
    alice, bob = await world.people("alice", "bob")
    post = await alice.publishes("hello")
    await acts.boosts(bob, post)
    boost_id = await acts.boost_of(bob, post)
    assert boost_id
    with pytest.raises(PostNotFound):
        await services.publishing.delete(account_id=alice.id, post_id=boost_id)
    for _ in range(2):
        await services.publishing.delete(account_id=bob.id, post_id=boost_id)
    assert await acts.counted(post) == Counts()
    assert await acts.boost_of(bob, post) is None
    assert await acts.index_of(bob) == (set(), set())
    assert await bob.profile_ids() == []


async def test_boosting_and_unboosting_at_once_ends_in_one_of_both(world: World, acts: Acts) -> None:
    alice, bob = await world.people("alice", "bob")
    post = await alice.publishes("hello")
    for _ in range(15):
        await asyncio.gather(
            *(acts.boosts(bob, post) if n % 2 else acts.unboosts(bob, post) for n in range(5))
        )
        await world.work()
        boost_id = await acts.boost_of(bob, post)
        expected = [boost_id] if boost_id else []
        assert await bob.profile_ids() == await bob.home_ids() == expected
        assert (await acts.counted(post)).boosts == len(expected)
        assert (await acts.index_of(bob))[1] == ({post.id} if expected else set())


async def test_the_original_hides_its_boosts_for_a_day(store: Store) -> None:
    clock = FixedClock(1_900_000_000_000)
    services = build_services(store, clock, Configuration())
    world, acts = World(services), Acts(services)
    alice, bob, carol = await world.people("alice", "bob", "carol")
    for author in (alice, bob):
        await carol.follows(author)
    early, late = await alice.publishes("early"), await alice.publishes("late")
    clock.advance(DAY_MS)
    await acts.boosts(bob, late)
    clock.advance(1)
    await acts.boosts(bob, early)
    await world.work()
    assert await carol.home_ids() == [await acts.boost_of(bob, early), late.id, early.id]


async def test_the_next_booster_takes_over(world: World, acts: Acts) -> None:
    alice, bob, carol, dave = await world.people("alice", "bob", "carol", "dave")
    for booster in (bob, carol):
        await dave.follows(booster)
    post = await alice.publishes("hello")
    await acts.boosts(bob, post)
    await acts.boosts(carol, post)
    await world.work()
    assert await dave.home_ids() == [await acts.boost_of(bob, post)]
    await acts.unboosts(bob, post)
    assert await dave.home_ids() == [await acts.boost_of(carol, post)]
    await acts.boosts(bob, post)
    await world.work()
    assert await dave.home_ids() == [await acts.boost_of(carol, post)]
    await dave.unfollows(carol)
    assert await dave.home_ids() == [await acts.boost_of(bob, post)]


async def test_fifty_boosts_are_looked_at_before_one_is_shown(world: World, acts: Acts) -> None:
    alice, bob, carol, dave = await world.people("alice", "bob", "carol", "dave")
    for booster in (bob, carol):
        await dave.follows(booster)
    post = await alice.publishes("hello")
    await acts.boosts(bob, post)
    first = await acts.boost_of(bob, post)
    assert first
    reactions = acts.services.repositories.reactions
    for number in range(49):
        await reactions.join(Kind.BOOST, post.id, AccountId(1000 + number), first + 1 + number)
    await acts.boosts(carol, post)
    await world.work()
    assert await dave.home_ids() == [first]
    await reactions.join(Kind.BOOST, post.id, AccountId(2000), first + 50)
    assert await dave.home_ids() == [await acts.boost_of(carol, post), first]


async def test_a_boost_goes_with_its_original_and_its_author(
    world: World, acts: Acts, services: Services
) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    await carol.follows(bob)
    post, other = await alice.publishes("hello"), await alice.publishes("more")
    for each in (post, other):
        await acts.boosts(bob, each)
    await world.work()
    await alice.deletes(post)
    assert await carol.home_ids() == await bob.profile_ids() == [await acts.boost_of(bob, other)]
    with pytest.raises(Gone):
        await services.repositories.reactions.join(Kind.BOOST, post.id, carol.id, 1)
    await services.accounts.suspend(account_id=alice.id)
    assert await carol.home_ids() == await bob.profile_ids() == []


async def test_no_room_no_boost(world: World, acts: Acts, services: Services) -> None:
    alice, bob = await world.people("alice", "bob")
    post = await alice.publishes("hello")
    full = build_services(services.store, services.clock, Configuration(memory_reserve=1 << 62))
    await services.store.nodes[0].execute("CONFIG", "SET", "maxmemory", "1gb")
    try:
        for act in (Acts(full).boosts, Acts(full).likes, Acts(full).bookmarks):
            with pytest.raises(StoreFull):
                await act(bob, post)
        assert (await acts.unboosts(bob, post)).counts == Counts()
    finally:
        await services.store.nodes[0].execute("CONFIG", "SET", "maxmemory", "0")


async def test_as_many_earlier_boosters_as_a_page_can_have_are_looked_at(services: Services) -> None:
    """50 of each of 200 boosts: more than a script takes at once."""
    reader, everybody = AccountId(1), [AccountId(number) for number in range(2, 10_002)]
    hydrator, rights = services.hydrator, services.reading.home_rights(reader)
    found = Lookup(hydrator.reach, hydrator.remembered, reader, rights, Place.HOME, 1)
    await services.repositories.relations.block(reader, everybody[-1], 1)
    await found.look_at_accounts(everybody)
    assert found.allowed == set()
    assert found.reader == ReaderState(reader, 1, blocks=frozenset({everybody[-1]}))


@pytest.mark.parametrize("ending", ["post", "account"])
async def test_more_boosts_than_a_request_takes_along_go_by_the_worker(
    world: World, services: Services, acts: Acts, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    """In rounds, however many: the first with the deletion, and a stop in between is gone on from."""
    monkeypatch.setattr(boosting, "FADING_MOST", 2)
    alice, *boosters = await world.people("alice", *(f"booster{number}" for number in range(7)))
    post = await alice.publishes("hello")
    for booster in boosters:
        await acts.boosts(booster, post)
    await world.work()

    async def counts() -> list[int]:
        return [await services.reading.post_count(booster.id) for booster in boosters]

    if ending == "post":
        await alice.deletes(post)
        assert await counts() == [1, 1, 1, 1, 1, 0, 0]  # the newest first
        assert await services.syndication.handle(encode_job(FadeBoosts(post.id)))
        assert await counts() == [1, 1, 1, 0, 0, 0, 0]
        await alice.deletes(post)  # once more
        assert await counts() == [1, 0, 0, 0, 0, 0, 0]
    else:
        await services.accounts.delete(account_id=alice.id, now_ms=services.clock.now_ms())
    await world.work()
    assert await counts() == [0] * 7
    assert [await acts.index_of(booster) for booster in boosters] == [(set(), set())] * 7
    (left,) = await services.store.gather([("EXISTS", keys.fading(post.id))])
    assert not left


async def test_a_round_of_a_purge_takes_few_boosts_along(
    world: World, services: Services, acts: Acts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purging, "ROUND", 2)
    alice, *others = await world.people("alice", "bob", "carol", "dave")
    for post in [await alice.publishes(f"post {number}") for number in range(2)]:
        for booster in others:
            await acts.boosts(booster, post)
    await world.work()
    await services.accounts.delete(account_id=alice.id, now_ms=services.clock.now_ms())
    job = encode_job(PurgeAccount(alice.id))
    assert await services.syndication.handle(job) == (job,)
    assert [await services.reading.post_count(booster.id) for booster in others] == [1, 1, 1]
    await world.work()
    assert [await services.reading.post_count(booster.id) for booster in others] == [0, 0, 0]


@pytest.mark.parametrize("ending", ["post", "account"])
async def test_boosts_go_with_what_they_show(
    world: World, services: Services, acts: Acts, ending: str
) -> None:
    """Or their boosters would have posts that nobody sees, counted for ever."""
    alice, bob, carol = await world.people("alice", "bob", "carol")
    post = await alice.publishes("hello")
    for booster in (bob, carol):
        await acts.boosts(booster, post)
    await world.work()
    if ending == "post":
        await alice.deletes(post)
    else:
        await services.accounts.delete(account_id=alice.id, now_ms=services.clock.now_ms())
        await world.work()
    for booster in (bob, carol):
        assert await services.reading.post_count(booster.id) == 0
        assert await acts.index_of(booster) == (set(), set())
