"""Tests of mutants: how they are found, and how they replace a running function or script."""

import ast
import json

import pytest

from tests.quality.lua_mutants import lua_mutants_of, lua_mutated
from tests.quality.mutants import mutants_of, mutated
from tests.quality.mutating import ROOT, mutants_in
from tests.quality.mutation import subjects
from tests.quality.mutation_report import EQUIVALENT, name_of

PYTHON = '''
"""Not this text."""
CAP = 100

async def f(x: int | None, most: int = 5) -> bool:
    """Nor this."""
    log.info("nor %s", 1 + 1)
    if x is None or not x < most:
        return False
    await g("ZADD", x + 2, "NX")
    return x
'''


def changed(source: str) -> set[str]:
    return {f"{mutant.operator}: {mutant.told}" for mutant in mutants_of(source)}


def test_the_mutants_of_a_python_source_are_found() -> None:
    assert changed(PYTHON) == {
        "figure: 100  ->  200",
        "figure: 5  ->  6",
        "boolean: x is None or not x < most  ->  x is None and (not x < most)",
        "compare: x is None  ->  x is not None",
        "boolean: not x < most  ->  x < most",
        "compare: x < most  ->  x <= most",
        "constant: False  ->  True",
        "statement: await g('ZADD', x + 2, 'NX')  ->  pass",
        "arithmetic: x + 2  ->  x - 2",
        "constant: 2  ->  3",
        "option: 'NX'  ->  (removed)",
        "return: return x  ->  return None",
    }


def test_a_mutant_differs_in_one_place_and_keeps_its_lines() -> None:
    plain = ast.unparse(ast.parse(PYTHON))
    for mutant in mutants_of(PYTHON):
        text = ast.unparse(mutated(PYTHON, mutant.number))
        assert sum(one != two for one, two in zip(plain.split("\n"), text.split("\n"), strict=True)) == 1, mutant


def test_lua_mutants_change_no_texts_and_comments() -> None:
    source = 'if x >= 1 and "a >= 1" then -- not >= 1\n  redis.call("SET", KEYS[1], y, "NX")\nend\nreturn f(x)\n'
    texts = {lua_mutated(source, mutant.number) for mutant in lua_mutants_of(source)}
    assert texts == {
        source.replace("x >= 1", "x > 1"),
        source.replace("x >= 1", "x >= 2"),
        source.replace("and", "or"),
        source.replace("KEYS[1]", "KEYS[2]"),
        source.replace(', "NX"', ""),
        source.replace('  redis.call("SET", KEYS[1], y, "NX")', ""),
        source.replace("return f(x)", "return nil"),
    }


@pytest.mark.parametrize("path", subjects()[::4])
def test_mutants_compile(path: str) -> None:
    source = (ROOT / path).read_text()
    for mutant in mutants_in(path)[::5]:
        if path.endswith(".py"):
            compile(mutated(source, mutant.number), path, "exec")
        else:
            assert lua_mutated(source, mutant.number) != source


def test_equivalent_mutants_exist_in_the_current_source() -> None:
    for path, reasons in json.loads(EQUIVALENT.read_text()).items():
        names = {name_of(path, mutant.line, mutant.told) for mutant in mutants_in(path)}
        assert set(reasons) <= names, path
