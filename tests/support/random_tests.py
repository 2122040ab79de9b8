"""How much of the random tests `make test` runs; `make nightly` runs all (NIGHTLY=1, and tests marked `nightly`)."""

import os
from collections.abc import Iterable

import pytest
from _pytest.mark import ParameterSet

CI_SHARE = 3
"""`make test` tries one of this many examples."""


def examples(count: int) -> int:
    """Return how many examples Hypothesis tries."""
    return count if os.environ.get("NIGHTLY") else max(5, count // CI_SHARE)


def mostly_nightly(values: Iterable[object], usual_count: int) -> list[ParameterSet]:
    """Return parameters for `parametrize`: all are marked `nightly` except the first `usual_count`."""
    return [
        pytest.param(value, marks=[pytest.mark.nightly] if number >= usual_count else [])
        for number, value in enumerate(values)
    ]
