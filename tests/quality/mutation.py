"""Mutation testing: `make mutation` changes one place of the sources in memory and runs the tests that cover it.

`python -m tests.quality.mutation [FILE...]` (default: recipes and repositories, the smallest first) resumes an
interrupted run. `--again` retries survivors, `--report` only prints the results. It needs the files of `make coverage`,
except for newer tests: `--again --tests FILE` retries survivors with all tests of that file and no others.
tests/quality/equivalent.json lists the survivors that no test can distinguish, each with its reason.
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
STORAGE = ("graph", "posts", "cached_timelines", "author_timelines", "post_archive")
SUBJECTS = (
    "socialsite/recipes/*",
    *(f"timelines/{folder}/*.py" for folder in STORAGE),
    "timelines/*/*repository.py",
    "timelines/*/pending.py",
    "timelines/*/*.lua",
)


def subjects() -> list[str]:
    """Return every module and script under test, the smallest first."""
    paths = {path for pattern in SUBJECTS for path in ROOT.glob(pattern) if path.suffix in (".py", ".lua")}
    return [
        path.relative_to(ROOT).as_posix()
        for path in sorted(paths, key=lambda path: (path.stat().st_size, path))
        if path.stem != "__init__"
    ]


def run(files: list[str], results: Path, parts: int, coverage: Path, tests: list[str]) -> None:
    """Start `parts` runners in parallel, each with its own server and every `parts`-th mutant."""
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
    finally:  # also if this process is stopped: a runner that ends stops its server, where a script may loop
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
        text = PLACE.sub(lambda found: f"{found[1]}{results.table(package_of)}\n{found[2]}", DOCUMENT.read_text())
        DOCUMENT.write_text(text)
    print(results.told())


if __name__ == "__main__":
    main()
