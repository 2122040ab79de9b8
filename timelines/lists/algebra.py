"""Lists made of other lists: the union, intersection or difference of their members.

A virtual list has no members of its own and no cached timeline: who is on it follows from its parts whenever
it is read. A part may be virtual itself.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from socialsite.ids import AccountId
from timelines.ids import ListId
from timelines.lists.account_list import AccountList, Operation

MIN_PARTS, MAX_PARTS = 2, 8
MAX_LEAVES = 8
"""Lists with members that a virtual one comes down to: each page reads the profiles of all of them."""
MAX_LEVELS = 4


class InvalidExpression(ValueError):
    """Too many lists, too deep, or a list that would be made of itself; `reason` says which."""

    def __init__(self, reason: Literal["parts", "leaves", "levels", "circle"]) -> None:
        self.reason = reason
        super().__init__(reason)


@dataclass(frozen=True)
class ListExpression:
    """An expression over lists with members. `missing`: parts that were deleted; nobody is on those.

    Lists that several others are made of stand here once, and are worked out once: 8 parts on each of four
    levels would be 4,096 of them.
    """

    operation: Operation
    parts: tuple["ListExpression | ListId", ...]
    missing: tuple[ListId, ...] = ()

    @cached_property
    def leaves(self) -> tuple[ListId, ...]:
        """Every list with members that it comes down to, once."""
        found: dict[ListId, None] = {}
        for part in self.parts:
            found.update(dict.fromkeys(part.leaves if isinstance(part, ListExpression) else (part,)))
        return tuple(found)

    @cached_property
    def all_missing(self) -> tuple[ListId, ...]:
        """Deleted parts, its own and those of its parts."""
        below = [id for part in self.parts if isinstance(part, ListExpression) for id in part.all_missing]
        return tuple(dict.fromkeys([*self.missing, *below]))

    def members(self, on: Mapping[ListId, Iterable[AccountId]]) -> set[AccountId]:
        """Who is on it, given who is on each of its leaves."""
        return self._members(on, {})

    def _members(self, on: Mapping[ListId, Iterable[AccountId]], known: dict[int, set[AccountId]]) -> set[AccountId]:
        if id(self) not in known:
            sets = [
                part._members(on, known) if isinstance(part, ListExpression) else set(on.get(part, ()))
                for part in self.parts
            ]
            known[id(self)] = combine_members(self.operation, sets)
        return known[id(self)]


def combine_members(operation: Operation, sets: Sequence[set[AccountId]]) -> set[AccountId]:
    """The first set with the others. Of no set: nobody."""
    if not sets:
        return set()
    first, *others = sets
    if operation == "union":
        return first.union(*others)
    if operation == "intersection":
        return first.intersection(*others)
    return first.difference(*others)


Worked = dict[tuple[ListId, int], ListExpression]
"""By list and level."""


def build_expression(
    made: AccountList,
    known: Mapping[ListId, AccountList],
    level: int = 1,
    worked: Worked | None = None,
) -> ListExpression:
    """What a virtual list comes down to. `known`: the owner's lists, as far as they stand.

    Raises CannotBeMade.
    """
    worked = {} if worked is None else worked
    if (made.id, level) in worked:
        return worked[made.id, level]
    if made.operation is None:
        raise ValueError("a list with members of its own")
    if level > MAX_LEVELS:
        raise InvalidExpression("levels")
    parts: list[ListExpression | ListId] = []
    missing: list[ListId] = []
    for part_id in made.parts:
        part = known.get(part_id)
        if part is None or part.owner_id != made.owner_id:
            missing.append(part_id)
            parts.append(ListExpression("union", ()))  # it keeps its place: what is taken away from nobody is nobody
        else:
            parts.append(build_expression(part, known, level + 1, worked) if part.operation else part_id)
    found = worked[made.id, level] = ListExpression(made.operation, tuple(parts), tuple(missing))
    return found


def validate_parts(made: AccountList, known: Mapping[ListId, AccountList]) -> None:
    """Raises CannotBeMade where the list, or one that it is a part of, would become too much."""
    if not MIN_PARTS <= len(made.parts) <= MAX_PARTS or len(set(made.parts)) < len(made.parts):
        raise InvalidExpression("parts")
    after = {**known, made.id: made}
    if _reaches(made, made.id, after):
        raise InvalidExpression("circle")
    worked: Worked = {}
    for each in after.values():
        if each.operation is not None and len(build_expression(each, after, worked=worked).leaves) > MAX_LEAVES:
            raise InvalidExpression("leaves")


def _reaches(start: AccountList, target: ListId, known: Mapping[ListId, AccountList]) -> bool:
    """Whether the parts of `start`, or theirs, hold `target`."""
    met: set[ListId] = set()
    waiting = list(start.parts)
    while waiting:
        part_id = waiting.pop()
        if part_id == target:
            return True
        if part_id not in met and part_id in known:
            met.add(part_id)
            waiting += known[part_id].parts
    return False
