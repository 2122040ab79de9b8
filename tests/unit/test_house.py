"""What CONTRIBUTING.md says of sizes: no file and no function gets away while nobody looks."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("socialsite", "accounts", "timelines", "benchmarks", "tests")
MOST_LINES, MOST_OF_A_FUNCTION = 250, 40
IN_ONE_PLACE = {"timelines/keys.py"}
"""The schema: a key a few lines, each with what it holds. Apart, they could not be read together."""


def sources(suffix: str) -> Iterator[tuple[str, str]]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob(f"*{suffix}")):
            yield path.relative_to(ROOT).as_posix(), path.read_text()


def test_no_file_has_two_reasons_to_change() -> None:
    long = {
        f"{path}: {lines} lines"
        for suffix in (".py", ".lua")
        for path, text in sources(suffix)
        if (lines := text.count("\n")) > MOST_LINES and path not in IN_ONE_PLACE
    }
    assert long == set(), "split by noun, never into utils"


def test_no_function_has_two_reasons_to_change() -> None:
    long = {
        f"{path}:{node.lineno} {node.name}"
        for path, text in sources(".py")
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno + 1 > MOST_OF_A_FUNCTION
    }
    assert long == set()
