"""Mutants of Python modules: each mutant is one small change of one place.

Annotations, docstrings, texts, assertions and log calls are not mutated. Removing an assignment to a name fails
everywhere immediately, so only assignments to attributes and items are removed.
"""

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Add, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}  # fmt: skip
OPTIONS = {"NX", "XX", "GT", "LT", "REV", "KEEPTTL", "WITHSCORES"}
"""Options of Redis commands that a command is valid without."""
ASIDE = {"log", "logger", "LOG"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True)
class Mutant:
    """One change: the `number`-th of its file, in the statement on the lines `first` to `last`."""

    number: int
    line: int
    first: int
    last: int
    operator: str
    told: str
    is_in_function: bool


class Finder:
    """Walk a module and record each place that can be changed, with its change."""

    def __init__(self, tree: ast.Module) -> None:
        self.found: list[tuple[Mutant, ast.AST, str, int | None, ast.AST | None]] = []
        """(mutant, parent, field, position in the field's list, replacement; None removes the child)."""
        self._statement: ast.stmt = ast.Pass(lineno=1, end_lineno=1)
        self._walk(tree, False)

    def _walk(self, node: ast.AST, inside: bool) -> None:
        if isinstance(node, ast.stmt):
            self._statement = node
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "type_comment", "type_params", "bases"):
                continue
            body = isinstance(node, FUNCTIONS) and name == "body"
            children = value if isinstance(value, list) else [value]
            for position, child in enumerate(children):
                if isinstance(child, ast.AST):
                    place = position if isinstance(value, list) else None
                    self._child(node, name, place, child, inside or body)

    def _child(self, parent: ast.AST, name: str, place: int | None, child: ast.AST, inside: bool) -> None:
        if isinstance(child, ast.Assert) or is_aside(child) or is_docstring(child):
            return
        outer = self._statement
        if isinstance(child, ast.stmt):
            self._statement = child
        for operator, changed in changes(child, parent, name):
            self._keep(operator, parent, name, place, child, changed, inside)
        self._walk(child, inside)
        self._statement = outer

    def _keep(
        self, operator: str, parent: ast.AST, name: str, place: int | None, child: ast.AST,
        changed: ast.AST | None, inside: bool,
    ) -> None:  # fmt: skip
        statement = self._statement
        first, last = statement.lineno, header_end(statement)
        was = short(child)
        description = f"{was}  ->  {short(changed) if changed is not None else '(removed)'}"
        line = getattr(child, "lineno", first)
        kind = operator if inside else "figure"
        if isinstance(parent, ast.keyword) and parent.arg == "strict":
            kind = "strict"  # `strict` of zip only states a fact: changing it has no effect
        mutant = Mutant(len(self.found), line, first, last, kind, description, inside)
        self.found.append((mutant, parent, name, place, changed))


def short(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split())[:100]


def header_end(statement: ast.stmt) -> int:
    """Return the last line of a statement; for a compound statement, of its header."""
    body = getattr(statement, "body", None)
    if isinstance(body, list) and body:
        return max(statement.lineno, body[0].lineno - 1)
    return statement.end_lineno or statement.lineno


def is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def is_aside(node: ast.AST) -> bool:
    """Return whether the statement is a log call."""
    call = node.value if isinstance(node, ast.Expr) else None
    function = call.func if isinstance(call, ast.Call) else None
    return isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id in ASIDE


def changes(node: ast.AST, parent: ast.AST, name: str) -> Iterator[tuple[str, ast.AST | None]]:
    """Yield each replacement of a node with the name of the change."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARED:
        yield "compare", like(node, "ops", [COMPARED[type(node.ops[0])](), *node.ops[1:]])
    elif isinstance(node, ast.BoolOp):
        opposite = ast.Or if isinstance(node.op, ast.And) else ast.And
        yield "boolean", like(node, "op", opposite())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "boolean", node.operand
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in COMPUTED and not is_text(node):
        yield "arithmetic", like(node, "op", COMPUTED[type(node.op)]())
    elif isinstance(node, ast.Constant):
        yield from constants(node, parent, name)
    if name == "test" and isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Await | ast.NamedExpr):
        yield "condition", ast.copy_location(ast.UnaryOp(ast.Not(), node), node)  # type: ignore[arg-type]
    if isinstance(node, ast.stmt):
        yield from statements(node)


def constants(node: ast.Constant, parent: ast.AST, name: str) -> Iterator[tuple[str, ast.AST | None]]:
    value = node.value
    if isinstance(value, bool):
        yield "constant", like(node, "value", not value)
    elif isinstance(value, int | float):
        yield "constant", like(node, "value", near(value))
    elif value in OPTIONS and name in ("args", "elts"):
        yield "option", None


def near(value: Any) -> Any:
    """Return another number: the next number, or twice a large number (a cap, a unit)."""
    return value + 1 if abs(value) < 50 else value * 2


def statements(node: ast.stmt) -> Iterator[tuple[str, ast.AST | None]]:
    empty = ast.copy_location(ast.Pass(), node)
    if isinstance(node, ast.Return) and node.value is not None and not is_plain(node.value):
        yield "return", like(node, "value", ast.copy_location(ast.Constant(None), node))
    elif (
        isinstance(node, ast.Raise | ast.Break | ast.Continue | ast.Delete | ast.AugAssign)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await))
        or (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute | ast.Subscript))
    ):
        yield "statement", empty


def is_plain(node: ast.expr) -> bool:
    """Return whether the value is a constant: None would stay None, and booleans are inverted elsewhere."""
    return isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, bool))


def is_text(node: ast.BinOp | ast.AugAssign) -> bool:
    sides = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.value,)
    return any(isinstance(each, ast.JoinedStr) or is_string(each) for each in sides)


def is_string(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)


def like(node: Any, field: str, value: object) -> Any:
    """Return a copy that differs in one field."""
    new = copy.copy(node)
    setattr(new, field, value)
    return new


def mutants_of(source: str) -> list[Mutant]:
    return [each[0] for each in Finder(ast.parse(source)).found]


def mutated(source: str, number: int) -> ast.Module:
    """Return the module with one change; line numbers are unchanged."""
    tree = ast.parse(source)
    _, parent, name, place, changed = Finder(tree).found[number]
    if place is None:
        setattr(parent, name, changed)
    elif changed is None:
        getattr(parent, name).pop(place)
    else:
        getattr(parent, name)[place] = changed
    return ast.fix_missing_locations(tree)
