"""Profile pages by viewer: posts, counts, the relationship and known followers."""

import pytest

from accounts.errors import AccountNotFound
from socialsite.container import Services
from tests.support.world import Person, World
from timelines.graph.follow import Follow, FollowCounts
from timelines.pages.page import PageRequest
from timelines.profiles.service import ProfilePage


async def visited(services: Services, viewer: Person | None, account: Person) -> ProfilePage:
    return await services.profiles.load_page(account.handle, PageRequest(), viewer_id=viewer.id if viewer else None)


async def shown_to(services: Services, viewer: Person | None, account: Person) -> list[int]:
    """Return the post ids that the viewer sees on the profile page."""
    return [entry.id for entry in (await visited(services, viewer, account)).timeline_page.entries]


def known(visit: ProfilePage) -> list[int]:
    return [author.id for author in visit.known_followers]


async def test_known_followers_are_shown(world: World, services: Services) -> None:
    alice, bob, carol, dave, erin = await world.people("alice", "bob", "carol", "dave", "erin")
    for follower, followed in ((alice, carol), (bob, carol), (alice, dave), (dave, bob), (alice, erin)):
        await follower.follows(followed)
    await erin.follows(bob)
    visit = await visited(services, alice, bob)
    assert visit.follow_counts == FollowCounts(followers=2, following=1)
    assert visit.relationship is not None
    assert not visit.relationship.follows
    assert (visit.shared_following_count, known(visit)) == (1, [erin.id, dave.id])
    await services.accounts.suspend(account_id=erin.id)
    assert known(await visited(services, alice, bob)) == [dave.id]


async def test_the_relationship_is_that_of_the_viewer(world: World, services: Services) -> None:
    alice, bob = await world.people("alice", "bob")
    await alice.follows(bob)
    relation = (await visited(services, alice, bob)).relationship
    assert relation is not None
    assert (relation.follows, relation.is_followed) == (True, False)
    relation = (await visited(services, bob, alice)).relationship
    assert relation is not None
    assert (relation.follows, relation.is_followed) == (False, True)


async def test_a_follow_left_by_an_interrupted_block_is_not_shown(world: World, services: Services) -> None:
    """A crash between a block and the end of the follow leaves both; repeating the block repairs it."""
    alice, bob, dave = await world.people("alice", "bob", "dave")
    for fan in (alice, bob):
        await fan.follows(dave)
    await alice.blocks(bob)
    await services.repositories.follows.add(Follow(alice.id, bob.id, 1))
    assert known(await visited(services, alice, dave)) == []


async def test_posts_and_counts_are_shown_to_permitted_viewers(world: World, services: Services) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    await carol.follows(alice)
    post = await alice.publishes("hello")
    for viewer in (None, alice, bob, carol):
        assert await shown_to(services, viewer, alice) == [post.id]
        assert (await visited(services, viewer, alice)).post_count == 1
        assert (await visited(services, viewer, alice)).follow_counts == FollowCounts(1, 0)
    await alice.locks()
    is_shown = {viewer: bool(await shown_to(services, viewer, alice)) for viewer in (None, alice, bob, carol)}
    assert is_shown == {None: False, alice: True, bob: False, carol: True}
    await alice.blocks(carol)
    assert await shown_to(services, carol, alice) == []


async def test_the_profile_of_a_suspended_account_is_not_found(world: World, services: Services) -> None:
    alice, bob = await world.people("alice", "bob")
    await visited(services, bob, alice)
    await services.accounts.suspend(account_id=alice.id)
    for viewer in (None, alice, bob):
        with pytest.raises(AccountNotFound):
            await visited(services, viewer, alice)
    await services.accounts.reinstate(account_id=alice.id)
    assert (await visited(services, bob, alice)).account.id == alice.id
