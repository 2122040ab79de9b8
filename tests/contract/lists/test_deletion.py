"""Deleted lists disappear immediately and completely, also after crashes and races."""

import asyncio

import pytest

from socialsite.store import Store
from tests.support.listing import ALICE, BOB, CAROL, add_member
from tests.support.people import FakeAccountDirectory, RecordingTimelineCache
from tests.support.topologies import Deployment
from timelines import keys
from timelines.errors import ListNotFound
from timelines.graph.follow import FIRST_PASS
from timelines.ids import ListId
from timelines.lists.repository import DELETED_TRACE_MS, ListMembers, Lists
from timelines.lists.service import ListService


async def test_a_deleted_list_leaves_no_data(
    deployment: Deployment,
    service: ListService,
    members: ListMembers,
    timelines: RecordingTimelineCache,
    news: ListId,
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
