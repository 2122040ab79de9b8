"""The scripts of the search index: writing it, and finding posts in it."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pytest

from socialsite.ids import MAX_ID
from socialsite.store import Key, Store
from tests.support.nodes import run_command, run_script
from timelines import keys
from timelines.search.repository import ADD_POSTINGS_SCRIPT, FIND_POSTINGS_SCRIPT, REMOVE_POSTINGS_SCRIPT, pack_ids

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


BLOCK = 64

PLENTY = 100_000


@dataclass(frozen=True)
class Term:
    """Ascending postings above a floor; of a frequent, a rare or an absent term."""

    ids: Sequence[int] = ()
    floor: int = 0
    is_rare: bool = False
    is_absent: bool = False


async def find(
    store: Store, *terms: Term, highest: int = MAX_ID, lowest: int = 0, most: int = PLENTY, steps: int = PLENTY
) -> tuple[int, list[int]]:
    """Return (edge, ids) of the script over these terms."""
    place = []
    for number, term in enumerate(terms):
        place += [keys.search_term(3, f"{number:04x}"), keys.search_rare_terms(3, number)]
        if term.is_absent:
            continue
        if term.is_rare:
            await run_command(store, "HSET", place[-1], f"term {number}", pack_ids(term.ids))
        else:
            await run_command(store, "SET", place[-2], pack_ids([term.floor, *term.ids]))
    names = [f"term {number}" for number in range(len(terms))]
    edge, *ids = await run_script(store, FIND_POSTINGS_SCRIPT, place, highest, lowest, most, steps, *names)
    return edge, ids


async def needed(store: Store, *terms: Term) -> int:
    """Return the smallest number of steps that gives a complete result."""
    for steps in range(200):
        edge, _ = await find(store, *terms, steps=steps)
        if not edge:
            return steps
    raise AssertionError("never decided")


def under_all(terms: Sequence[Term]) -> list[int]:
    """Return the expected ids; a list excludes no ids below its floor, and the lowest floor leads."""
    leader = min(terms, key=lambda term: (term.floor, len(term.ids)))
    return [id for id in reversed(leader.ids) if all(id <= term.floor or id in set(term.ids) for term in terms)]


@pytest.mark.parametrize("seed", range(12))
async def test_searches_over_many_blocks_equal_intersections_of_sets(store: Store, seed: int) -> None:
    picks = random.Random(seed)
    terms = []
    for _ in range(picks.randint(1, 4)):
        ids = sorted(picks.sample(range(1, 1_200), picks.choice([1, 5, 63, 64, 65, 128, 129, 300, 700])))
        floor = picks.choice([0, 0, ids[0] - 1, ids[len(ids) // 3]])
        terms.append(Term([id for id in ids if id > floor], floor, is_rare=not floor and len(ids) == 5))
    assert await find(store, *terms) == (0, under_all(terms))


async def test_both_ends_are_inclusive_and_a_full_result_ends_at_its_last_id(store: Store) -> None:
    term = Term([10, 20, 30, 40, 50])
    assert await find(store, term, highest=40, lowest=20) == (0, [40, 30, 20])
    assert await find(store, term, highest=39, lowest=21) == (0, [30])
    assert await find(store, term, most=2) == (40, [50, 40])
    assert await find(store, term, most=5) == (10, [50, 40, 30, 20, 10])
    assert await find(store, term, most=6) == (0, [50, 40, 30, 20, 10])


async def test_a_search_without_steps_ends_above_its_highest_id(store: Store) -> None:
    term = Term([10, 20])
    assert await find(store, term, highest=30, steps=-1) == (31, [])
    assert await find(store, term, highest=30, steps=0) == (20, [20])
    assert await find(store, Term([10, 20]), Term([5, 12]), highest=30, steps=0) == (13, [])


@pytest.mark.parametrize(("size", "blocks"), [(1, 1), (64, 1), (65, 2), (128, 2), (129, 3), (130, 3)])
async def test_each_id_and_each_block_costs_one_step(store: Store, size: int, blocks: int) -> None:
    assert await needed(store, Term(range(1, size + 1))) == size + blocks


async def test_rare_terms_are_read_completely_without_steps_for_blocks(store: Store) -> None:
    assert await needed(store, Term(range(1, 9), is_rare=True)) == 8


@pytest.mark.parametrize("is_rare", [False, True])
async def test_the_shorter_of_two_complete_lists_leads(store: Store, is_rare: bool) -> None:
    blocks = 0 if is_rare else 2
    for terms in ([3], [1, 2, 3, 4, 5]), ([1, 2, 3, 4, 5], [3]):
        assert await needed(store, *(Term(ids, is_rare=is_rare) for ids in terms)) == 2 + blocks


async def test_a_short_rare_list_leads_a_longer_frequent_list(store: Store) -> None:
    assert await needed(store, Term([1, 2, 3, 4, 5]), Term([3], is_rare=True)) == 3


@pytest.mark.parametrize("is_rare", [False, True])
async def test_ids_are_read_with_all_their_bytes(store: Store, is_rare: bool) -> None:
    wide = sorted({(1 << bits) + low for bits in range(0, 53, 4) for low in (0, 1, 255, 257)})
    assert await find(store, Term(wide, is_rare=is_rare)) == (0, wide[::-1])


async def test_an_absent_term_has_no_results(store: Store) -> None:
    assert await find(store, Term([1, 2]), Term(is_absent=True)) == (0, [])
    assert await find(store, Term([1, 2], is_rare=True), Term(is_absent=True)) == (0, [])


async def test_an_empty_list_excludes_no_ids_up_to_its_floor(store: Store) -> None:
    assert await find(store, Term([10, 20, 60]), Term(floor=50)) == (0, [20, 10])


async def test_a_rare_term_is_complete_down_to_the_first_id(store: Store) -> None:
    assert await find(store, Term([1, 2]), Term([2], is_rare=True)) == (0, [2])


@pytest.mark.parametrize(("sought", "steps"), [(1_000, 4), (998, 4), (700, 14), (300, 11), (2, 11)])
async def test_a_long_list_is_searched_with_growing_leaps(store: Store, sought: int, steps: int) -> None:
    """The search starts at the newest block, doubles each leap, then halves.

    Example 700: 2 steps for the first list, 1 step, and for the second list the blocks 15, 14, 13, 11 and 7 by leaps,
    then 9, 10, 11, 10, 11 and 10 by halving.
    """
    assert await needed(store, Term([sought]), Term(range(1, 1_001))) == steps
