"""Lists of accounts, and their timelines."""

import asyncio

import pytest

from socialsite.container import Services
from socialsite.ids import AccountId, PostId
from socialsite.store import Store
from tests.support.lists import ListScenario
from tests.support.random_tests import mostly_nightly
from tests.support.topologies import Deployment
from tests.support.world import World, ids_on
from timelines import keys
from timelines.errors import ListInvalid, ListIsVirtual
from timelines.graph.follow import FIRST_PASS, Follow
from timelines.graph.repository import CAP_TOLERANCE, Follows
from timelines.ids import ListId
from timelines.lists.account_list import LISTS_PER_ACCOUNT, OPERATIONS, REPLY_POLICIES, AccountList, ListPage
from timelines.lists.algebra import combine_members
from timelines.lists.repository import ListMembers, Lists

ALICE, BOB = AccountId(1), AccountId(2)


@pytest.fixture
def members(store: Store) -> ListMembers:
    return ListMembers(store, partitions=16, members_cap=1_000)


def of(owner_id: AccountId, title: str, list_id: int = 0) -> AccountList:
    return AccountList(ListId(list_id), owner_id, title, 1000)


async def test_a_new_list_is_found_by_its_id(lists: Lists) -> None:
    made = await lists.add(of(ALICE, "Näws"))
    assert made == AccountList(ListId(1), ALICE, "Näws", 1000)
    assert await lists.find(made.id) == made
    assert await lists.find(ListId(99)) is None


async def test_lists_created_concurrently_have_different_ids(lists: Lists) -> None:
    made = await asyncio.gather(*(lists.add(of(ALICE, "news")) for _ in range(50)))
    assert len({each.id for each in made}) == 50
    assert await lists.count(ALICE) == 50


async def test_owned_lists_are_paged_by_id(lists: Lists) -> None:
    made = [await lists.add(of(ALICE, str(n))) for n in range(7)]
    await lists.add(of(BOB, "his"))
    first = await lists.page(ALICE, None, 3)
    second = await lists.page(ALICE, first.next, 3)
    third = await lists.page(ALICE, second.next, 3)
    assert [*first.lists, *second.lists, *third.lists] == made
    assert third.next is None


async def test_a_page_with_all_remaining_lists_is_the_last_page(lists: Lists) -> None:
    made = [await lists.add(of(ALICE, str(n))) for n in range(3)]
    assert await lists.page(ALICE, None, 3) == ListPage(tuple(made), None)
    assert await lists.page(ALICE, None, 2) == ListPage(tuple(made[:2]), made[1].id)
    assert await lists.page(ALICE, made[0].id, 2) == ListPage(tuple(made[1:]), None)


async def test_the_oldest_lists_of_an_index_above_its_cap_are_returned(store: Store, lists: Lists) -> None:
    key, most = keys.list_index(ALICE), LISTS_PER_ACCOUNT + CAP_TOLERANCE
    await store.node(key).execute("ZADD", key, *(part for id in range(1, most + 3) for part in (id, id)))
    assert await lists.owned_ids(ALICE) == list(range(1, most + 1))
    assert await lists.owned_ids(ALICE, ListId(most)) == [most + 1, most + 2]
    assert await lists.count(ALICE) == most + 2


async def test_lists_stay_exclusive_until_they_are_erased(lists: Lists) -> None:
    assert await lists.exclusive_ids(ALICE) == set()
    made = [(await lists.add(of(ALICE, str(n)))).id for n in range(3)]
    for list_id in made:
        await lists.set_exclusive(ALICE, list_id, True)
    await lists.set_exclusive(ALICE, made[0], False)
    assert await lists.exclusive_ids(ALICE) == set(made[1:])
    await lists.erase(ALICE, made[1])
    assert await lists.exclusive_ids(ALICE) == {made[2]}
    assert await lists.exclusive_ids(BOB) == set()


async def test_a_page_is_full_without_deleted_lists(lists: Lists) -> None:
    made = [await lists.add(of(ALICE, str(n))) for n in range(6)]
    await lists.mark_deleted(ALICE, made[0].id)
    await lists.mark_deleted(ALICE, made[2].id)
    page = await lists.page(ALICE, None, 3)
    assert page.lists == (made[1], made[3], made[4])
    assert (await lists.page(ALICE, page.next, 3)).lists == (made[5],)


async def test_only_the_owner_can_rename_a_list(lists: Lists) -> None:
    made = await lists.add(of(ALICE, "news"))
    assert not await lists.edit(made, of(BOB, "his", made.id))
    assert await lists.edit(made, of(ALICE, "hers", made.id))
    assert await lists.find(made.id) == AccountList(made.id, ALICE, "hers", 1000)


