"""docs/security.md promises nothing that no test holds: each test it names is there."""

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text()
CITED = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)


@cache
def names_in(path: str) -> frozenset[str]:
    module = ast.parse((ROOT / path).read_text())
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in module.body if isinstance(node, functions))


def test_each_test_that_is_named_is_there() -> None:
    assert len(CITED) > 60
    missing = [f"{path}::{name}" for path, name in CITED if name not in names_in(path)]
    assert missing == []


def test_every_attack_is_told_of() -> None:
    files = {f"tests/attacks/{path.name}" for path in (ROOT / "tests" / "attacks").glob("test_*.py")}
    assert files <= {path for path, _ in CITED}


def test_it_leads_to_where_holes_are_reported() -> None:
    assert "(../SECURITY.md)" in PAGE
    assert "docs/security.md" in (ROOT / "SECURITY.md").read_text()
