"""Notifications: their receivers, repetitions and visibility."""

import pytest

from socialsite.container import Services
from tests.support.notifications import ThreePeople, count_unread, mark_all_read, notification_texts
from tests.support.reactions import PersonReactions
from tests.support.world import Person, World
from timelines import keys
from timelines.notifications.kinds import BOOST
from timelines.notifications.notification import Notification
from timelines.notifications.service import MENTIONS_CAP
from timelines.posts.post import FOLLOWERS


async def test_each_kind_of_event_adds_one_notification(
    alice: Person, bob: Person, acts: PersonReactions, world: World
) -> None:
    post = await alice.publishes("hello")
    await bob.publishes("an answer to @alice", in_reply_to=post)
    await bob.publishes("words with @Alice and @alice and @bob and @nobody")
    await acts.likes(bob, post)
    await acts.boosts(bob, post)
    await bob.follows(alice)
    await world.deliver_all()
    assert sorted(await notification_texts(alice)) == [
        "boost by bob", "follow by bob", "like by bob", "mention by bob", "reply by bob",
    ]  # fmt: skip
    assert await count_unread(alice) == 5
    assert await notification_texts(bob) == []


async def test_a_repeated_event_adds_no_second_notification(
    alice: Person, bob: Person, acts: PersonReactions, world: World
) -> None:
    post = await alice.publishes("hello")
    answer = await bob.publishes("@alice, an answer", in_reply_to=post)
    await world.deliver_all()
    await acts.likes(bob, post)
    await mark_all_read(alice)
    await acts.likes(bob, post)
    for _ in range(3):
        await world.services.notifications.notify(answer)
        await acts.unlikes(bob, post)
        await acts.likes(bob, post)
    assert await notification_texts(alice) == ["like by bob", "reply by bob"]
    assert await count_unread(alice) == 0


async def test_repeated_boosts_add_no_further_notification(
    alice: Person, bob: Person, carol: Person, acts: PersonReactions, world: World
) -> None:
    """A repetition within a day adds none, though each boost is a new post."""
    post = await alice.publishes("hello")
    await acts.boosts(bob, post)
    await world.deliver_all()
    await mark_all_read(alice)
    for _ in range(3):
        await acts.unboosts(bob, post)
        await world.deliver_all()
        assert await notification_texts(alice) == []
        await acts.boosts(bob, post)
        await world.deliver_all()
        assert await notification_texts(alice) == ["boost by bob"]
    assert await count_unread(alice) == 0
    await acts.boosts(carol, post)
    assert await notification_texts(alice) == ["boost by carol", "boost by bob"]
    assert await count_unread(alice) == 1


async def test_boosts_of_a_private_account_notify_only_its_followers(
    alice: Person, bob: Person, acts: PersonReactions, world: World
) -> None:
    post = await alice.publishes("hello")
    await acts.boosts(bob, post)
    await bob.locks()
    assert await notification_texts(alice) == []
    assert await count_unread(alice) == 0
    await bob.locks(private=False)
    await alice.follows(bob)
    await bob.locks()
    assert await notification_texts(alice) == ["boost by bob"]


async def test_a_boost_notification_of_an_earlier_release_is_shown_until_the_boost_is_removed(
    alice: Person, bob: Person, acts: PersonReactions, services: Services
) -> None:
    """That release stored the id of the boost in place of the boosted post."""
    post = await alice.publishes("hello")
    await acts.boosts(bob, post)
    boost = (await services.reading.profile(bob.id, viewer_id=bob.id)).entries[0].post
    notifications = services.repositories.notifications
    await services.store.write("UNLINK", keys.notifications(alice.id))
    await notifications.add(alice.id, Notification(boost.id, BOOST, bob.id, boost.id))
    assert await notification_texts(alice) == ["boost by bob"]
    await acts.unboosts(bob, post)
    assert await notification_texts(alice) == []


