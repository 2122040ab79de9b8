"""Return values and effects of the Lua scripts of the search index."""

from collections.abc import Iterable

import pytest

from socialsite.store import Key, Store
from tests.support.scripting import run_command, run_script
from timelines import keys
from timelines.search.repository import ADD_POSTINGS_SCRIPT, REMOVE_POSTINGS_SCRIPT

PLACE = [keys.search_term(3, "00ff"), keys.search_rare_terms(3, 0)]
WORD, RARE = PLACE
CAP, FEW = 8, 3
WIDE = [0, *sorted({(1 << bits) + low for bits in range(0, 53, 4) for low in (0, 1, 255, 257)})]
"""A floor and ids that differ in each of their bytes."""


def packed(ids: Iterable[int]) -> bytes:
    return b"".join(id.to_bytes(7, "big") for id in ids)


def unpacked(value: bytes | None) -> list[int] | None:
    if value is None:
        return None
    return [int.from_bytes(value[start : start + 7], "big") for start in range(0, len(value), 7)]


async def held(store: Store) -> tuple[list[int] | None, list[int] | None]:
    """Return the postings as a frequent term (with its floor), and as a rare term."""
    return unpacked(await run_command(store, "GET", WORD)), unpacked(await run_command(store, "HGET", RARE, "term"))


async def add(store: Store, *ids: int, cap: int = CAP) -> int:
    return int(await run_script(store, ADD_POSTINGS_SCRIPT, PLACE, cap, FEW, "term", packed(ids)))


async def remove(store: Store, id: int) -> int:
    return int(await run_script(store, REMOVE_POSTINGS_SCRIPT, PLACE, packed([id]), "term"))


async def test_a_rare_term_becomes_frequent_above_its_cap(store: Store) -> None:
    assert await add(store, 5) == 1
    assert await add(store, 5) == 0
    assert await add(store, 3, 4, 5) == 2
    assert await held(store) == (None, [3, 4, 5])
    assert await add(store, 4, 9) == 1
    assert await held(store) == ([0, 3, 4, 5, 9], None)
    assert await add(store, 9) == 0
    assert await add(store, 1, 7, 10) == 3
    assert await held(store) == ([0, 1, 3, 4, 5, 7, 9, 10], None)


async def test_the_oldest_postings_are_dropped_above_the_cap_and_a_quarter(store: Store) -> None:
    await add(store, *range(1, CAP + 1))
    assert await add(store, 9, 10) == 2
    assert await held(store) == ([0, *range(1, 11)], None)
    assert await add(store, 11) == 1
    assert await held(store) == (list(range(3, 12)), None)
    assert await add(store, 2) == await add(store, 3) == 0
    assert await held(store) == (list(range(3, 12)), None)


async def test_many_postings_added_to_a_rare_term_are_trimmed(store: Store) -> None:
    assert await add(store, *range(1, 21)) == 20
    assert await held(store) == (list(range(12, 21)), None)


@pytest.mark.parametrize("size", [71, 72, 73, 74, 75])
async def test_appended_and_inserted_postings_are_stored_equally(store: Store, size: int) -> None:
    """The script appends to values of 512 bytes and more."""
    await run_command(store, "SET", WORD, packed(range(0, 2 * size, 2)))
    assert await add(store, 2 * size, 2 * size + 2, cap=100) == 2
    assert await add(store, 2 * size + 2, cap=100) == 0
    assert await add(store, 2 * size + 2, 2 * size + 4, cap=100) == 1
    assert await add(store, 7, 2 * size + 6, cap=100) == 2
    assert await held(store) == (sorted([*range(0, 2 * size + 8, 2), 7]), None)


async def test_an_appended_term_is_trimmed_to_its_cap(store: Store) -> None:
    await run_command(store, "SET", WORD, packed(range(100)))
    assert await add(store, 100, cap=80) == 1
    assert await held(store) == (list(range(101)), None)
    assert await add(store, 101, cap=80) == 1
    assert await held(store) == (list(range(21, 102)), None)
    assert await add(store, *range(102, 132), cap=80) == 30
    assert await held(store) == (list(range(51, 132)), None)


@pytest.mark.parametrize("rare", [False, True])
async def test_each_id_is_compared_by_all_its_bytes_and_removed_once(store: Store, rare: bool) -> None:
    for id in WIDE[1:]:
        await fill(store, WIDE, rare)
        assert rare or await add(store, id, cap=100) == 0
        assert await remove(store, id) == 1
        assert await remove(store, id) == 0
        left = [each for each in WIDE if each != id]
        assert await held(store) == ((None, left[1:]) if rare else (left, None))


async def test_each_id_is_inserted_by_all_its_bytes(store: Store) -> None:
    for id in WIDE[1:]:
        await fill(store, [each for each in WIDE if each != id], rare=False)
        assert await add(store, id, cap=100) == 1
        assert await add(store, id, cap=100) == 0
        assert await held(store) == (WIDE, None)


async def fill(store: Store, ids: list[int], rare: bool) -> None:
    await run_command(store, *(("HSET", RARE, "term", packed(ids[1:])) if rare else ("SET", WORD, packed(ids))))


@pytest.mark.parametrize("rare", [False, True])
async def test_a_term_without_posts_is_deleted(store: Store, rare: bool) -> None:
    await fill(store, [0, 7], rare)
    assert await remove(store, 6) == await remove(store, 8) == 0
    assert await remove(store, 7) == 1
    assert await held(store) == (None, None)
    assert await remove(store, 7) == 0


async def test_each_of_several_terms_is_removed_from_its_own_key(store: Store) -> None:
    place: list[Key] = []
    for number in range(3):
        place += [keys.search_term(3, f"00f{number}"), RARE]
    args = [part for number in range(3) for part in (f"term{number}", packed([number + 5]))]
    assert await run_script(store, ADD_POSTINGS_SCRIPT, place, CAP, FEW, *args) == 3
    assert await run_script(store, REMOVE_POSTINGS_SCRIPT, place, packed([6]), "term0", "term1", "term2") == 1
    assert await run_command(store, "HKEYS", RARE) == [b"term0", b"term2"]
