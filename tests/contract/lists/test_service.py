"""Lists of accounts: their rules, and their deletion."""

import asyncio

import pytest
import redis

from accounts.domain import DELETED, SUSPENDED
from accounts.errors import AccountNotFound
from socialsite.ids import AccountId
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.store import Store
from tests.support.fakes import FakeAccountDirectory, RecordingTimelineCache
from tests.support.lists import ALICE, BOB, CAROL, MEMBERS_CAP, add_member
from tests.support.topologies import Deployment
from tests.support.world import World
from timelines import keys
from timelines.errors import ListMembersCapReached, ListNotFound, ListsCapReached, ListTitleInvalid
from timelines.graph.follow import FIRST_PASS
from timelines.ids import ListId
from timelines.lists.repository import DELETED_TRACE_MS, ListMembers, Lists
from timelines.lists.service import ListService


async def test_a_list_is_visible_only_to_its_owner(service: ListService, news: ListId) -> None:
    found = await service.get(owner_id=ALICE, list_id=news)
    assert (found.title, found.owner_id) == ("News", ALICE)
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
    found = await service.get(owner_id=ALICE, list_id=news)
    assert (found.title, found.owner_id) == ("News", ALICE)


async def test_a_title_is_validated_at_creation_and_renaming(service: ListService, news: ListId) -> None:
    for title in ("", " ", "x" * 51, "a\x00b", "two\nlines"):
        with pytest.raises(ListTitleInvalid) as refused:
            await service.create(owner_id=ALICE, title=title, now_ms=1)
        assert "title" in refused.value.fields
        with pytest.raises(ListTitleInvalid):
            await service.edit(owner_id=ALICE, list_id=news, title=title)
    assert (await service.edit(owner_id=ALICE, list_id=news, title=" Cafe\u0301 ")).title == "Caf\u00e9"


async def test_the_number_of_lists_of_an_account_is_bounded(service: ListService, news: ListId) -> None:
    for _ in range(2):
        await service.create(owner_id=ALICE, title="more", now_ms=1)
    with pytest.raises(ListsCapReached):
        await service.create(owner_id=ALICE, title="one too many", now_ms=1)
    await service.delete(owner_id=ALICE, list_id=news)
    await service.create(owner_id=ALICE, title="room again", now_ms=1)
    assert [each.title for each in (await service.lists(ALICE)).lists] == ["more", "more", "room again"]


async def test_any_active_account_can_be_on_a_list(
    service: ListService, people: FakeAccountDirectory, news: ListId
) -> None:
    assert await add_member(service, news, BOB)
    assert not await add_member(service, news, BOB)
    assert await add_member(service, news, ALICE)
    people.states[CAROL] = SUSPENDED
    for other in (CAROL, 999):
        with pytest.raises(AccountNotFound):
            await add_member(service, news, other)
    assert set((await service.members(owner_id=ALICE, list_id=news)).account_ids) == {ALICE, BOB}


async def test_the_number_of_members_of_a_list_is_bounded(service: ListService, news: ListId) -> None:
    for id in range(10, 10 + MEMBERS_CAP):
        await add_member(service, news, id)
    with pytest.raises(ListMembersCapReached):
        await add_member(service, news, BOB)
    assert not await add_member(service, news, 10)
    await service.remove_member(owner_id=ALICE, list_id=news, account_id=AccountId(10))
    assert await add_member(service, news, BOB)


async def test_the_list_timeline_is_invalidated_before_and_after_each_change(
    service: ListService, timelines: RecordingTimelineCache, news: ListId
) -> None:
    await add_member(service, news, BOB)
    await add_member(service, news, BOB)
    await service.remove_member(owner_id=ALICE, list_id=news, account_id=BOB)
    await service.remove_member(owner_id=ALICE, list_id=news, account_id=BOB)
    assert timelines.ids == [news] * 8


async def test_suspended_members_are_hidden(service: ListService, people: FakeAccountDirectory, news: ListId) -> None:
    await add_member(service, news, BOB)
    await add_member(service, news, CAROL)
    people.states[BOB] = SUSPENDED
    assert (await service.members(owner_id=ALICE, list_id=news)).account_ids == (CAROL,)


async def test_a_member_deleted_while_it_is_added_is_removed(
    service: ListService, members: ListMembers, people: FakeAccountDirectory, news: ListId
) -> None:
    async def delete_bob() -> None:
        people.states[BOB] = DELETED
        assert await members.remove_listed(BOB, 10) == ()

    people.after_asking = delete_bob
    with pytest.raises(AccountNotFound):
        await add_member(service, news, BOB)
    assert await members.count(news) == 0