async def test_notifications_of_undone_actions_are_hidden(
    alice: Person, bob: Person, acts: PersonReactions, world: World
) -> None:
    post = await alice.publishes("hello")
    answer = await bob.publishes("an answer", in_reply_to=post)
    await acts.likes(bob, post)
    await acts.boosts(bob, post)
    await bob.follows(alice)
    await world.deliver_all()
    assert await count_unread(alice) == 4
    await acts.unlikes(bob, post)
    await acts.unboosts(bob, post)
    await bob.unfollows(alice)
    await bob.deletes(answer)
    assert await notification_texts(alice) == []
    assert await count_unread(alice) == 0
    await bob.follows(alice)
    assert await notification_texts(alice) == ["follow by bob"]


@pytest.mark.parametrize("kind", ["follow", "request"])
async def test_a_follow_or_request_after_the_end_of_the_first_is_notified_again(three: ThreePeople, kind: str) -> None:
    alice, bob, _ = three
    if kind == "request":
        await alice.locks()
    for _ in range(3):
        for _ in range(2):
            await bob.follows(alice)
        assert await notification_texts(alice) == [f"{kind} by bob"]
        assert await count_unread(alice) == 1
        await mark_all_read(alice)
        await bob.follows(alice)
        assert await count_unread(alice) == 0
        await bob.unfollows(alice)


async def test_a_deleted_posts_like_notifications_are_hidden(alice: Person, bob: Person, acts: PersonReactions) -> None:
    post = await alice.publishes("hello")
    await acts.likes(bob, post)
    await alice.deletes(post)
    assert await notification_texts(alice) == []


async def test_notifications_follow_suspensions_mutes_and_blocks(
    alice: Person, bob: Person, carol: Person, acts: PersonReactions, world: World, services: Services
) -> None:
    post = await alice.publishes("hello")
    await acts.likes(bob, post)
    await carol.publishes("hello @alice")
    await world.deliver_all()
    await services.accounts.suspend(account_id=bob.id)
    await alice.mutes(carol)
    assert await notification_texts(alice) == []
    assert await count_unread(alice) == 0
    await services.accounts.reinstate(account_id=bob.id)
    await alice.unmutes(carol)
    assert await notification_texts(alice) == ["mention by carol", "like by bob"]
    await carol.blocks(alice)
    assert await notification_texts(alice) == ["like by bob"]
    await alice.blocks(bob)
    assert await notification_texts(alice) == []
    assert await count_unread(alice) == 0


async def test_a_mention_in_an_invisible_post_is_hidden(three: ThreePeople, world: World, services: Services) -> None:
    alice, bob, _ = three
    await services.publishing.publish(
        author_id=bob.id, text="@alice", audience=FOLLOWERS, now_ms=services.clock.now_ms()
    )
    await world.deliver_all()
    assert await notification_texts(alice) == []
    await alice.follows(bob)
    assert await notification_texts(alice) == ["mention by bob"]


async def test_one_post_notifies_at_most_fifty_accounts(three: ThreePeople, world: World, services: Services) -> None:
    alice, bob, _ = three
    names = " ".join(f"@n{number}" for number in range(MENTIONS_CAP - 1))
    await bob.publishes(f"{names} @alice")
    await bob.publishes(f"{names} @nn @alice")
    await world.deliver_all()
    assert await notification_texts(alice) == ["mention by bob"]


async def test_preferences_suppress_notifications(
    alice: Person, bob: Person, carol: Person, acts: PersonReactions, world: World, services: Services
) -> None:
    post = await alice.publishes("hello")
    await services.repositories.notifications.set_preferences(alice.id, {"like": "none", "mention": "followed"})
    await alice.follows(carol)
    await acts.likes(bob, post)
    await bob.publishes("hello @alice")
    await carol.publishes("hello @alice")
    await world.deliver_all()
    assert await notification_texts(alice) == ["mention by carol"]
    wishes = await services.notifications.preferences(alice.id)
    assert (wishes["like"], wishes["mention"], wishes["follow"]) == ("none", "followed", "all")
