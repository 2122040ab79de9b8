"""Lists composed of other lists: their members, and refused compositions."""

import pytest

from socialsite.ids import AccountId
from timelines.ids import ListId
from timelines.lists.account_list import AccountList, Operation
from timelines.lists.algebra import MAX_LEAVES, InvalidExpression, ListExpression, build_expression, validate_parts

OWNER, OTHER = AccountId(1), AccountId(2)
A, B, C, V, W = map(ListId, (1, 2, 3, 10, 11))
ON = {A: {AccountId(1), AccountId(2)}, B: {AccountId(2), AccountId(3)}, C: {AccountId(3)}}


def made(id: ListId, operation: Operation | None = None, *parts: ListId, owner: AccountId = OWNER) -> AccountList:
    return AccountList(id, owner, "title", 1, operation=operation, parts=parts)


def known(*lists: AccountList) -> dict[ListId, AccountList]:
    return {each.id: each for each in (made(A), made(B), made(C), *lists)}


@pytest.mark.parametrize(("operation", "members"), [("union", {1, 2, 3}), ("intersection", {2}), ("difference", {1})])
def test_the_members_of_a_list_are_computed_from_its_parts(operation: Operation, members: set[int]) -> None:
    assert build_expression(made(V, operation, A, B), known()).members(ON) == members


def test_a_part_may_be_a_composed_list() -> None:
    inner = made(W, "union", B, C)
    expression = build_expression(made(V, "difference", A, W), known(inner))
    assert expression.members(ON) == {1}
    assert expression.leaves == (A, B, C)


def test_a_deleted_part_or_a_part_of_another_owner_has_no_members() -> None:
    for gone in (known(), known(made(W, owner=OTHER))):
        assert build_expression(made(V, "difference", W, A), gone).members(ON) == set()
        assert build_expression(made(V, "difference", A, W), gone).members(ON) == ON[A]
        assert build_expression(made(V, "intersection", A, W), gone).members(ON) == set()
        expression = build_expression(made(V, "union", A, W), gone)
        assert (expression.members(ON), expression.all_missing) == (ON[A], (W,))


def test_a_list_cannot_contain_itself_directly_or_indirectly() -> None:
    with pytest.raises(InvalidExpression, match="circle"):
        validate_parts(made(V, "union", A, V), known())
    with pytest.raises(InvalidExpression, match="circle"):
        validate_parts(made(V, "union", A, W), known(made(W, "union", B, V)))


def test_a_cycle_made_by_two_edits_raises_an_error() -> None:
    with pytest.raises(InvalidExpression, match="levels"):
        build_expression(made(V, "union", A, W), known(made(V, "union", A, W), made(W, "union", A, V)))


def test_the_numbers_of_parts_and_leaves_are_limited() -> None:
    many = [made(ListId(number)) for number in range(20, 20 + 2 * MAX_LEAVES)]
    ids = [each.id for each in many]
    inner = made(W, "union", *ids[:MAX_LEAVES])
    validate_parts(inner, known(*many))
    with pytest.raises(InvalidExpression, match="leaves"):
        validate_parts(made(V, "union", W, ids[-1]), known(*many, inner))
    small = made(W, "union", *ids[:2])
    outer = made(V, "union", W, *ids[2:MAX_LEAVES])
    validate_parts(outer, known(*many, small))
    with pytest.raises(InvalidExpression, match="leaves"):
        validate_parts(inner.__class__(W, OWNER, "t", 1, "all", "union", tuple(ids[-3:])), known(*many, small, outer))
    for parts in ((A,), (A, A), tuple(ids[:9])):
        with pytest.raises(InvalidExpression, match="parts"):
            validate_parts(made(V, "union", *parts), known(*many))


def test_an_expression_without_parts_has_no_members() -> None:
    assert ListExpression("intersection", ()).members(ON) == set()


def test_a_list_used_by_many_lists_is_computed_once() -> None:
    """Each level has eight lists of all eight lists below; without sharing, 4,096 parts would be computed."""
    lists = [made(ListId(number)) for number in range(100, 108)]
    levels = [lists]
    for start in (110, 120, 130):
        ids = [each.id for each in levels[-1]]
        levels.append([made(ListId(number), "union", *ids) for number in range(start, start + 8)])
    expression = build_expression(
        made(V, "union", *(each.id for each in levels[-1])), known(*(each for level in levels for each in level))
    )
    assert len(expression.leaves) == 8
    assert expression.members({each.id: {AccountId(each.id)} for each in lists}) == set(range(100, 108))
    level, worked = [expression], 0
    while level:
        worked += len(level)
        level = list(
            {id(part): part for each in level for part in each.parts if isinstance(part, ListExpression)}.values()
        )
    assert worked == 1 + 8 + 8 + 8
