"""Lists as the site offers them: a secret of their owner, capped, gone at once when deleted."""

import asyncio

import pytest

from accounts.domain import DELETED, SUSPENDED, AccountId
from accounts.errors import AccountNotFound
from socialsite.store import Store
from tests.support.people import Directory, Forgotten
from tests.support.topologies import Deployment
from timelines import keys
from timelines.domain.account_list import ListId
from timelines.domain.follow import FIRST_PASS
from timelines.errors import ListNotFound, ListsCapReached, ListTitleInvalid, MembersCapReached
from timelines.repositories.follows import Follows
from timelines.repositories.lists import TRACE_MS, ListMembers, Lists
from timelines.services.list_rules import ListRules
from timelines.services.lists import ListService

ALICE, BOB, CAROL = map(AccountId, (1, 2, 3))
CAP = 5


@pytest.fixture
def people() -> Directory:
    return Directory(range(1, 101))


class Told:
    """Nobody listens."""

    async def lists_changed(self, owner_id: AccountId) -> None:
        return


@pytest.fixture
def timelines() -> Forgotten:
    return Forgotten()


@pytest.fixture
def lists(store: Store) -> Lists:
    return Lists(store)


@pytest.fixture
def members(store: Store) -> ListMembers:
    return ListMembers(store, partitions=16, members_cap=CAP)


@pytest.fixture
def service(
    store: Store, lists: Lists, members: ListMembers, people: Directory, timelines: Forgotten
) -> ListService:
    return ListService(
        lists=lists,
        members=members,
        accounts=people,
        timelines=timelines,
        rules=ListRules(lists, members, Follows(store, partitions=16, following_cap=100)),
        live=Told(),
        members_cap=CAP,
        lists_cap=3,
    )


@pytest.fixture
async def news(service: ListService) -> ListId:
    return (await service.create(owner_id=ALICE, title="News", now_ms=1000)).id


async def add(service: ListService, list_id: ListId, account_id: int) -> bool:
    return await service.add_member(
        owner_id=ALICE, list_id=list_id, account_id=AccountId(account_id), now_ms=1000
    )


async def test_a_list_is_its_owners_secret(service: ListService, news: ListId) -> None:
    assert (await service.get(owner_id=ALICE, list_id=news)).title == "News"
    assert await service.owner_of(news) == ALICE
    for refused in (
        service.get(owner_id=BOB, list_id=news),
        service.edit(owner_id=BOB, list_id=news, title="His"),
        service.delete(owner_id=BOB, list_id=news),
        service.members(owner_id=BOB, list_id=news),
        service.add_member(owner_id=BOB, list_id=news, account_id=CAROL, now_ms=1),
        service.remove_member(owner_id=BOB, list_id=news, account_id=CAROL),
        service.get(owner_id=ALICE, list_id=ListId(99)),
    ):
        with pytest.raises(ListNotFound):
            await refused
    assert (await service.lists(BOB)).lists == ()
    assert (await service.get(owner_id=ALICE, list_id=news)).title == "News"


async def test_a_title_is_checked_at_creation_and_renaming(service: ListService, news: ListId) -> None:
    for title in ("", " ", "x" * 51, "a\x00b", "two\nlines"):
        with pytest.raises(ListTitleInvalid) as refused:
            await service.create(owner_id=ALICE, title=title, now_ms=1)
        assert "title" in refused.value.fields
        with pytest.raises(ListTitleInvalid):
            await service.edit(owner_id=ALICE, list_id=news, title=title)
    assert (await service.edit(owner_id=ALICE, list_id=news, title=" Cafe\u0301 ")).title == "Caf\u00e9"


async def test_an_account_has_a_bounded_number_of_lists(service: ListService, news: ListId) -> None:
    for _ in range(2):
        await service.create(owner_id=ALICE, title="more", now_ms=1)
    with pytest.raises(ListsCapReached):
        await service.create(owner_id=ALICE, title="one too many", now_ms=1)
    await service.delete(owner_id=ALICE, list_id=news)
    await service.create(owner_id=ALICE, title="room again", now_ms=1)
    assert [each.title for each in (await service.lists(ALICE)).lists] == ["more", "more", "room again"]


async def test_any_active_account_can_be_on_a_list(
    service: ListService, people: Directory, news: ListId
) -> None:
    assert await add(service, news, BOB)
    assert not await add(service, news, BOB)
    assert await add(service, news, ALICE)
    people.states[CAROL] = SUSPENDED
    for other in (CAROL, 999):
        with pytest.raises(AccountNotFound):
            await add(service, news, other)
    page = await service.members(owner_id=ALICE, list_id=news)
    assert set(page.account_ids) == {ALICE, BOB}


async def test_a_list_has_a_bounded_number_of_members(service: ListService, news: ListId) -> None:
    for id in range(10, 10 + CAP):
        await add(service, news, id)
    with pytest.raises(MembersCapReached):
        await add(service, news, BOB)
    assert not await add(service, news, 10)
    await service.remove_member(owner_id=ALICE, list_id=news, account_id=AccountId(10))
    assert await add(service, news, BOB)


