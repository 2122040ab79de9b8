"""Stored keyword filters: numbers, edits, late edits and the cap."""

import pytest

from socialsite.container import Services
from socialsite.ids import AccountId
from timelines.errors import FilterInvalid, FilterNotFound, FiltersCapReached
from timelines.filters.repository import Filters
from timelines.filters.service import FilterService
from timelines.visibility.filter import PHRASE_LENGTH_CAP, KeywordFilter

ALICE, BOB = AccountId(1), AccountId(2)


async def edit(services: Services, account_id: AccountId, number: int, phrase: str) -> KeywordFilter:
    return await services.filters.edit(
        account_id=account_id, number=number, phrase=phrase, action="hide", until_ms=5, whole_word=False
    )


async def test_filters_are_numbered_in_order_of_creation(services: Services) -> None:
    made = [await services.filters.add(account_id=ALICE, phrase=word) for word in ("tea", "rain", "cake")]
    assert [each.id for each in made] == [1, 2, 3]
    assert await services.filters.all(ALICE) == made
    assert await services.filters.delete(account_id=ALICE, number=2)
    assert (await services.filters.add(account_id=ALICE, phrase="fog")).id == 4
    assert [each.phrase for each in await services.filters.all(ALICE)] == ["tea", "cake", "fog"]
    assert (await services.filters.add(account_id=BOB, phrase="tea")).id == 1


async def test_an_edit_changes_one_filter_in_its_place(services: Services) -> None:
    for word in ("tea", "rain"):
        await services.filters.add(account_id=ALICE, phrase=word)
    changed = await edit(services, ALICE, 1, "  green\n tea ")
    assert changed == KeywordFilter(1, "green tea", "hide", 5, False)
    assert await services.filters.all(ALICE) == [changed, KeywordFilter(2, "rain")]


async def test_a_late_edit_does_not_restore_a_deleted_filter(services: Services) -> None:
    made = await services.filters.add(account_id=ALICE, phrase="tea")
    assert await services.filters.delete(account_id=ALICE, number=made.id)
    assert not await services.filters.delete(account_id=ALICE, number=made.id)
    with pytest.raises(FilterNotFound):
        await edit(services, ALICE, made.id, "coffee")
    assert await services.filters.all(ALICE) == []


async def test_an_account_cannot_edit_the_filter_of_another_account(services: Services) -> None:
    made = await services.filters.add(account_id=ALICE, phrase="tea")
    with pytest.raises(FilterNotFound):
        await edit(services, BOB, made.id, "coffee")
    assert not await services.filters.delete(account_id=BOB, number=made.id)
    assert await services.filters.all(ALICE) == [made]


async def test_a_filter_above_the_cap_is_refused(services: Services) -> None:
    filters = FilterService(filters=Filters(services.store), live=services.live, limits=services.action_limits, cap=2)
    for word in ("tea", "rain"):
        await filters.add(account_id=ALICE, phrase=word)
    with pytest.raises(FiltersCapReached):
        await filters.add(account_id=ALICE, phrase="fog")
    assert len(await filters.all(ALICE)) == 2


@pytest.mark.parametrize("phrase", ["", " \n", "\u200d", "x" * (PHRASE_LENGTH_CAP + 1), "a\0b"])
async def test_an_invalid_phrase_is_refused_at_creation_and_edit(services: Services, phrase: str) -> None:
    with pytest.raises(FilterInvalid):
        await services.filters.add(account_id=ALICE, phrase=phrase)
    made = await services.filters.add(account_id=ALICE, phrase="x" * PHRASE_LENGTH_CAP)
    with pytest.raises(FilterInvalid):
        await edit(services, ALICE, made.id, phrase)
    assert await services.filters.all(ALICE) == [made]
