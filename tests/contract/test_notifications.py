"""Notifications: who is told of what, once; what of it is seen; how much is unread."""

import asyncio
from typing import Any

import pytest

from accounts.domain import AccountId
from socialsite.ids import MAX_ID, PostId
from socialsite.services import Services
from tests.support.reacting import Acts
from tests.support.world import Person, World
from timelines import keys
from timelines.domain.live import Notified
from timelines.domain.notifications import Notification
from timelines.domain.post import FOLLOWERS
from timelines.repositories.notifications import NOTIFICATIONS_CAP
from timelines.services.noticing import MENTIONS_CAP

ALL = PostId(MAX_ID)
Three = tuple[Person, Person, Person]


async def told(person: Person, **page: Any) -> list[str]:
    """What somebody reads, newest first: "like by bob"."""
    found = await person._services.notifications.page(person.id, **page)
    return [f"{each.kind} by {each.author.handle}" for each in found.entries]


async def unread(person: Person) -> int:
    return await person._services.notifications.unread(person.id)


@pytest.fixture
async def three(world: World) -> Three:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    return alice, bob, carol


@pytest.fixture
def acts(services: Services) -> Acts:
    return Acts(services)


async def test_each_kind_is_told_once(three: Three, acts: Acts, world: World) -> None:
    alice, bob, _ = three
    post = await alice.publishes("hello")
    await bob.publishes("an answer to @alice", in_reply_to=post)
    await bob.publishes("words with @Alice and @alice and @bob and @nobody")
    await acts.likes(bob, post)
    await acts.boosts(bob, post)
    await bob.follows(alice)
    await world.work()
    assert sorted(await told(alice)) == [
        "boost by bob", "follow by bob", "like by bob", "mention by bob", "reply by bob",
    ]  # fmt: skip
    assert await unread(alice) == 5
    assert await told(bob) == []


async def test_a_repetition_is_no_second_one(three: Three, acts: Acts, world: World) -> None:
    alice, bob, _ = three
    post = await alice.publishes("hello")
    answer = await bob.publishes("@alice, an answer", in_reply_to=post)
    await world.work()
    await acts.likes(bob, post)
    await alice._services.notifications.mark_read(alice.id, ALL)
    await acts.likes(bob, post)
    for _ in range(3):
        await alice._services.notifications.notice(answer)
        await acts.unlikes(bob, post)
        await acts.likes(bob, post)
    assert await told(alice) == ["like by bob", "reply by bob"]
    assert await unread(alice) == 0


async def test_nobody_rings_a_bell_with_a_boost(three: Three, acts: Acts, world: World) -> None:
    """Boosted again within a day it is no news, though each boost is a post of its own."""
    alice, bob, carol = three
    post = await alice.publishes("hello")
    await acts.boosts(bob, post)
    await world.work()
    await alice._services.notifications.mark_read(alice.id, ALL)
    for _ in range(3):
        await acts.unboosts(bob, post)
        await world.work()
        assert await told(alice) == []
        await acts.boosts(bob, post)
        await world.work()
        assert await told(alice) == ["boost by bob"]
    assert await unread(alice) == 0
    await acts.boosts(carol, post)
    assert await told(alice) == ["boost by carol", "boost by bob"]
    assert await unread(alice) == 1


async def test_what_a_private_account_boosts_is_told_to_its_followers_alone(
    three: Three, acts: Acts, world: World
) -> None:
    alice, bob, _ = three
    post = await alice.publishes("hello")
    await acts.boosts(bob, post)
    await bob.locks()
    assert await told(alice) == []
    assert await unread(alice) == 0
    await bob.locks(private=False)
    await alice.follows(bob)
    await bob.locks()
    assert await told(alice) == ["boost by bob"]


