"""Report the results of mutants: counts per module, and the unexplained survivors."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from tests.quality.mutating import ROOT, mutants_in

EQUIVALENT = Path(__file__).with_name("equivalent.json")
"""{file: {mutant as in `name_of`: reason}}"""
Row = dict[str, Any]
LIVED = ("survived", "uncovered")
NAMES = ("mutants", "killed", "hung", "equivalent", "survived", "uncovered")
HEAD = "| part | mutants | killed | hung | equivalent | survived | not run by a test |\n" + "|---" * 7 + "|\n"


@cache
def _lines(path: str) -> list[str]:
    return (ROOT / path).read_text().splitlines()


def name_of(path: str, line: int, told: str) -> str:
    """Return a name of the mutant that is unique in its file and independent of line numbers.

    It is the source line and the change. For Lua `told` already begins with the line.
    """
    return told if path.endswith(".lua") else f"{_lines(path)[line - 1].strip()}: {told}"


class Results:
    """The rows of a results file that describe a mutant of the current source."""

    def __init__(self, file: Path) -> None:
        self._file = file
        rows_by_mutant: dict[tuple[str, int, str], Row] = {}
        for line in file.read_text().splitlines() if file.exists() else ():
            row = json.loads(line)
            rows_by_mutant[row["path"], row["number"], row["told"]] = row
        self.rows = [row for row in rows_by_mutant.values() if self._stands(row)]
        self.equivalent: dict[str, dict[str, str]] = json.loads(EQUIVALENT.read_text())

    def _stands(self, row: Row, known: dict[str, set[tuple[int, str, str]]] = {}) -> bool:  # noqa: B006 - a cache
        path = row["path"]
        if path not in known:
            file_exists = (ROOT / path).exists()
            known[path] = (
                {(each.number, each.told, each.operator) for each in mutants_in(path)} if file_exists else set()
            )
        return (row["number"], row["told"], row["operator"]) in known[path]

    def forget(self, files: Iterable[str], states: Iterable[str]) -> None:
        """Delete the results of these files in these states, so that the next run tries them again."""
        remaining_rows = [row for row in self.rows if row["path"] not in set(files) or row["state"] not in set(states)]
        self._file.write_text("".join(json.dumps(row) + "\n" for row in remaining_rows))

    def is_explained(self, row: Row) -> bool:
        reasons = self.equivalent.get(row["path"], {})
        return bool(reasons) and name_of(row["path"], row["line"], row["told"]) in reasons

    def open_ones(self) -> list[Row]:
        """Return the mutants that survived and are not explained."""
        lived = [row for row in self.rows if row["state"] in LIVED]
        return [row for row in lived if not self.is_explained(row)]

    def table(self, part_of: Callable[[str], str] = str) -> str:
        """Return a Markdown table with a row per part of the paths (default: per file) and one for all."""
        counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for row in self.rows:
            explained = row["state"] in LIVED and self.is_explained(row)
            for name in (part_of(row["path"]), "**all**"):
                counts[name]["equivalent" if explained else row["state"]] += 1
                counts[name]["mutants"] += row["state"] != "impossible"
        rows = ((name, *(str(counts[name][each]) for each in NAMES)) for name in sorted(counts))
        return HEAD + "\n".join(f"| {' | '.join(row)} |" for row in rows)

    def told(self) -> str:
        lived = sorted(self.open_ones(), key=lambda row: (row["path"], row["line"]))
        lines = ["{path}:{line} {state} ({operator}): {told}".format(**row) for row in lived]
        return "\n".join([self.table(), "", *lines])
