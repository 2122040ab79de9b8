"""After the removal of a boost: the boosts that it hid, their readers, and the tombstone."""

import pytest

from socialsite.clock import DAY_MS
from socialsite.container import Services
from socialsite.ids import SEQUENCE_MASK, AccountId, PostId, id_at, ms_from_id
from socialsite.store import Store
from tests.support.reacting import PersonReactions
from tests.support.seats import home_viewer, list_viewer
from tests.support.world import World
from timelines import keys
from timelines.posts.post import Post
from timelines.posts.repository import PostRepository
from timelines.visibility.boosters import MAX_EARLIER_BOOSTS, LaterBoosts, read_earlier_boosters

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
    assert await posts.find_deleted([boost_id, post.id, answer.id]) == {}
    await acts.unboosts(bob, post)
    await bob.deletes(answer)
    expected = {boost_id: post.id, answer.id: None}
    deleted = await posts.find_deleted([boost_id, post.id, answer.id, PostId(1)])
    assert {id: each.boost_of for id, each in deleted.items()} == expected
    await posts.delete(boost_id, bob.id, include_reserved=True)  # a repeated deletion keeps the tombstone
    assert (await posts.find_deleted([boost_id]))[boost_id].boost_of == post.id
    grave = await posts.find_tombstone(bob.id, boost_id)
    assert grave == Post(boost_id, bob.id, "")
    assert await services.repositories.threads.find_parents([boost_id, answer.id]) == {answer.id: post.id}


async def test_tombstones_of_earlier_releases_and_of_reservations_name_no_boosted_post(store: Store) -> None:
    posts, values = PostRepository(store), ["deleted", "deleted:7", "deleted:7:4096", "superseded"]
    ids = [PostId(4096 * number) for number in range(1, 5)]
    await store.execute_all([("SET", keys.post(id), value) for id, value in zip(ids, values, strict=True)])
    claimed = id_at(BASE)
    await posts.reserve_id(claimed)
    await posts.delete(claimed, AccountId(7), include_reserved=True)
    deleted = await posts.find_deleted([*ids, claimed])
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
