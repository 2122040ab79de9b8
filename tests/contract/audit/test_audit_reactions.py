"""The audit of likes, boosts, their counts, blocks and follow requests: each damage is reported and repaired."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from socialsite.ids import PostId
from tests.support.sample_site import SampleSite
from tests.support.world import World
from timelines import keys
from timelines.audit.trimming import Trimming
from timelines.keys import BOOKMARKS_CAP
from timelines.posts.post import UNLISTED, Post


class Square:
    """Alice likes and boosts Bob's post; Carol likes it and blocks Bob; Bob requests to follow Carol."""

    def __init__(self, town: SampleSite) -> None:
        self.town = town
        self.post: Post = town.first
        self.boost: PostId

    @classmethod
    async def built(cls, world: World) -> "Square":
        square = cls(await SampleSite.build(world))
        town, reactions, now_ms = square.town, world.services.reactions, world.services.clock.now_ms()
        for person in (town.alice, town.carol):
            await reactions.like(account_id=person.id, post_id=square.post.id, now_ms=now_ms)
        await reactions.boost(account_id=town.alice.id, post_id=square.post.id, now_ms=now_ms)
        await town.carol.blocks(town.bob)
        await world.services.repositories.follow_requests.add(town.bob.id, town.carol.id, now_ms)
        await world.deliver_all()
        for person in (town.alice, town.bob, town.carol):
            await person.home()
        score = await town.execute("ZSCORE", keys.boosts(square.post.id), town.alice.id)
        square.boost = PostId(int(float(score)))
        return square


@pytest.fixture
async def square(world: World) -> Square:
    return await Square.built(world)


Damage = Callable[[Square], Awaitable[object]]
DAMAGE: dict[str, Damage] = {
    "counts_wrong": lambda s: s.town.execute("SET", keys.post_counts(s.post.id), "7 7 7"),
    "like_unindexed": lambda s: s.town.execute("DEL", keys.liked_posts(s.town.alice.id)),
    "like_one_sided": lambda s: s.town.execute("DEL", keys.likes(s.post.id)),
    "like_of_nobody": lambda s: s.town.execute("ZADD", keys.likes(s.post.id), 5, 999),
    "likes_of_nothing": lambda s: s.town.execute("ZADD", keys.likes(12345), 5, s.town.alice.id),
    "boost_unindexed": lambda s: s.town.execute("DEL", keys.boosted_posts(s.town.alice.id)),
    "boost_unlisted": lambda s: s.town.execute("DEL", keys.boosts(s.post.id)),
    "boost_of_nobody": lambda s: s.town.execute("ZADD", keys.boosts(s.post.id), 5, 999),
    "reaction_garbage": lambda s: s.town.execute("ZADD", keys.liked_posts(s.town.bob.id), 5, "rubbish"),
    "block_one_sided": lambda s: s.town.execute("DEL", keys.blocked_by(s.town.bob.id)),
    "block_of_nobody": lambda s: s.town.execute("ZADD", keys.blocks(s.town.bob.id), 5, 999),
    "request_one_sided": lambda s: s.town.execute("DEL", keys.sent_follow_requests(s.town.bob.id)),
    "key_of_wrong_type": lambda s: s.town.services.store.execute_all(
        [("DEL", keys.likes(s.post.id)), ("SET", keys.likes(s.post.id), "no set")]
    ),
}


async def test_a_healthy_site_has_no_damage(square: Square) -> None:
    assert [str(found) for found in (await square.town.audit()).discrepancies] == []


@pytest.mark.parametrize("kind", DAMAGE)
async def test_damage_is_repaired_to_the_original_data(square: Square, kind: str) -> None:
    before = await _facts(square)
    await DAMAGE[kind](square)
    report = await square.town.audit(repair=True)
    assert kind in report.damage, [str(found) for found in report.discrepancies]
    await square.town.repair_until_clean()
    assert await _facts(square) == before


async def _facts(square: Square) -> list[object]:
    """Return the reactions, blocks and follow requests of both sides, and the counts."""
    town, post_id = square.town, square.post.id
    sets = [
        keys.likes(post_id), keys.boosts(post_id), keys.liked_posts(town.alice.id), keys.boosted_posts(town.alice.id),
        keys.blocks(town.carol.id), keys.blocked_by(town.bob.id), keys.follow_requests(town.carol.id),
        keys.sent_follow_requests(town.bob.id),
    ]  # fmt: skip
    replies = await town.services.store.execute_all([("ZRANGE", key, 0, -1, "WITHSCORES") for key in sets])
    return [*replies, await town.execute("GET", keys.post_counts(post_id))]