async def test_the_list_timeline_is_forgotten_before_and_after_each_change(
    service: ListService, timelines: Forgotten, news: ListId
) -> None:
    await add(service, news, BOB)
    await add(service, news, BOB)
    await service.remove_member(owner_id=ALICE, list_id=news, account_id=BOB)
    await service.remove_member(owner_id=ALICE, list_id=news, account_id=BOB)
    assert timelines.ids == [news] * 8


async def test_members_leave_out_the_suspended(service: ListService, people: Directory, news: ListId) -> None:
    await add(service, news, BOB)
    await add(service, news, CAROL)
    people.states[BOB] = SUSPENDED
    assert (await service.members(owner_id=ALICE, list_id=news)).account_ids == (CAROL,)


async def test_a_deleted_list_leaves_nothing_behind(
    deployment: Deployment,
    service: ListService,
    members: ListMembers,
    timelines: Forgotten,
    news: ListId,
) -> None:
    await add(service, news, BOB)
    timelines.ids.clear()
    await service.delete(owner_id=ALICE, list_id=news)
    assert timelines.ids == [news]
    assert deployment.all_keys() == sorted([keys.account_list(news), keys.list_ids()])
    with pytest.raises(ListNotFound):
        await service.get(owner_id=ALICE, list_id=news)
    with pytest.raises(ListNotFound):
        await add(service, news, BOB)
    with pytest.raises(ListNotFound):
        await service.edit(owner_id=ALICE, list_id=news, title="again")


async def test_deleting_a_list_again_is_a_success_for_a_day_and_for_its_owner_alone(
    store: Store, deployment: Deployment, service: ListService, news: ListId
) -> None:
    trace = keys.account_list(news)
    await service.delete(owner_id=ALICE, list_id=news)
    left_ms = await store.node(trace).execute("PTTL", trace)
    assert 0 < left_ms <= TRACE_MS
    before = await store.node(trace).execute("HGETALL", trace)
    await service.delete(owner_id=ALICE, list_id=news)
    assert await store.node(trace).execute("HGETALL", trace) == before
    assert await store.node(trace).execute("PTTL", trace) <= left_ms
    with pytest.raises(ListNotFound):
        await service.delete(owner_id=BOB, list_id=news)
    await store.node(trace).execute("DEL", trace)  # as a day later
    with pytest.raises(ListNotFound):
        await service.delete(owner_id=ALICE, list_id=news)
    assert deployment.all_keys() == [keys.list_ids()]


async def test_a_deletion_that_crashed_anywhere_is_finished_by_the_next(
    store: Store, deployment: Deployment, service: ListService, lists: Lists, members: ListMembers
) -> None:
    async def mark(list_id: ListId) -> None:
        await lists.mark_deleted(ALICE, list_id)

    async def mark_and_empty(list_id: ListId) -> None:
        await mark(list_id)
        await members.remove_members(list_id, 1)

    async def all_but_the_index(list_id: ListId) -> None:
        await mark_and_empty(list_id)
        key = keys.account_list(list_id)
        await store.node(key).execute("DEL", key)

    for steps in (mark, mark_and_empty, all_but_the_index):
        made = await service.create(owner_id=ALICE, title="short-lived", now_ms=1)
        await add(service, made.id, BOB)
        await add(service, made.id, CAROL)
        await steps(made.id)
        with pytest.raises(ListNotFound):
            await service.get(owner_id=ALICE, list_id=made.id)
        assert (await service.lists(ALICE)).lists == ()
        await service.delete(owner_id=ALICE, list_id=made.id)
        trace = keys.account_list(made.id)
        assert [key for key in deployment.all_keys() if key != trace] == [keys.list_ids()]
        await store.node(trace).execute("DEL", trace)


async def test_a_member_that_a_deletion_overtakes_is_withdrawn(
    service: ListService, members: ListMembers, people: Directory, news: ListId
) -> None:
    async def delete_list() -> None:
        await service.delete(owner_id=ALICE, list_id=news)

    people.after_asking = delete_list
    with pytest.raises(ListNotFound):
        await add(service, news, BOB)
    assert (await members.listed_on_pass(BOB, FIRST_PASS, 10)).ids == ()


async def test_an_account_that_is_deleted_meanwhile_is_withdrawn(
    service: ListService, members: ListMembers, people: Directory, news: ListId
) -> None:
    async def delete_bob() -> None:
        people.states[BOB] = DELETED
        assert await members.remove_listed(BOB, 10) == ()

    people.after_asking = delete_bob
    with pytest.raises(AccountNotFound):
        await add(service, news, BOB)
    assert await members.count(news) == 0


async def test_members_and_deletion_at_once_leave_no_edge(
    deployment: Deployment, service: ListService, members: ListMembers, news: ListId
) -> None:
    await asyncio.gather(
        *(add(service, news, id) for id in range(10, 40)),
        service.delete(owner_id=ALICE, list_id=news),
        return_exceptions=True,
    )
    assert deployment.all_keys() == sorted([keys.account_list(news), keys.list_ids()])


async def test_members_are_counted_for_a_page_of_lists(service: ListService, news: ListId) -> None:
    empty = await service.create(owner_id=ALICE, title="empty", now_ms=1)
    await add(service, news, BOB)
    await add(service, news, CAROL)
    assert await service.member_counts((await service.lists(ALICE)).lists) == {news: 2, empty.id: 0}
    assert await service.member_counts([]) == {}
