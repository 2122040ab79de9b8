"""Turn skips into failures in CI, where every program is installed.

tests/conftest.py loads this plugin. Without CI=true a test skips if a program is missing, and names its package.
CI accepts one kind of skip: data whose licence forbids a copy (tests/support/corpora.py). `xfail` is no skip.
"""

import os
from collections.abc import Generator

import pytest

from tests.support.corpora import DATA_NOT_COPIED


def in_ci() -> bool:
    return os.environ.get("CI", "").lower() in ("1", "true")


def as_failure(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Turn a skip into a failure that keeps its reason."""
    if not in_ci() or not report.skipped or hasattr(report, "wasxfail"):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
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
