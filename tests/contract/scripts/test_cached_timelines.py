"""Return values and effects of the Lua scripts of cached timelines."""

from collections.abc import Iterable

import pytest

from socialsite.ids import AccountId
from socialsite.store import Store
from tests.support.scripting import run_command, run_script
from timelines import keys
from timelines.cached_timelines.delivery import INSERT, TRIM
from timelines.cached_timelines.repository import BEGIN, FINISH

HOME = keys.home_timeline(AccountId(42))
PART = 16
"""The number of entries that the trim reads per batch."""


async def hold(store: Store, *elements: object) -> None:
    await run_command(store, "DEL", HOME)
    if elements:
        await run_command(store, "RPUSH", HOME, *elements)


async def held(store: Store) -> list[object]:
    """Return the stored ids, and the token during a build."""
    elements = await run_command(store, "LRANGE", HOME, 0, -1)
    return [each.decode() if each.startswith(b"b") else int(each) for each in elements]


async def test_only_an_absent_timeline_can_be_built(store: Store) -> None:
    assert await run_script(store, BEGIN, [HOME], "mine", 5_000) == 1
    assert await held(store) == ["building:mine"]
    assert 0 < await run_command(store, "PTTL", HOME) <= 5_000
    assert await run_script(store, BEGIN, [HOME], "theirs", 5_000) == 0
    await hold(store, -7)
    assert await run_script(store, BEGIN, [HOME], "theirs", 5_000) == 0
    assert await held(store) == [-7]


@pytest.mark.parametrize(
    ("before", "id", "answer", "after"),
    [
        ([], 150, 0, []),
        (["building:mine"], 150, 2, [150, "building:mine"]),
        ([300, "building:mine"], 150, 3, [150, 300, "building:mine"]),
        ([-0], 150, 2, [150, 0]),
        ([300, 200, -100], 400, 4, [400, 300, 200, -100]),
        ([300, 200, -100], 250, 4, [300, 250, 200, -100]),
        ([300, 200, -100], 101, 4, [300, 200, 101, -100]),
        ([300, 200, -100], 100, 0, [300, 200, -100]),
        ([300, 200, -100], 99, 0, [300, 200, -100]),
        ([300, 200, -100], 300, 0, [300, 200, -100]),
        ([300, 200, -100], 200, 0, [300, 200, -100]),
    ],
)
async def test_a_late_id_is_inserted_once_in_order_and_above_the_floor(
    store: Store, before: list[object], id: int, answer: int, after: list[object]
) -> None:
    await hold(store, *before)
    assert await run_script(store, INSERT, [HOME], id) == answer
    assert await held(store) == after


@pytest.mark.parametrize(
    ("before", "cap", "answer", "after"),
    [
        ([], 1, -1, []),
        ([9, 8, 7, "building:mine"], 1, -1, [9, 8, 7, "building:mine"]),
        ([30, 20, -15], 2, 2, [30, 20, -15]),
        ([30, 20, -15], 3, 2, [30, 20, -15]),
        ([30, 20, 10, -0], 2, 2, [30, 20, -10]),
        ([30, 20, 10, -15], 2, 2, [30, 20, -15]),
        ([30, 20, 10, -15], 1, 1, [30, -20]),
        ([30, 10, 20, -5], 1, 1, [30, -20]),
    ],
)
async def test_a_trim_leaves_the_cap_and_a_floor_above_all_dropped_ids(
    store: Store, before: list[object], cap: int, answer: int, after: list[object]
) -> None:
    await hold(store, *before)
    assert await run_script(store, TRIM, [HOME], cap, 100) == answer
    assert await held(store) == after


def falling(first: int, last: int) -> Iterable[int]:
    """Return one batch of descending ids."""
    return [first, *range(last + PART - 2, last - 1, -1)]


@pytest.mark.parametrize(("last", "floor"), [(8_900, 9_050), (8_899, 9_000)])
async def test_the_search_for_the_floor_ends_at_an_id_older_than_the_margin(
    store: Store, last: int, floor: int
) -> None:
    """The id 9,050 is late; real lists never contain it after an id older than the margin."""
    await hold(store, 9_200, 9_100, *falling(9_000, last), 9_050, *range(8_800, 8_700, -1), -1)
    assert await run_script(store, TRIM, [HOME], 2, 100) == 2
    assert await held(store) == [9_200, 9_100, -floor]


async def test_the_search_for_the_floor_includes_the_last_entry(store: Store) -> None:
    for more in range(2 * PART + 2):
        await hold(store, 9_999, *range(9_000, 9_000 - more, -1), 9_500, -1)
        assert await run_script(store, TRIM, [HOME], 1, 1_000) == 1
        assert await held(store) == [9_999, -9_500], more


async def test_only_its_own_token_finishes_a_build(store: Store) -> None:
    for before in ([], [5, -0], [5, "building:theirs"], ["building:mine", -0]):
        await hold(store, *before)
        assert await run_script(store, FINISH, [HOME], "mine", 10, 5_000, 0, 7, 6) == 0
        assert await held(store) == before


@pytest.mark.parametrize(
    ("cap", "after"),
    [(7, [9, 8, 7, 5, 4, -3]), (5, [9, 8, 7, 5, 4, -3]), (4, [9, 8, 7, 5, -4]), (1, [9, -8])],
)
async def test_a_build_merges_sorts_and_stores_its_floor(store: Store, cap: int, after: list[int]) -> None:
    await hold(store, 9, 8, 2, 3, 8, 5, "building:mine")
    assert await run_script(store, FINISH, [HOME], "mine", cap, 5_000, 3, 7, 8, 3, 1, 4) == 1
    assert await held(store) == after
    assert 0 < await run_command(store, "PTTL", HOME) <= 5_000


@pytest.mark.parametrize("count", [0, 499, 500, 501, 1_000, 1_100])
async def test_a_long_build_is_complete(store: Store, count: int) -> None:
    big = 1 << 52
    ids = [big + number for number in range(count, 0, -1)]
    await hold(store, "building:mine")
    assert await run_script(store, FINISH, [HOME], "mine", 1_000, 5_000, 0, *reversed(ids)) == 1
    assert await held(store) == [*ids[:1_000], -ids[1_000] if count > 1_000 else 0]
