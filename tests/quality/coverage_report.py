"""Print the results of `make coverage`, and write their sum into docs/reference/quality.md.

`--missing PREFIX` lists the uncovered code.
"""

import argparse
import io
import json
import re
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from coverage import Coverage

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "reference" / "quality.md"
PLACE = re.compile(r"(<!-- coverage -->\n).*?(<!-- /coverage -->)", re.DOTALL)
HEAD = "| package | lines | run | branches | taken |\n|---|---|---|---|---|\n"
WHOLE = ("socialsite", "accounts", "timelines")
COUNTS = ("num_statements", "covered_lines", "num_branches", "covered_branches")


def measured(data_file: str | None) -> dict[str, Any]:
    """Return {file: its coverage data}."""
    coverage = Coverage(data_file=data_file) if data_file else Coverage()
    coverage.load()
    with tempfile.TemporaryDirectory() as directory:  # coverage deletes the file of a report that fails
        file = Path(directory) / "coverage.json"
        coverage.json_report(outfile=str(file), ignore_errors=True)
        files: dict[str, Any] = json.loads(file.read_text())["files"]
    return files


def package_of(path: str) -> str:
    """Return the folder of a path, at most two levels deep."""
    return "/".join(Path(path).parts[:-1][:2]) or "."


def table(files: dict[str, Any]) -> str:
    """Return a row for all code, then one for each package."""
    counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for path, report in files.items():
        for name in (package_of(path), "**all**"):
            counts[name] = [sum(pair) for pair in zip(counts[name], of(report["summary"]), strict=True)]
    out = io.StringIO(HEAD)
    out.seek(0, io.SEEK_END)
    for name, (lines, run, branches, taken) in sorted(counts.items()):
        out.write(f"| {name} | {lines:,} | {share(run, lines)} | {branches:,} | {share(taken, branches)} |\n")
    return out.getvalue()


def of(summary: dict[str, int]) -> list[int]:
    return [summary[name] for name in COUNTS]


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def missing(files: dict[str, Any], prefix: str) -> str:
    """Return the lines and branches that no test runs."""
    return "\n".join(
        f"{path}: lines {report['missing_lines']}, branches {report['missing_branches']}"
        for path, report in sorted(files.items())
        if path.startswith(prefix) and (report["missing_lines"] or report["missing_branches"])
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--missing", metavar="PREFIX", help="tell what is not run below a folder")
    parser.add_argument("--data-file")
    options = parser.parse_args()
    files = measured(options.data_file)
    if options.missing is not None:
        print(missing(files, options.missing))
        return
    rows = table(files)
    total = HEAD + rows.removeprefix(HEAD).split("\n")[0] + "\n"
    DOCUMENT.write_text(PLACE.sub(lambda found: f"{found[1]}{total}{found[2]}", DOCUMENT.read_text()))
    print(rows)


if __name__ == "__main__":
    main()
