"""Sizes of sides of pair edges, and what two sides have in common."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from socialsite.store.read import Read
from timelines.graph.edge_list import EdgeList


class Sized(NamedTuple):
    """A side of an id, and how many edges it has."""

    side: EdgeList
    owner: int
    size: int


async def counts(*sides: tuple[EdgeList, int], may_lag: bool = False) -> list[int]:
    """How many edges each (side, id) has, summed over the partitions of all of them in one round trip."""
    return await sides[0][0].ask(*(side.count_question(owner, may_lag=may_lag) for side, owner in sides))


async def common_with_each(one: Sized, others: Sequence[Sized], at_most: int) -> list[dict[int, int]]:
    """The ids on both sides, `one` and each of the others, and since when (ms) they are on the other.

    Of each two the smaller side is walked (at most `at_most`), the larger one asked about what was met: two
    round trips for all of them.
    """
    smaller = [other for other in others if other.size < one.size]
    larger = [other for other in others if other.size >= one.size]
    walks: list[Read[Any]] = [other.side.times_question(other.owner, at_most) for other in smaller]
    if larger:
        walks.append(one.side.ids_question(one.owner, at_most))
    walked = await one.side.ask(*walks)
    own_ids = walked.pop() if larger else []
    times = dict(zip(smaller, walked, strict=True))
    groups = {owner: one.side.grouped(owner, own_ids) for owner in {other.owner for other in larger}}
    found = await one.side.ask(
        *(one.side.held_question(one.owner, times[other]) for other in smaller),
        *(other.side.among_groups_question(other.owner, groups[other.owner]) for other in larger),
    )
    common = dict(zip((*smaller, *larger), found, strict=True))
    return [{id: times[other][id] for id in common[other]} if other in times else common[other] for other in others]
