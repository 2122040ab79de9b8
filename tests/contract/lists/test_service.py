"""The lists service: lists are private to their owner and capped."""

import pytest
import redis

from accounts.domain import DELETED, SUSPENDED
from accounts.errors import AccountNotFound
from socialsite.ids import AccountId
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from tests.support.listing import ALICE, BOB, CAROL, MEMBERS_CAP, add_member
from tests.support.people import FakeAccountDirectory, RecordingTimelineCache
from tests.support.world import World
from timelines.errors import ListMembersCapReached, ListNotFound, ListsCapReached, ListTitleInvalid
from timelines.ids import ListId
from timelines.lists.repository import ListMembers
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
    page = await service.members(owner_id=ALICE, list_id=news)
    assert set(page.account_ids) == {ALICE, BOB}


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
