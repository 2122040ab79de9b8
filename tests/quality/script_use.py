"""Which tests run which Lua script: what coverage contexts are to Python lines.

A pytest plugin (`-p tests.quality.script_use`), silent unless SCRIPT_USE names a folder: there each process
leaves one JSON file, which tests.quality.covering reads: {"scripts": {script: [tests]}, "seconds": {test:
seconds}, "failed": [tests]}, tests by their node ids.
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
    """A script's digest is read for each call of it, also of prepared ones.

    Imported here: what is imported before the coverage begins would count as never run.
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
        found = {
            "scripts": {name: sorted(tests) for name, tests in USED.items()},
            "seconds": SECONDS,
            "failed": FAILED,
        }
        Path(folder).mkdir(parents=True, exist_ok=True)
        (Path(folder) / f"{uuid.uuid4().hex}.json").write_text(json.dumps(found))