async def test_likes_of_a_deleted_post_are_reported_as_leftovers(square: Square) -> None:
    await square.town.bob.deletes(square.post)
    await square.town.world.deliver_all()
    report = await square.town.audit(repair=True)
    assert not report.damage, [str(found) for found in report.discrepancies]
    assert report.leftovers["like_gone"] == 2
    await square.town.repair_until_clean()


async def test_the_repair_deletes_boosts_of_a_deleted_post(square: Square) -> None:
    """The deletion stopped after it had written the tombstone."""
    town = square.town
    posts_before = await town.services.reading.post_count(town.alice.id)
    await town.services.repositories.posts.delete(square.post.id, town.bob.id)
    assert (await town.audit(repair=True)).leftovers["boosts_left"] == 1
    await town.world.deliver_all()
    assert await town.services.reading.post_count(town.alice.id) == posts_before - 1
    await town.repair_until_clean()
    assert not await town.execute("EXISTS", keys.boosts_to_delete(square.post.id))


async def test_repairs_during_changes_of_reactions_leave_no_damage(square: Square) -> None:
    """Two reads may both see a half-written like; the final repair removes that damage."""
    town, stop = square.town, asyncio.Event()
    reactions, now_ms = town.services.reactions, town.services.clock.now_ms

    async def lively() -> None:
        while not stop.is_set():
            await reactions.unlike(account_id=town.alice.id, post_id=square.post.id)
            await town.carol.unblocks(town.bob)
            await reactions.like(account_id=town.alice.id, post_id=square.post.id, now_ms=now_ms())
            await reactions.unboost(account_id=town.alice.id, post_id=square.post.id)
            await town.carol.blocks(town.bob)
            await reactions.boost(account_id=town.alice.id, post_id=square.post.id, now_ms=now_ms())
            await town.world.deliver_all()

    running = asyncio.create_task(lively())
    try:
        for _ in range(5):
            await town.audit(repair=True)
    finally:
        stop.set()
        await running
    await town.repair_until_clean()


async def test_an_unlisted_post_is_removed_from_the_public_timeline(square: Square) -> None:
    town = square.town
    post = await town.bob.publishes("not for strangers", audience=UNLISTED)
    await town.world.deliver_all()
    assert not (await town.audit()).damage
    await town.execute("ZADD", keys.public_timeline(), post.id, post.id)
    assert (await town.audit(repair=True)).damage == {"public_of_unlisted": 1}
    assert await town.execute("ZSCORE", keys.public_timeline(), post.id) is None
    await town.repair_until_clean()


async def test_a_deleted_accounts_reactions_are_deleted(square: Square) -> None:
    town = square.town
    await town.services.accounts.delete(account_id=town.alice.id)
    await town.world.deliver_all()
    assert [str(found) for found in (await town.audit()).discrepancies if found.is_damage] == []
    assert await town.execute("GET", keys.post_counts(square.post.id)) == b"1 0 1"


async def test_trimming_removes_reactions_to_deleted_posts_and_applies_the_caps(square: Square) -> None:
    town = square.town
    await town.bob.deletes(square.post)
    await town.world.deliver_all()
    await town.execute("ZADD", keys.boosted_posts(town.alice.id), 1, square.post.id)  # as if more boosts had followed
    key = keys.bookmarks(town.alice.id)
    for start in range(0, BOOKMARKS_CAP + 10, 2_000):
        ids = range(start + 1, min(BOOKMARKS_CAP + 10, start + 2_000) + 1)
        await town.execute("ZADD", key, *(part for number in ids for part in (number, number)))
    done = await Trimming(town.services.audit_context, second_check_after_s=0.01).trim()
    assert (done["like_gone"], done["boost_gone"], done["bookmarks"]) == (2, 1, 10)
    assert await town.execute("ZRANGE", key, 0, 0) == [b"11"], "the oldest went"
    assert not await Trimming(town.services.audit_context, second_check_after_s=0.01).trim()
