"""Virtual lists: the union, intersection or difference of the members of other lists.

A virtual list has no members of its own and no cached timeline. Its members are derived from its parts whenever it is
read. A part may be a virtual list itself.
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
"""The maximum number of leaves of an expression. Each page of its timeline reads the timelines of all members."""
MAX_LEVELS = 4


class InvalidExpression(ValueError):
    """The virtual list has too many parts, leaves or levels, or contains itself."""

    def __init__(self, reason: Literal["parts", "leaves", "levels", "circle"]) -> None:
        self.reason = reason
        super().__init__(reason)


@dataclass(frozen=True)
class ListExpression:
    """An expression over lists. `missing` are deleted parts, which have no members.

    A list that is a part of several lists is one object, whose members are computed once. Otherwise 8 parts on each of
    four levels would be 4,096 objects.
    """

    operation: Operation
    parts: tuple["ListExpression | ListId", ...]
    missing: tuple[ListId, ...] = ()

    @cached_property
    def leaves(self) -> tuple[ListId, ...]:
        """All lists with members of their own in the expression, each once."""
        leaves: dict[ListId, None] = {}
        for part in self.parts:
            leaves.update(dict.fromkeys(part.leaves if isinstance(part, ListExpression) else (part,)))
        return tuple(leaves)

    @cached_property
    def all_missing(self) -> tuple[ListId, ...]:
        """The deleted parts of the expression and of its parts."""
        below = [id for part in self.parts if isinstance(part, ListExpression) for id in part.all_missing]
        return tuple(dict.fromkeys([*self.missing, *below]))

    def members(self, on: Mapping[ListId, Iterable[AccountId]]) -> set[AccountId]:
        """Return the members of the expression. `on` has the members of each leaf."""
        return self._members(on, {})

    def _members(
        self, on: Mapping[ListId, Iterable[AccountId]], sets_by_part: dict[int, set[AccountId]]
    ) -> set[AccountId]:
        if id(self) not in sets_by_part:
            sets = [
                part._members(on, sets_by_part) if isinstance(part, ListExpression) else set(on.get(part, ()))
                for part in self.parts
            ]
            sets_by_part[id(self)] = combine_members(self.operation, sets)
        return sets_by_part[id(self)]


def combine_members(operation: Operation, sets: Sequence[set[AccountId]]) -> set[AccountId]:
    """Combine the first set with the others. Without sets, the result is empty."""
    if not sets:
        return set()
    first, *others = sets
    if operation == "union":
        return first.union(*others)
    if operation == "intersection":
        return first.intersection(*others)
    return first.difference(*others)


BuiltExpressions = dict[tuple[ListId, int], ListExpression]
"""The expressions that are already built, by list and level."""


def build_expression(
    made: AccountList, known: Mapping[ListId, AccountList], level: int = 1, built: BuiltExpressions | None = None
) -> ListExpression:
    """Return the expression of a virtual list. `known` are the existing lists of its owner.

    Raises InvalidExpression.
    """
    built = {} if built is None else built
    if (made.id, level) in built:
        return built[made.id, level]
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
            parts.append(
                ListExpression("union", ())
            )  # keeps its position, because a difference whose first part is absent is empty
        else:
            parts.append(build_expression(part, known, level + 1, built) if part.operation else part_id)
    result = built[made.id, level] = ListExpression(made.operation, tuple(parts), tuple(missing))
    return result


def validate_parts(made: AccountList, known: Mapping[ListId, AccountList]) -> None:
    """Raise InvalidExpression if the list, or a list that contains it, would break a limit."""
    if not MIN_PARTS <= len(made.parts) <= MAX_PARTS or len(set(made.parts)) < len(made.parts):
        raise InvalidExpression("parts")
    after = {**known, made.id: made}
    if _reaches(made, made.id, after):
        raise InvalidExpression("circle")
    built: BuiltExpressions = {}
    for each in after.values():
        if each.operation is not None and len(build_expression(each, after, built=built).leaves) > MAX_LEAVES:
            raise InvalidExpression("leaves")


def _reaches(start: AccountList, target: ListId, known: Mapping[ListId, AccountList]) -> bool:
    """Return whether `target` is a part of `start`, or a part of a part."""
    visited: set[ListId] = set()
    waiting = list(start.parts)
    while waiting:
        part_id = waiting.pop()
        if part_id == target:
            return True
        if part_id not in visited and part_id in known:
            visited.add(part_id)
            waiting += known[part_id].parts
    return False
