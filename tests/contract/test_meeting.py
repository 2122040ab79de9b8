"""What a profile tells whoever looks: the relation, the counts, and whom both know."""

from accounts.domain import AccountId
from socialsite.services import Services
from tests.support.world import Person, World
from timelines.domain.follow import Follow, FollowCounts
from timelines.services.meeting import Meeting


async def met(services: Services, viewer: Person, account: Person) -> tuple[Meeting, int, list[AccountId]]:
    """The meeting, how many both follow, and the followers that the viewer knows."""
    meeting = await services.meeting.begin(viewer.id, account.id, services.clock.now_ms())
    together, known = await services.meeting.together(viewer.id, account.id, meeting.met, 3)
    assert together.known == tuple(author.id for author in known)
    return meeting, together.both_follow, list(together.known)


async def test_what_two_have_in_common_is_told(world: World, services: Services) -> None:
    alice, bob, carol, dave, erin = await world.people("alice", "bob", "carol", "dave", "erin")
    for follower, followed in ((alice, carol), (bob, carol), (alice, dave), (dave, bob), (alice, erin)):
        await follower.follows(followed)
    await erin.follows(bob)
    meeting, both_follow, known = await met(services, alice, bob)
    assert meeting.met.counts == FollowCounts(followers=2, following=1)
    assert meeting.met.own_following == 3
    assert not meeting.relation.follows
    assert (both_follow, known) == (1, [erin.id, dave.id])
    await services.accounts.suspend(account_id=erin.id)
    assert (await met(services, alice, bob))[2] == [dave.id]


async def test_the_relation_is_the_viewers(world: World, services: Services) -> None:
    alice, bob = await world.people("alice", "bob")
    await alice.follows(bob)
    relation = (await met(services, alice, bob))[0].relation
    assert (relation.follows, relation.is_followed) == (True, False)
    relation = (await met(services, bob, alice))[0].relation
    assert (relation.follows, relation.is_followed) == (False, True)


async def test_nobody_meets_through_a_follow_that_a_block_should_have_ended(
    world: World, services: Services
) -> None:
    """A crash between a block and the end of the follow leaves both; repeating the block mends it."""
    alice, bob, dave = await world.people("alice", "bob", "dave")
    for fan in (alice, bob):
        await fan.follows(dave)
    await alice.blocks(bob)
    await services.repositories.follows.add(Follow(alice.id, bob.id, 1))
    assert (await met(services, alice, dave))[2] == []
