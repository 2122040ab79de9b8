"""Look up which tests run a line or a script, and their durations, in the files of `make coverage`."""

import json
from collections import Counter, defaultdict
from functools import cached_property
from pathlib import Path

from coverage import CoverageData

from tests.quality.mutants import Mutant


def named(context: str) -> str:
    """Return the test's name. pytest-cov appends the phase to it."""
    return context.split("|")[0]


class Covering:
    """The map from lines to tests at the time of the coverage run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._data = CoverageData(str(folder / ".coverage"))
        self._data.read()
        self._lines: dict[str, dict[int, list[str]]] = {}
        self._counts: dict[str, Counter[str]] = {}

    @cached_property
    def _noted(self) -> tuple[dict[str, set[str]], dict[str, float], set[str]]:
        """Return the tests of each script, the duration of each test, and the tests that fail without a mutant."""
        scripts: defaultdict[str, set[str]] = defaultdict(set)
        seconds: defaultdict[str, float] = defaultdict(float)
        failed: set[str] = set()
        for file in (self._folder / "use").glob("*.json"):
            use = json.loads(file.read_text())
            failed |= set(use.get("failed", ()))
            for name, tests in use["scripts"].items():
                scripts[name] |= set(tests)
            for test, spent in use["seconds"].items():
                seconds[test] = max(spent, seconds[test])
        return scripts, seconds, failed

    def seconds(self, test: str) -> float:
        return self._noted[1].get(test, 1.0)

    def tests_of(self, path: str, mutant: Mutant) -> list[str]:
        """Return the tests that run the mutant's statement.

        Tests of the module itself come first, then tests that run much of the file in a short time.
        """
        if path.endswith(".lua"):
            tests = self._noted[0].get(Path(path).name, set())
        elif not mutant.is_in_function:
            tests = self._all_of(path)
        else:
            by_line = self._by_line(path)
            lines = range(mutant.first, mutant.last + 1)
            tests = {named(context) for line in lines for context in by_line.get(line, ())} - {""}
        own = Path(path).stem.split("_")[0]
        line_counts = self._seen(path)

        def promise(test: str) -> tuple[bool, bool, float, str]:
            return (
                "script_answers" not in test or not path.endswith(".lua"),
                own not in test.split("::")[0],
                self.seconds(test) / max(1, line_counts[test]) ** 2,
                test,
            )

        return sorted(tests - self._noted[2], key=promise)

    def _seen(self, path: str) -> Counter[str]:
        """Return how many lines of a file each test runs."""
        if path not in self._counts:
            by_line = self._by_line(path).values()
            self._counts[path] = Counter(test for tests in by_line for test in set(map(named, tests)))
        return self._counts[path]

    def _by_line(self, path: str) -> dict[int, list[str]]:
        if path not in self._lines:
            tests: defaultdict[int, list[str]] = defaultdict(list)
            for name in self._data.measured_files():
                if f"/{name}".endswith(f"/{path}"):
                    for line, contexts in self._data.contexts_by_lineno(name).items():
                        tests[line] += contexts
            self._lines[path] = tests
        return self._lines[path]

    def _all_of(self, path: str) -> set[str]:
        by_line = self._by_line(path)
        return {named(context) for contexts in by_line.values() for context in contexts} - {""}
