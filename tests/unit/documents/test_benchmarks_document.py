"""docs/reference/benchmarks.md has every benchmark, and figures with a budget have five rounds."""

import json
import re
from pathlib import Path

from benchmarks.__main__ import MODULES

ROOT = Path(__file__).resolve().parents[3]
KEPT = json.loads((ROOT / "docs" / "reference" / "benchmarks.json").read_text())
PAGE = (ROOT / "docs" / "reference" / "benchmarks.md").read_text()
ROUNDS = 5
BUDGETED = re.compile(r"B(?:[1-9]|10)[a-z]?")


def test_every_benchmark_was_measured_and_is_on_the_page() -> None:
    assert KEPT.keys() == MODULES.keys()
    for name, run in KEPT.items():
        assert PAGE.count(f"\n| {name} | ") == len(run["figures"])


def test_each_module_has_a_number() -> None:
    modules = {path.stem for path in (ROOT / "benchmarks").glob("b[0-9]*.py")}
    assert modules == set(MODULES.values())


def test_figures_with_a_budget_are_medians_of_five_rounds() -> None:
    few = {
        (name, figure["what"])
        for name, run in KEPT.items()
        for figure in run["figures"]
        if BUDGETED.fullmatch(name) and len(figure["ours"]["values"]) < ROUNDS
    }
    assert few == set()