async def test_a_boost_that_an_earlier_release_told_of_is_seen_as_long_as_it_stands(
    three: Three, acts: Acts, services: Services
) -> None:
    """It named the boost, not what was boosted."""
    alice, bob, _ = three
    post = await alice.publishes("hello")
    await acts.boosts(bob, post)
    boost = (await services.reading.profile(bob.id, viewer_id=bob.id)).entries[0].post
    notifications = services.repositories.notifications
    await notifications.forget(alice.id)
    await notifications.add(alice.id, Notification(boost.id, "boost", bob.id, boost.id))
    assert await told(alice) == ["boost by bob"]
    await acts.unboosts(bob, post)
    assert await told(alice) == []


async def test_what_is_taken_back_is_not_seen(three: Three, acts: Acts, world: World) -> None:
    alice, bob, _ = three
    post = await alice.publishes("hello")
    answer = await bob.publishes("an answer", in_reply_to=post)
    await acts.likes(bob, post)
    await acts.boosts(bob, post)
    await bob.follows(alice)
    await world.work()
    assert await unread(alice) == 4
    await acts.unlikes(bob, post)
    await acts.unboosts(bob, post)
    await bob.unfollows(alice)
    await bob.deletes(answer)
    assert await told(alice) == []
    assert await unread(alice) == 0
    await bob.follows(alice)
    assert await told(alice) == ["follow by bob"]


async def test_with_the_post_its_likes_are_forgotten(three: Three, acts: Acts) -> None:
    alice, bob, _ = three
    post = await alice.publishes("hello")
    await acts.likes(bob, post)
    await alice.deletes(post)
    assert await told(alice) == []


async def test_rights_hide_and_show_again(three: Three, acts: Acts, world: World, services: Services) -> None:
    alice, bob, carol = three
    post = await alice.publishes("hello")
    await acts.likes(bob, post)
    await carol.publishes("hello @alice")
    await world.work()
    await services.accounts.suspend(account_id=bob.id)
    await alice.mutes(carol)
    assert await told(alice) == []
    assert await unread(alice) == 0
    await services.accounts.reinstate(account_id=bob.id)
    await alice.unmutes(carol)
    assert await told(alice) == ["mention by carol", "like by bob"]
    await carol.blocks(alice)
    assert await told(alice) == ["like by bob"]
    await alice.blocks(bob)
    assert await told(alice) == []
    assert await unread(alice) == 0


async def test_a_mention_in_what_one_may_not_see_is_not_told(
    three: Three, world: World, services: Services
) -> None:
    alice, bob, _ = three
    await services.publishing.publish(
        author_id=bob.id, text="@alice", audience=FOLLOWERS, now_ms=services.clock.now_ms()
    )
    await world.work()
    assert await told(alice) == []
    await alice.follows(bob)
    assert await told(alice) == ["mention by bob"]


async def test_at_most_fifty_are_told_of_one_post(three: Three, world: World, services: Services) -> None:
    alice, bob, _ = three
    names = " ".join(f"@n{number}" for number in range(MENTIONS_CAP - 1))
    await bob.publishes(f"{names} @alice")
    await bob.publishes(f"{names} @nn @alice")
    await world.work()
    assert await told(alice) == ["mention by bob"]


async def test_what_is_not_wanted_is_not_told(
    three: Three, acts: Acts, world: World, services: Services
) -> None:
    alice, bob, carol = three
    post = await alice.publishes("hello")
    await services.notifications.wish(alice.id, {"like": "none", "mention": "followed"})
    await alice.follows(carol)
    await acts.likes(bob, post)
    await bob.publishes("hello @alice")
    await carol.publishes("hello @alice")
    await world.work()
    assert await told(alice) == ["mention by carol"]
    wishes = await services.notifications.wishes(alice.id)
    assert (wishes["like"], wishes["mention"], wishes["follow"]) == ("none", "followed", "all")


async def test_the_mark_moves_forward_only_and_new_ones_are_above_it(
    three: Three, services: Services
) -> None:
    alice, bob, carol = three
    notifications = services.notifications
    await bob.follows(alice)
    assert await notifications.mark_read(alice.id, ALL) == 0
    await carol.follows(alice)
    assert await unread(alice) == 1
    assert await notifications.mark_read(alice.id, PostId(1)) == 1
    page = await notifications.page(alice.id)
    assert [each.is_read for each in page.entries] == [False, True]
    assert await notifications.mark_read(alice.id, page.entries[0].id) == 0