async def test_a_late_rename_does_not_restore_a_deleted_list(store: Store, lists: Lists) -> None:
    made = await lists.add(of(ALICE, "news"))
    await lists.mark_deleted(ALICE, made.id)
    assert not await lists.edit(made, of(ALICE, "again", made.id))
    await lists.erase(ALICE, made.id)
    assert not await lists.edit(made, of(ALICE, "again", made.id))
    key = keys.account_list(made.id)
    assert await store.node(key).execute("HKEYS", key) == [b"owner", b"deleted"]


async def test_a_list_marked_deleted_is_not_found(lists: Lists) -> None:
    made = await lists.add(of(ALICE, "news"))
    assert not await lists.mark_deleted(BOB, made.id)
    assert await lists.mark_deleted(ALICE, made.id)
    assert await lists.find(made.id) is None
    assert (await lists.page(ALICE, None, 10)).lists == ()
    assert await lists.mark_deleted(ALICE, made.id)


async def test_a_member_is_stored_on_both_sides(members: ListMembers) -> None:
    assert await members.add(ListId(7), BOB, 1000)
    assert not await members.add(ListId(7), BOB, 2000)
    assert (await members.page(ListId(7), None, 10)).account_ids == (BOB,)
    assert (await members.listed_on_pass(BOB, FIRST_PASS, 10)).ids == (7,)
    assert await members.has(ListId(7), BOB)
    assert await members.remove(ListId(7), BOB)
    assert not await members.remove(ListId(7), BOB)
    assert (await members.listed_on_pass(BOB, FIRST_PASS, 10)).ids == ()


async def test_list_members_and_follows_with_equal_ids_are_separate(store: Store, members: ListMembers) -> None:
    follows = Follows(store, partitions=16, following_cap=10)
    await members.add(ListId(1), ALICE, 5)
    await members.add(ListId(1), BOB, 5)
    await follows.add(Follow(BOB, ALICE, 5))
    assert sorted(await members.member_ids(ListId(1))) == [ALICE, BOB]
    assert (await follows.counts(ALICE)).followers == 1
    assert await follows.following_ids(ALICE) == []


async def test_members_are_paged_newest_first(members: ListMembers) -> None:
    for id in range(1, 8):
        await members.add(ListId(1), AccountId(id), 100 + id // 3)
    first = await members.page(ListId(1), None, 4)
    second = await members.page(ListId(1), first.next, 4)
    assert first.account_ids + second.account_ids == (7, 6, 5, 4, 3, 2, 1)
    assert second.next is None
    assert await members.count(ListId(1)) == 7


async def test_passes_contain_each_list_of_an_account_once(members: ListMembers) -> None:
    for id in range(1, 301):
        await members.add(ListId(id), BOB, 5)
    list_ids: list[ListId] = []
    page = await members.listed_on_pass(BOB, FIRST_PASS, 40)
    while page.next is not None:
        list_ids.extend(page.ids)
        page = await members.listed_on_pass(BOB, page.next, 40)
    list_ids.extend(page.ids)
    assert sorted(list_ids) == list(range(1, 301))


async def test_members_among_given_accounts_are_found(store: Store, members: ListMembers) -> None:
    await members.add(ListId(1), ALICE, 5)
    assert (await members.members_among(ListId(1), [ALICE, BOB])) == {ALICE}


async def test_a_list_is_emptied_in_bounded_rounds(members: ListMembers) -> None:
    for id in range(1, 26):
        await members.add(ListId(1), AccountId(id), 5)
    await members.add(ListId(2), BOB, 5)
    rounds = []
    while met := await members.remove_members(ListId(1), 10):
        rounds.append(met)
    assert rounds == [10, 10, 5]
    assert await members.count(ListId(1)) == 0
    assert (await members.listed_on_pass(BOB, FIRST_PASS, 10)).ids == (2,)


async def test_an_account_is_removed_from_all_lists_in_bounded_rounds(members: ListMembers) -> None:
    for id in range(1, 26):
        await members.add(ListId(id), BOB, 5)
    await members.add(ListId(1), ALICE, 5)
    rounds = []
    while met := await members.remove_listed(BOB, 10):
        rounds.append(len(met))
    assert rounds == [10, 10, 5]
    assert await members.member_ids(ListId(1)) == [ALICE]


@pytest.fixture(params=mostly_nightly(range(6), 2))
async def scene(world: World, request: pytest.FixtureRequest) -> ListScenario:
    return await ListScenario(world, request.param).build()


async def test_virtual_lists_show_the_combination_of_their_parts(scene: ListScenario) -> None:
    parts = [each.id for each in scene.lists]
    for operation in OPERATIONS:
        made = await scene.make_list(operation, operation, *parts)
        members = combine_members(operation, [scene.members[part] for part in parts])
        assert await scene.list_post_ids(made) == scene.expected_post_ids(members)
        assert (await scene.services.lists.member_counts([made]))[made.id] == len(members)
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
    assert ids_on(await alice.home(limit=10)) == quiet_ids[::-1][:10]


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
    his = await services.lists.create(owner_id=scene.people[1].id, title="his", now_ms=1)
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