async def test_members_are_counted_for_a_page_of_lists(service: ListService, news: ListId) -> None:
    empty = await service.create(owner_id=ALICE, title="empty", now_ms=1)
    await add_member(service, news, BOB)
    await add_member(service, news, CAROL)
    assert await service.member_counts((await service.lists(ALICE)).lists) == {news: 2, empty.id: 0}
    assert await service.member_counts([]) == {}


async def test_the_members_of_a_virtual_list_are_read_in_one_round_trip(redis_url: str) -> None:
    async with open_services(redis_url, ServiceConfig()) as services:
        alice, *others = await World(services).people("alice", *(f"p{number}" for number in range(8)))
        parts = [(await alice.makes_list(other)).id for other in others]
        both = await services.lists.create(
            owner_id=alice.id, title="All", now_ms=services.clock.now_ms(), operation="union", parts=parts
        )
        rule = await services.lists.rule(both)
        with redis.Redis.from_url(redis_url) as client:
            reads_before = client.info("stats")["total_reads_processed"]
            assert set(await rule.member_ids()) == {other.id for other in others}
            assert client.info("stats")["total_reads_processed"] - reads_before <= 4  # two of them count


async def test_a_deleted_list_leaves_no_data(
    deployment: Deployment, service: ListService, members: ListMembers, timelines: RecordingTimelineCache, news: ListId
) -> None:
    await add_member(service, news, BOB)
    timelines.ids.clear()
    await service.delete(owner_id=ALICE, list_id=news)
    assert timelines.ids == [news]
    assert deployment.all_keys() == sorted([keys.account_list(news), keys.list_id_counter()])
    with pytest.raises(ListNotFound):
        await service.get(owner_id=ALICE, list_id=news)
    with pytest.raises(ListNotFound):
        await add_member(service, news, BOB)
    with pytest.raises(ListNotFound):
        await service.edit(owner_id=ALICE, list_id=news, title="again")


async def test_its_owner_can_repeat_a_deletion_of_a_list_for_a_day(
    store: Store, deployment: Deployment, service: ListService, news: ListId
) -> None:
    trace = keys.account_list(news)
    await service.delete(owner_id=ALICE, list_id=news)
    left_ms = await store.node(trace).execute("PTTL", trace)
    assert 0 < left_ms <= DELETED_TRACE_MS
    before = await store.node(trace).execute("HGETALL", trace)
    await service.delete(owner_id=ALICE, list_id=news)
    assert await store.node(trace).execute("HGETALL", trace) == before
    assert await store.node(trace).execute("PTTL", trace) <= left_ms
    with pytest.raises(ListNotFound):
        await service.delete(owner_id=BOB, list_id=news)
    await store.node(trace).execute("DEL", trace)  # as if a day had passed
    with pytest.raises(ListNotFound):
        await service.delete(owner_id=ALICE, list_id=news)
    assert deployment.all_keys() == [keys.list_id_counter()]


async def test_the_next_deletion_finishes_an_interrupted_deletion(
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
        await add_member(service, made.id, BOB)
        await add_member(service, made.id, CAROL)
        await steps(made.id)
        with pytest.raises(ListNotFound):
            await service.get(owner_id=ALICE, list_id=made.id)
        assert (await service.lists(ALICE)).lists == ()
        await service.delete(owner_id=ALICE, list_id=made.id)
        trace = keys.account_list(made.id)
        assert [key for key in deployment.all_keys() if key != trace] == [keys.list_id_counter()]
        await store.node(trace).execute("DEL", trace)


async def test_a_member_added_during_a_deletion_is_removed(
    service: ListService, members: ListMembers, people: FakeAccountDirectory, news: ListId
) -> None:
    async def delete_list() -> None:
        await service.delete(owner_id=ALICE, list_id=news)

    people.after_asking = delete_list
    with pytest.raises(ListNotFound):
        await add_member(service, news, BOB)
    assert (await members.listed_on_pass(BOB, FIRST_PASS, 10)).ids == ()


async def test_members_added_during_a_deletion_leave_no_edge(
    deployment: Deployment, service: ListService, members: ListMembers, news: ListId
) -> None:
    await asyncio.gather(
        *(add_member(service, news, id) for id in range(10, 40)),
        service.delete(owner_id=ALICE, list_id=news),
        return_exceptions=True,
    )
    assert deployment.all_keys() == sorted([keys.account_list(news), keys.list_id_counter()])
