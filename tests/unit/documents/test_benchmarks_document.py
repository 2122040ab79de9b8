"""docs/reference/benchmarks.md has the last run of this release alone, and budgets of ratios have five rounds."""

from pathlib import Path

from benchmarks import report
from benchmarks.__main__ import MODULES
from benchmarks.figures import Budget, Figure, Samples
from socialsite import __version__

PAGE = report.PAGE.read_text()
RUN = report.Run.read()
ROUNDS = 5
ONCE = {"B22: in the first minute of a process"}
"""A figure with a reference that a run measures once."""


def test_the_page_is_that_of_the_last_run() -> None:
    assert report.page(RUN, MODULES) == PAGE, "`python -m benchmarks pages` writes it"


def test_a_release_that_was_not_measured_has_no_figure() -> None:
    page = report.page(None, MODULES)
    assert f"Release {__version__} has not been measured yet" in page
    assert "MISSED |" not in page


def test_a_failed_benchmark_is_named_with_its_reason_and_the_others_have_their_rows() -> None:
    run = report.Run.begin(ROUNDS)
    missed = Figure("a page", "ms", Samples.of(3.0), Budget("<=", 2.0))
    run.add("B4", report.encode_figures([missed]), 12.3)
    run.add("B5", "needs a server", 1.0)
    page = report.page(run, MODULES)
    assert "| B4 | a page | 3 ms |  |  | <= 2 ms | MISSED |" in page
    assert "- B5 was not measured: needs a server\n" in page
    assert "- B6 was not measured: the run ended before\n" in page
    assert not run.has_measured("B5")


def test_each_module_has_a_number() -> None:
    modules = {path.stem for path in Path(report.__file__).parent.glob("b[0-9]*.py")}
    assert modules == set(MODULES.values())


def test_ratios_with_a_budget_are_medians_of_five_rounds() -> None:
    figures = [figure for outcome in RUN.outcomes.values() for figure in outcome.figures] if RUN else []
    ratios = [figure for figure in figures if figure.budget and figure.reference and figure.what not in ONCE]
    assert {figure.what for figure in ratios if len(figure.ours.values) < ROUNDS} == set()
