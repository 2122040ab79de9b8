"""Sizes of sides of pair edges, and what two sides have in common."""

from collections.abc import Sequence
from typing import NamedTuple

from timelines.repositories.edge_side import EdgeSide


class Sized(NamedTuple):
    """A side of an id, and how many edges it has."""

    side: EdgeSide
    owner: int
    size: int


async def counts(*sides: tuple[EdgeSide, int], may_lag: bool = False) -> list[int]:
    """How many edges each (side, id) has, summed over the partitions of all of them in one round trip."""
    return await sides[0][0].ask(*(side.count_question(owner, may_lag=may_lag) for side, owner in sides))


async def common_with_each(one: Sized, others: Sequence[Sized], at_most: int) -> list[dict[int, int]]:
    """The ids on both sides, `one` and each of the others, and since when (ms) they are on the other.

    Of each two the smaller side is walked (at most `at_most`), the larger one asked about what was met: two
    round trips for all of them.
    """
    smaller = [other for other in others if other.size < one.size]
    walked = [one, *smaller] if len(smaller) < len(others) else smaller
    met = await one.side.ask(*(each.side.times_question(each.owner, at_most) for each in walked))
    met_on = dict(zip(walked, met, strict=True))
    asked = [(one, met_on[other]) if other in smaller else (other, met_on[one]) for other in others]
    found = await one.side.ask(*(large.side.among_question(large.owner, ids) for large, ids in asked))
    return [
        {id: met_on[other][id] for id in both} if other in smaller else both
        for other, both in zip(others, found, strict=True)
    ]
