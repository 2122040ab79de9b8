"""No handler in the product swallows every error: a defect must reach the log and the 500 page.

Who must clean up whatever happens may catch everything, if the last thing done is to raise it on.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BROAD = {"Exception", "BaseException"}
ALLOWED: dict[str, str] = {}
"""{file:function: why everything is swallowed there}. Nothing is."""


def swallowing() -> Iterator[str]:
    """file:function of each handler of all errors that does not end by raising what it caught."""
    files = [path for name in ("socialsite", "accounts", "timelines") for path in (ROOT / name).rglob("*.py")]
    for path in [*files, ROOT / "manage.py"]:
        for function, handler in handlers(ast.parse(path.read_text()), "module"):
            if is_broad(handler) and not raises_on(handler.body[-1]):
                yield f"{path.relative_to(ROOT).as_posix()}:{function}"


def handlers(node: ast.AST, function: str) -> Iterator[tuple[str, ast.ExceptHandler]]:
    for child in ast.iter_child_nodes(node):
        inside = child.name if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else function
        if isinstance(child, ast.ExceptHandler):
            yield inside, child
        yield from handlers(child, inside)


def is_broad(handler: ast.ExceptHandler) -> bool:
    """Bare, or a broad error alone or among others."""
    caught = ast.walk(handler.type) if handler.type else ()
    return not handler.type or any(isinstance(node, ast.Name) and node.id in BROAD for node in caught)


def raises_on(last: ast.stmt) -> bool:
    return isinstance(last, ast.Raise) and last.exc is None


def test_who_catches_everything_raises_it_on() -> None:
    assert sorted(swallowing()) == sorted(ALLOWED)


def test_a_swallowed_error_is_found() -> None:
    tree = ast.parse("try: pass\nexcept (OSError, Exception): clean()")
    (found,) = handlers(tree, "module")
    assert is_broad(found[1])
    assert not raises_on(found[1].body[-1])
