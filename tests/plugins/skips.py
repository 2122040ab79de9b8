"""Say at the end of a run which tests were skipped and why, or, in CI, turn skips into failures.

tests/conftest.py loads this plugin. In CI every program is installed. It accepts one kind of skip: data whose licence
forbids a copy (tests/support/corpora.py). `xfail` is no skip.
"""

import os
from collections import Counter
from collections.abc import Generator

import pytest

from tests.support.corpora import DATA_NOT_COPIED


def in_ci() -> bool:
    return os.environ.get("CI", "").lower() in ("1", "true")


def reason_of(report: pytest.TestReport | pytest.CollectReport) -> str:
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return reason.removeprefix("Skipped: ")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reasons = Counter(map(reason_of, terminalreporter.stats.get("skipped", ())))
    for reason, count in reasons.most_common():
        terminalreporter.line(f"Skipped {count} {'test' if count == 1 else 'tests'}: {reason}")


def as_failure(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Turn a skip into a failure that keeps its reason."""
    if not in_ci() or not report.skipped or hasattr(report, "wasxfail"):
        return
    reason = reason_of(report)
    if DATA_NOT_COPIED in reason:
        return
    report.outcome = "failed"
    report.longrepr = f"Skipped in CI, where nothing may be missing: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    as_failure(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    as_failure(report)
    return report
