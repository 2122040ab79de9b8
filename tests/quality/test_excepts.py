"""No handler in the product swallows every error: a defect must reach the log and the 500 page.

A handler that must clean up after any error may catch everything if its last statement raises the error again.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BROAD = {"Exception", "BaseException"}
ALLOWED = {
    "accounts/accounts/passwords.py:run": "the future raises the error again in the request that waits",
    "timelines/media/encoder.py:encode_picture": "the child process only decodes; any error of a decoder is a refusal",
    "timelines/media/storage.py:delete": "the libraries of storages have errors of their own; the job is repeated",
}
"""{file:function: reason why it does not raise the error itself}."""


def sources() -> Iterator[tuple[str, ast.Module]]:
    files = [path for name in ("socialsite", "accounts", "timelines") for path in (ROOT / name).rglob("*.py")]
    for path in [*files, ROOT / "manage.py"]:
        yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text())


def swallowing() -> Iterator[str]:
    """Yield file:function of each handler of all errors that does not end by raising the error again."""
    for path, tree in sources():
        for function, handler in handlers(tree, "module"):
            if is_broad(handler) and not raises_on(handler.body[-1]):
                yield f"{path}:{function}"


def handlers(node: ast.AST, function: str) -> Iterator[tuple[str, ast.ExceptHandler]]:
    for child in ast.iter_child_nodes(node):
        inside = child.name if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else function
        if isinstance(child, ast.ExceptHandler):
            yield inside, child
        yield from handlers(child, inside)


def is_broad(handler: ast.ExceptHandler) -> bool:
    """Return whether the handler is bare or catches a broad error."""
    return not handler.type or names_all(handler.type)


def names_all(of: ast.AST) -> bool:
    """Return whether the expression names a broad error, alone or as `builtins.Exception`."""
    names = (getattr(node, "id", getattr(node, "attr", "")) for node in ast.walk(of))
    return not BROAD.isdisjoint(names)


def suppressing(tree: ast.AST) -> Iterator[int]:
    """Yield the lines of `contextlib.suppress` with a broad error."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("suppress"):
            yield from (node.lineno for each in node.args if names_all(each))


def raises_on(last: ast.stmt) -> bool:
    return isinstance(last, ast.Raise) and last.exc is None


def test_a_handler_of_all_errors_raises_them_again() -> None:
    assert sorted(swallowing()) == sorted(ALLOWED)


def test_no_code_suppresses_all_errors() -> None:
    assert [(path, line) for path, tree in sources() for line in suppressing(tree)] == []


def test_the_check_detects_swallowed_errors() -> None:
    for caught in ("(OSError, Exception)", "builtins.Exception", ""):
        (handler,) = handlers(ast.parse(f"try: pass\nexcept {caught}: clean()"), "module")
        assert is_broad(handler[1]), caught
        assert not raises_on(handler[1].body[-1])
    assert not is_broad(next(handlers(ast.parse("try: pass\nexcept OSError: clean()"), ""))[1])
    assert [*suppressing(ast.parse("with contextlib.suppress(OSError, Exception): pass"))] == [1]
    assert [*suppressing(ast.parse("with suppress(OSError): pass"))] == []