async def test_pages_are_full_and_end(three: Three, acts: Acts, services: Services) -> None:
    alice, bob, carol = three
    posts = [await alice.publishes(f"word {number}") for number in range(12)]
    for post in posts:
        await acts.likes(bob, post)
        await acts.likes(carol, post)
        await acts.unlikes(carol, post)
    seen: list[int] = []
    before: int | None = None
    for size in (5, 5, 2):
        page = await services.notifications.page(alice.id, before=before, limit=5)
        assert len(page.entries) == size
        seen += [each.id for each in page.entries]
        before = page.next_before
    assert before is None
    assert seen == sorted(set(seen), reverse=True)
    newer = await services.notifications.timeline(alice.id, after=seen[4], limit=3)
    assert [each.id for each in newer.entries] == seen[1:4]
    assert newer.previous_after == seen[1]
    mentions = await services.notifications.page(alice.id, kinds={"mention"})
    assert mentions.entries == ()
    assert mentions.next_before is None


async def test_the_newest_thousand_stay(three: Three, services: Services) -> None:
    alice, bob, _ = three
    key = keys.notifications(alice.id)
    fill = {f"like:{bob.id}:{number}": number for number in range(1, NOTIFICATIONS_CAP + 1)}
    await services.store.gather([("ZADD", key, score, member) for member, score in fill.items()])
    await bob.follows(alice)
    (size,) = await services.store.gather([("ZCARD", key)])
    assert size == NOTIFICATIONS_CAP
    assert await unread(alice) == 1
    assert await told(alice) == ["follow by bob"]


async def test_more_than_ninety_nine_are_counted_no_further(
    three: Three, acts: Acts, services: Services
) -> None:
    alice, bob, _ = three
    posts = [await alice.publishes(f"word {number}") for number in range(105)]
    for post in posts:
        await acts.likes(bob, post)
    assert await unread(alice) == 100
    reply = (await services.store.gather([services.notifications.unread_command(alice.id)]))[0]
    assert (await services.notifications.badge(alice.id, reply)).text == "99+"


async def test_with_the_account_its_notifications_go(three: Three, world: World, services: Services) -> None:
    alice, bob, _ = three
    await bob.follows(alice)
    await services.notifications.mark_read(alice.id, ALL)
    await services.notifications.wish(alice.id, {"like": "none"})
    await services.accounts.delete(account_id=alice.id, now_ms=services.clock.now_ms())
    await bob.publishes("goodbye @alice")
    await world.work()
    gone = [build(alice.id) for build in (keys.notifications, keys.notified, keys.preferences)]
    assert await services.store.gather([("EXISTS", key) for key in gone]) == [0, 0, 0]


async def test_only_processes_where_the_reader_is_are_told(three: Three, services: Services) -> None:
    alice, bob, carol = three
    heard: asyncio.Queue[object] = asyncio.Queue()
    hear = heard.put

    async def rest() -> None:
        return

    hub = services.live.listen(on_message=hear, on_lost=lambda: None, on_gap=rest)
    await hub.open()
    try:
        await hub.enter(str(alice.id))
        await bob.follows(carol)
        await bob.follows(alice)
        (newest,) = (await services.notifications.page(alice.id)).entries
        async with asyncio.timeout(5):
            assert await heard.get() == Notified(((AccountId(alice.id), newest.id),))
        assert heard.empty()
    finally:
        await hub.close()


async def test_a_short_page_is_full_however_many_are_hidden_before_it(
    three: Three, acts: Acts, world: World
) -> None:
    alice, bob, carol = three
    await acts.likes(carol, await alice.publishes("hello"))
    for number in range(30):
        await bob.publishes(f"@alice {number}")
    await world.work()
    await alice.mutes(bob)
    assert await told(alice, limit=1) == ["like by carol"]
