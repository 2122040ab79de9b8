"""Virtual lists, replies policies and exclusive lists, compared with a scan of all posts."""

import pytest

from socialsite.container import Services
from socialsite.ids import PostId
from tests.support.list_scene import ListScenario
from tests.support.models import mostly_nightly
from tests.support.topologies import Deployment
from tests.support.world import World, ids_on
from timelines import keys
from timelines.errors import ListInvalid, ListIsVirtual
from timelines.lists.account_list import OPERATIONS, REPLY_POLICIES, AccountList
from timelines.lists.algebra import combine_members


@pytest.fixture(params=mostly_nightly(range(6), 2))
async def scene(world: World, request: pytest.FixtureRequest) -> ListScenario:
    return await ListScenario(world, request.param).build()


async def test_virtual_lists_show_the_combination_of_their_parts(scene: ListScenario) -> None:
    parts = [each.id for each in scene.lists]
    for operation in OPERATIONS:
        made = await scene.make_list(operation, operation, *parts)
        members = combine_members(operation, [scene.members[part] for part in parts])
        assert await scene.list_post_ids(made) == scene.expected_post_ids(members)
        counts = await scene.services.lists.member_counts([made])
        assert counts[made.id] == len(members)
    nested = await scene.make_list("nested", "difference", parts[0], scene.lists[-2].id)
    common = combine_members("intersection", [scene.members[part] for part in parts])
    assert await scene.list_post_ids(nested) == scene.expected_post_ids(scene.members[parts[0]] - common)
    somebody = scene.chance.choice(scene.people).id
    await scene.add_member(scene.lists[0], somebody)
    await scene.remove_member(scene.lists[1], somebody)
    union = set().union(*(scene.members[part] for part in parts))
    assert await scene.list_post_ids(scene.lists[3]) == scene.expected_post_ids(union)
    await scene.publish_posts(5)
    assert await scene.list_post_ids(scene.lists[3]) == scene.expected_post_ids(union)


async def test_the_replies_policy_filters_replies(scene: ListScenario) -> None:
    made = scene.lists[0]
    virtual = await scene.make_list("virtual", "union", *[each.id for each in scene.lists[:2]])
    for replies in REPLY_POLICIES:
        await scene.edit_list(made, replies=replies)
        assert await scene.list_post_ids(made) == scene.expected_post_ids(scene.members[made.id], replies)
        await scene.edit_list(virtual, replies=replies)
        union = scene.members[scene.lists[0].id] | scene.members[scene.lists[1].id]
        assert await scene.list_post_ids(virtual) == scene.expected_post_ids(union, replies)


async def test_members_of_exclusive_lists_are_hidden_from_home_and_shown_again(scene: ListScenario) -> None:
    def home_without(*left_out: AccountList) -> list[PostId]:
        gone = set().union(*(scene.members[each.id] for each in left_out))
        return scene.expected_post_ids((scene.followed - gone) | {scene.alice.id})

    one, two, _ = scene.lists
    assert await scene.home_post_ids() == home_without()
    await scene.edit_list(one, exclusive=True)
    assert await scene.home_post_ids() == home_without(one)
    await scene.edit_list(two, exclusive=True)
    assert await scene.home_post_ids() == home_without(one, two)
    await scene.publish_posts(5)
    assert await scene.home_post_ids() == home_without(one, two)
    somebody = scene.chance.choice(scene.people).id
    await scene.add_member(one, somebody)
    assert await scene.home_post_ids() == home_without(one, two)
    await scene.remove_member(one, somebody)
    assert await scene.home_post_ids() == home_without(one, two)
    await scene.edit_list(two, exclusive=False)
    assert await scene.home_post_ids() == home_without(one)
    await scene.services.lists.delete(owner_id=scene.alice.id, list_id=one.id)
    assert await scene.home_post_ids() == home_without()


async def test_a_page_of_home_is_full_without_members_of_an_exclusive_list(world: World, services: Services) -> None:
    alice, loud, quiet = await world.people("alice", "loud", "quiet")
    for other in (loud, quiet):
        await alice.follows(other)
    made = await alice.makes_list(loud, title="loud")
    await services.lists.edit(owner_id=alice.id, list_id=made.id, exclusive=True)
    quiet_ids = []
    for number in range(12):
        quiet_ids.append((await quiet.publishes(f"{number}")).id)
        for _ in range(60):
            await loud.publishes("noise")
    await world.deliver_all()
    page = await alice.home(limit=10)
    assert ids_on(page) == quiet_ids[::-1][:10]


async def test_a_deleted_part_counts_as_empty_and_is_reported(world: World, services: Services) -> None:
    scene = await ListScenario(world, 1).build()
    one, two, _ = scene.lists
    made = await scene.make_list("both", "union", one.id, two.id)
    assert await services.lists.missing_parts([made]) == {made.id: ()}
    await services.lists.delete(owner_id=scene.alice.id, list_id=two.id)
    assert await services.lists.missing_parts([made]) == {made.id: (two.id,)}
    assert await scene.list_post_ids(made) == scene.expected_post_ids(scene.members[one.id])
    await scene.edit_list(made, title="renamed")
    edited = await scene.edit_list(made, operation="difference", parts=(one.id, scene.lists[2].id))
    assert await services.lists.missing_parts([edited]) == {made.id: ()}


async def test_a_virtual_list_has_no_own_members_and_is_never_exclusive(world: World, services: Services) -> None:
    scene = await ListScenario(world, 2).build()
    made = await scene.make_list("both", "union", *[each.id for each in scene.lists[:2]])
    with pytest.raises(ListIsVirtual):
        await services.lists.add_member(
            owner_id=scene.alice.id, list_id=made.id, account_id=scene.people[1].id, now_ms=1
        )
    with pytest.raises(ListInvalid):
        await scene.edit_list(made, exclusive=True)
    with pytest.raises(ListInvalid):
        await scene.edit_list(scene.lists[0], operation="union", parts=[each.id for each in scene.lists[1:3]])
    for wrong in ("sum", ""):
        with pytest.raises(ListInvalid):
            await scene.make_list("wrong", wrong, *[each.id for each in scene.lists[:2]])
    bob = scene.people[1]
    his = await services.lists.create(owner_id=bob.id, title="his", now_ms=1)
    with pytest.raises(ListInvalid):
        await scene.make_list("of another", "union", scene.lists[0].id, his.id)
    with pytest.raises(ListInvalid):
        await scene.edit_list(scene.lists[0], replies="some")


async def test_the_deletion_of_exclusive_and_virtual_lists_leaves_no_keys(
    world: World, services: Services, deployment: Deployment
) -> None:
    scene = await ListScenario(world, 3).build()
    await scene.edit_list(scene.lists[0], exclusive=True)
    made = await scene.make_list("both", "union", *[each.id for each in scene.lists[:2]])
    await scene.list_post_ids(made)
    assert keys.list_timeline(made.id) not in deployment.all_keys()
    for each in scene.lists:
        await services.lists.delete(owner_id=scene.alice.id, list_id=each.id)
    assert keys.exclusive_lists(scene.alice.id) not in deployment.all_keys()
    assert keys.list_index(scene.alice.id) not in deployment.all_keys()
