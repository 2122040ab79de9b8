"""Pinned posts are shown first on the profile of their author, to viewers who may see them."""

import asyncio

import pytest

from socialsite.container import Services
from tests.support.notifications import ThreePeople
from tests.support.world import Person, World, ids_of
from timelines import keys
from timelines.errors import NotPinnable, PinsCapReached, PostNotFound
from timelines.keys import PINS_CAP
from timelines.pages.page import PageRequest
from timelines.posts.post import FOLLOWERS, UNLISTED


async def test_the_last_pinned_post_comes_first(alice: Person, bob: Person) -> None:
    first, second, _third = [await alice.publishes(text) for text in ("a", "b", "c")]
    await alice.pins(second)
    await alice.pins(first, later_ms=1)
    await alice.pins(second, later_ms=2)
    for viewer in (alice, bob, None):
        assert await alice.pinned_ids(viewer) == [first.id, second.id]


async def test_at_most_five_posts_are_pinned_however_many_requests_come_at_once(alice: Person) -> None:
    posts = [await alice.publishes(str(number)) for number in range(PINS_CAP + 3)]
    results = await asyncio.gather(*(alice.pins(post) for post in posts), return_exceptions=True)
    assert sum(isinstance(result, PinsCapReached) for result in results) == 3
    assert len(await alice.pinned_ids()) == PINS_CAP


async def test_an_unpinned_post_makes_room(alice: Person, services: Services) -> None:
    posts = [await alice.publishes(str(number)) for number in range(PINS_CAP + 1)]
    for post in posts[:PINS_CAP]:
        await alice.pins(post)
    for _ in range(2):
        await services.pins.unpin(account_id=alice.id, post_id=posts[0].id)
    await alice.pins(posts[-1])
    assert await alice.pinned_ids() == ids_of([posts[-1], *posts[1:PINS_CAP][::-1]])


async def test_a_deleted_post_is_no_longer_pinned(alice: Person, services: Services) -> None:
    post = await alice.publishes("a")
    await alice.pins(post)
    await alice.deletes(post)
    assert await alice.pinned_ids() == []
    assert await services.pins.pinned_ids(alice.id) == []


async def test_pins_of_posts_whose_deletion_was_interrupted_make_room(alice: Person, services: Services) -> None:
    posts = [await alice.publishes(str(number)) for number in range(PINS_CAP + 1)]
    for post in posts[:PINS_CAP]:
        await alice.pins(post)
    await services.repositories.posts.delete(posts[0].id, alice.id)  # and stop before the rest of the deletion
    assert len(await alice.pinned_ids()) == PINS_CAP - 1
    await alice.pins(posts[-1])
    assert await alice.pinned_ids() == ids_of([posts[-1], *posts[1:PINS_CAP][::-1]])


async def test_only_viewers_who_may_see_a_post_see_it_pinned(three: ThreePeople, services: Services) -> None:
    alice, follower, other = three
    await follower.follows(alice)
    private, unlisted = await alice.publishes("a", audience=FOLLOWERS), await alice.publishes("b", audience=UNLISTED)
    for post in (private, unlisted):
        await alice.pins(post)
    assert await alice.pinned_ids(follower) == await alice.pinned_ids(alice) == [unlisted.id, private.id]
    assert await alice.pinned_ids(other) == await alice.pinned_ids() == [unlisted.id]
    await alice.blocks(other)
    assert await alice.pinned_ids(other) == []
    await alice.locks()
    assert await alice.pinned_ids() == []
    assert await alice.pinned_ids(follower) == [unlisted.id, private.id]


async def test_only_own_posts_are_pinned(alice: Person, bob: Person, services: Services) -> None:
    post = await bob.publishes("a")
    with pytest.raises(NotPinnable):
        await alice.pins(post)
    now_ms = services.clock.now_ms()
    await services.reactions.boost(account_id=alice.id, post_id=post.id, now_ms=now_ms)
    (boost_id,) = await alice.profile_ids()
    with pytest.raises(NotPinnable):
        await services.pins.pin(account_id=alice.id, post_id=boost_id, now_ms=now_ms)
    with pytest.raises(PostNotFound):
        await services.pins.pin(account_id=alice.id, post_id=services.ids.next_id(), now_ms=now_ms)


async def test_older_pages_of_a_profile_have_no_pinned_posts(alice: Person, services: Services) -> None:
    first, second = await alice.publishes("a"), await alice.publishes("b")
    await alice.pins(second)
    page = await services.profiles.load_page("alice", PageRequest(before=second.id), viewer_id=alice.id)
    assert (ids_of([entry.post for entry in page.timeline_page.entries]), page.pinned) == ([first.id], ())


async def test_the_pins_of_a_deleted_account_are_removed(world: World, alice: Person, services: Services) -> None:
    await alice.pins(await alice.publishes("a"))
    await services.accounts.delete(account_id=alice.id)
    await world.deliver_all()
    key = keys.pins(alice.id)
    assert await services.store.node(key).execute("EXISTS", key) == 0
