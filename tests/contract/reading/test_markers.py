"""Reading places move forward, and who to follow is who one's friends follow."""

import pytest

from socialsite.container import Services
from socialsite.ids import AccountId, PostId
from tests.support.topologies import Deployment
from tests.support.world import Person, World
from timelines import keys
from timelines.errors import TimelineNotFound
from timelines.markers.marker import MARKERS_CAP, Marker

ME = AccountId(7)


async def test_a_place_moves_forward_and_back_only_when_told(services: Services) -> None:
    places = services.markers
    assert await places.find(ME, "home") == Marker(PostId(0), True)
    assert await places.move(ME, "home", PostId(50)) == 50
    assert await places.move(ME, "home", PostId(40)) == 50
    assert await places.move(ME, "home", PostId(60)) == 60
    assert await places.move(ME, "home", PostId(9), back=True) == 9
    assert (await places.find(ME, "home")).last_read_id == 9
    assert (await places.find(ME, "public")).last_read_id == 0
    assert await places.find(None, "home") == Marker()


@pytest.mark.parametrize(
    "name", ["", "Home", "list:0", "list:x", "list:1 ", "profile:bob", "home\n", "list:" + "1" * 17]
)
async def test_places_are_kept_for_known_timelines_alone(services: Services, name: str) -> None:
    with pytest.raises(TimelineNotFound):
        await services.markers.move(ME, name, PostId(1))


async def test_the_number_of_places_is_bounded(services: Services) -> None:
    for number in range(1, MARKERS_CAP + 1):
        await services.markers.move(ME, f"list:{number}", PostId(5 + number))
    assert await services.markers.move(ME, "home", PostId(5)) == 5
    assert await services.markers.move(ME, f"list:{number + 1}", PostId(900)) == 900
    kept = [(await services.markers.find(ME, f"list:{each}")).last_read_id for each in range(1, 5)]
    assert kept == [0, 0, 8, 9], "the lists read longest ago made room"
    assert (await services.markers.find(ME, "home")).last_read_id == 5


async def test_scrolling_is_a_preference_beside_others(services: Services) -> None:
    await services.notifications.set_preferences(ME, {"like": "none"})
    await services.markers.set_scroll_preference(ME, scrolls=False)
    assert not (await services.markers.find(ME, "home")).scrolls
    await services.markers.set_scroll_preference(ME, scrolls=True)
    assert (await services.markers.find(ME, "home")).scrolls


async def test_a_deleted_account_leaves_no_place(world: World, services: Services, deployment: Deployment) -> None:
    alice = await world.person("alice")
    await services.markers.move(alice.id, "home", PostId(5))
    await services.accounts.delete(account_id=alice.id, now_ms=services.clock.now_ms())
    await world.deliver_all()
    assert keys.markers(alice.id) not in deployment.all_keys()


async def suggested(services: Services, viewer: Person, limit: int = 10) -> list[AccountId]:
    return [each.account_id for each in await services.follow_suggestions.suggestions(viewer.id, limit)]


async def test_friends_of_most_friends_come_first(world: World, services: Services) -> None:
    me, ann, ben, one, two, lone = await world.people("me", "ann", "ben", "one", "two", "lone")
    for friend in (ann, ben):
        await me.follows(friend)
        await friend.follows(two)
        await friend.follows(me)
    await ann.follows(one)
    await ann.follows(ben)
    found = await services.follow_suggestions.suggestions(me.id, 10)
    assert [each.account_id for each in found] == [two.id, one.id]
    assert set(found[0].known_follower_ids) == {ann.id, ben.id}
    assert lone.id not in await suggested(services, me)


async def test_nobody_is_suggested_whom_one_keeps_away_or_has_asked(world: World, services: Services) -> None:
    me, ann, *others = await world.people("me", "ann", "blocked", "blocker", "muted", "asked", "gone", "fine")
    blocked, blocker, muted, asked, gone, fine = others
    await me.follows(ann)
    for other in others:
        await ann.follows(other)
    now_ms = services.clock.now_ms()
    await services.blocks_and_mutes.block(account_id=me.id, other_id=blocked.id, now_ms=now_ms)
    await services.blocks_and_mutes.block(account_id=blocker.id, other_id=me.id, now_ms=now_ms)
    await services.blocks_and_mutes.mute(account_id=me.id, other_id=muted.id, now_ms=now_ms, until_ms=None)
    await services.repositories.follow_requests.add(me.id, asked.id, now_ms)
    await services.accounts.suspend(account_id=gone.id)
    assert await suggested(services, me) == [fine.id]


async def test_who_follows_nobody_is_shown_who_spoke_last(world: World, services: Services) -> None:
    me, one, two = await world.people("me", "one", "two")
    await one.publishes("first")
    await two.publishes("second")
    await me.publishes("mine")
    assert await suggested(services, me) == [two.id, one.id]
    assert await suggested(services, me, limit=1) == [two.id]
