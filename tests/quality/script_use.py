"""Record which tests run which Lua script, as coverage contexts do for Python lines.

A pytest plugin (`-p tests.quality.script_use`), inactive unless SCRIPT_USE names a folder. Each process writes one JSON
file there, which tests.quality.covering reads: {"scripts": {script: [tests]}, "seconds": {test: seconds}, "failed":
[tests]}, with the tests' node ids.
"""

import json
import os
import uuid
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path

import pytest

USED: defaultdict[str, set[str]] = defaultdict(set)
FAILED: list[str] = []
SECONDS: defaultdict[str, float] = defaultdict(float)
_current = ""


def _watch() -> None:
    """Replace `Script.sha` by a property: each call of a script reads it, even of a prepared command.

    The import is local because modules imported before the coverage starts would count as never run.
    """
    from socialsite.store.commands import Script

    slot = Script.__dict__["sha"]

    def read(script: Script) -> str:
        if _current:
            USED[script.name].add(_current)
        return str(slot.__get__(script))

    Script.sha = property(read, slot.__set__)  # type: ignore[assignment]


def pytest_configure() -> None:
    if os.environ.get("SCRIPT_USE"):
        _watch()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    global _current
    _current = item.nodeid
    try:
        return (yield)
    finally:
        _current = ""


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    SECONDS[report.nodeid] += report.duration
    if report.failed:
        FAILED.append(report.nodeid)


def pytest_unconfigure() -> None:
    if USED and (folder := os.environ.get("SCRIPT_USE")):
        use = {"scripts": {name: sorted(tests) for name, tests in USED.items()}, "seconds": SECONDS, "failed": FAILED}
        Path(folder).mkdir(parents=True, exist_ok=True)
        (Path(folder) / f"{uuid.uuid4().hex}.json").write_text(json.dumps(use))
