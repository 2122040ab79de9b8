"""Followed hashtags and their timeline."""

import pytest

from socialsite.container import Services
from tests.support.world import Person, World, ids_of, ids_on
from timelines import keys
from timelines.errors import FollowedHashtagsCapReached
from timelines.hashtags.followed import FOLLOWED_HASHTAGS_CAP


async def test_a_hashtag_is_followed_once_and_can_be_unfollowed(alice: Person, services: Services) -> None:
    tagging, now_ms = services.followed_hashtags, services.clock.now_ms()
    assert await tagging.follow(account_id=alice.id, tag="one", now_ms=now_ms)
    assert not await tagging.follow(account_id=alice.id, tag="one", now_ms=now_ms + 5)
    assert await tagging.follow(account_id=alice.id, tag="größe", now_ms=now_ms + 1)
    assert await tagging.followed(alice.id) == ["größe", "one"]
    assert await tagging.is_following(alice.id, "größe")
    assert await tagging.unfollow(account_id=alice.id, tag="größe")
    assert not await tagging.unfollow(account_id=alice.id, tag="größe")
    assert await tagging.followed(alice.id) == ["one"]


async def test_a_hashtag_that_an_older_release_stored_in_another_form_is_followed(
    alice: Person, services: Services
) -> None:
    """Persian kaf, Turkish İ and other digits were letters of their own."""
    tagging, new = services.followed_hashtags, "\u0643\u062a\u0627\u0628"
    for tag in ("one", "\u06a9\u062a\u0627\u0628", new):
        await tagging.follow(account_id=alice.id, tag=tag, now_ms=services.clock.now_ms())
    assert set(await tagging.followed(alice.id)) == {new, "one"}
    assert await tagging.is_following(alice.id, new)
    assert await tagging.unfollow(account_id=alice.id, tag=new)
    assert await tagging.followed(alice.id) == ["one"]


async def test_the_number_of_followed_hashtags_is_capped(alice: Person, services: Services) -> None:
    for number in range(FOLLOWED_HASHTAGS_CAP):
        await services.followed_hashtags.follow(account_id=alice.id, tag=f"t{number}", now_ms=number + 1)
    with pytest.raises(FollowedHashtagsCapReached):
        await services.followed_hashtags.follow(account_id=alice.id, tag="more", now_ms=1)
    assert not await services.followed_hashtags.follow(account_id=alice.id, tag="t1", now_ms=1)


async def test_posts_of_followed_hashtags_are_one_timeline(world: World, services: Services) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    texts = ["#one", "#two", "neither", "#one and #two", "#three", "#two"]
    posts = [await bob.publishes(text) for text in texts]
    hidden = await carol.publishes("#one")
    await alice.mutes(carol)
    expected_ids = ids_of([posts[number] for number in (5, 3, 1, 0)])
    page = await services.reading.tags(["one", "two"], viewer_id=alice.id)
    assert ids_on(page) == expected_ids
    assert hidden.id not in ids_on(page)
    first = await services.reading.tags(["one", "two"], viewer_id=alice.id, limit=3)
    assert ids_on(first) == expected_ids[:3]
    rest = await services.reading.tags(["one", "two"], viewer_id=alice.id, before=first.next_before)
    assert ids_on(rest) == expected_ids[3:]
    newer = await services.reading.tags(["one", "two"], viewer_id=alice.id, after=expected_ids[3], limit=2)
    assert ids_on(newer) == expected_ids[1:3]
    assert ids_on(await services.reading.tags([], viewer_id=alice.id)) == []


async def test_a_deleted_accounts_followed_hashtags_are_deleted(world: World, services: Services) -> None:
    alice = await world.person("alice")
    await services.followed_hashtags.follow(account_id=alice.id, tag="one", now_ms=1)
    await services.accounts.delete(account_id=alice.id)
    await world.deliver_all()
    assert await services.store.execute_all([("EXISTS", keys.followed_hashtags(alice.id))]) == [0]
