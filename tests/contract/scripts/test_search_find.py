"""Results and numbers of steps of search_find.lua."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from socialsite.ids import MAX_ID
from socialsite.store import Store
from tests.support.scripting import run_command, run_script
from timelines import keys
from timelines.search.repository import FIND_POSTINGS_SCRIPT, pack_ids

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
    store: Store,
    *terms: Term,
    highest: int = MAX_ID,
    lowest: int = 0,
    most: int = PLENTY,
    steps: int = PLENTY,
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
