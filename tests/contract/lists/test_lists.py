"""Stored lists and members: lookups, pages, and the state after a crash between two steps."""

import asyncio

import pytest

from socialsite.ids import AccountId
from socialsite.store import Store
from timelines import keys
from timelines.graph.follow import FIRST_PASS, Follow
from timelines.graph.repository import CAP_TOLERANCE, Follows
from timelines.ids import ListId
from timelines.lists.account_list import LISTS_PER_ACCOUNT, AccountList, ListPage
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
    member_ids = await members.members_among(ListId(1), [ALICE, BOB])
    assert member_ids == {ALICE}


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
