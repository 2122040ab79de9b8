"""Mutation testing: `make mutation` changes one place of the sources in memory and runs what covers it.

`python -m tests.quality.mutation [FILE...]` (default: recipes and repositories, the smallest first) continues
where it was stopped; `--again` tries survivors anew, `--report` only tells. Needs `make coverage` before
it, but for tests written since: `--again --tests FILE` tries survivors against all of those, and no others.
Survivors that no test can tell apart stand, each with its reason, in tests/quality/equivalent.json.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from tests.quality.coverage_report import package_of
from tests.quality.mutation_report import Results

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache"
DOCUMENT = ROOT / "docs" / "reference" / "quality.md"
PLACE = re.compile(r"(<!-- mutation -->\n).*?(<!-- /mutation -->)", re.DOTALL)
SUBJECTS = ("socialsite/recipes/*", "timelines/*/*repository.py", "timelines/*/*.lua")


def subjects() -> list[str]:
    """Every module and script under test, the smallest first."""
    found = [path for pattern in SUBJECTS for path in ROOT.glob(pattern) if path.suffix in (".py", ".lua")]
    return [path.relative_to(ROOT).as_posix() for path in sorted(found, key=lambda path: path.stat().st_size)]


def run(files: list[str], results: Path, parts: int, coverage: Path, tests: list[str]) -> None:
    """Runners side by side, each with a server of its own and every `parts`-th mutant."""
    environment = os.environ | {
        "MUTATE": " ".join(files),
        "MUTATION_RESULTS": str(results),
        "MUTATION_COVERAGE": "" if tests else str(coverage),
        "MUTATION_LEAVE_OUT": os.environ.get("MUTATION_LEAVE_OUT", "index figure strict"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-m", "pytest", "-n", "0", "-p", "tests.quality.mutation_run"]
    runners = [
        subprocess.Popen(
            [*command, *(tests or ("tests/unit", "tests/contract"))],
            cwd=ROOT,
            env=environment | {"MUTATION_PART": f"{part}/{parts}"},
            stdout=subprocess.DEVNULL,
        )
        for part in range(parts)
    ]
    try:
        for runner in runners:
            runner.wait()
    finally:  # also of one that is stopped: a runner's own end stops its server, in which a script may loop
        for runner in runners:
            runner.terminate()
            runner.wait()


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--again", action="store_true", help="try anew what did not die")
    parser.add_argument("--tests", action="append", default=[], help="instead of what covers a mutant")
    parser.add_argument("--report", action="store_true", help="tell what is known, run nothing")
    parser.add_argument("--write", action="store_true", help="put the table into docs/reference/quality.md")
    parser.add_argument("--parts", type=int, default=2, help="runners side by side")
    parser.add_argument("--results", type=Path, default=CACHE / "mutation.jsonl")
    parser.add_argument("--coverage", type=Path, default=CACHE / "coverage")
    options = parser.parse_args()
    options.results.parent.mkdir(parents=True, exist_ok=True)
    files = options.files or subjects()
    if not options.report:
        if options.again:
            Results(options.results).forget(files, ("survived", "uncovered", "hung", "impossible"))
        run(files, options.results, options.parts, options.coverage, options.tests)
    results = Results(options.results)
    if options.write:
        written = PLACE.sub(lambda found: f"{found[1]}{results.table(package_of)}\n{found[2]}", DOCUMENT.read_text())
        DOCUMENT.write_text(written)
    print(results.told())


if __name__ == "__main__":
    main()
