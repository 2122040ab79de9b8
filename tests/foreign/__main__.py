"""Runs foreign Mastodon clients against this site: `make foreign`, or `make foreign ARGS=toot`.

The packages come from the package indexes of Python and Node.js, each with a folder of its own in .cache/foreign. A
suite that cannot run is skipped, with the reason. A suite fails if a test fails that `expected.txt` does not name, or
if a test passes that the file names.
"""

import argparse
import re
import sys
from typing import Protocol

from socialsite.settings_parsers import DEFAULT_RATE_LIMITS
from tests.foreign.common import CACHE, HERE, Outcomes, SkippedSuite
from tests.foreign.node_suites import MegalodonSuite, OpenApiSuite
from tests.foreign.python_suites import PYTHON_SUITES
from tests.support.redis_server import RedisServer
from tests.support.sites import ProductionSite, running_site

OUTCOMES = ("passed", "failed", "skipped")
WITHOUT_LIMITS = {f"RATE_LIMIT_{rule.upper()}": "off" for rule in DEFAULT_RATE_LIMITS}


class Suite(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def package(self) -> str: ...
    def install(self) -> None: ...
    def run(self, site: ProductionSite, arguments: list[str]) -> Outcomes: ...


SUITES: tuple[Suite, ...] = (*PYTHON_SUITES, MegalodonSuite(), OpenApiSuite())


def read_expected(name: str) -> dict[str, str]:
    """Read the tests of a suite that are expected to fail, with the reason of each."""
    lines = (HERE / "expected.txt").read_text().splitlines()
    pattern = re.compile(rf"{name}: (.+?)\s+# (.+)")
    return {found[1]: found[2] for line in lines if (found := pattern.fullmatch(line))}


def judge(suite: Suite, outcomes: Outcomes, *, is_whole: bool) -> bool:
    """Print the counts and the unexpected outcomes. Returns whether all outcomes are expected."""
    expected = read_expected(suite.name)
    failed = {name: message for name, (outcome, message) in outcomes.items() if outcome == "failed"}
    new_failures = failed.keys() - expected.keys()
    new_passes = {name for name in expected if outcomes.get(name, ("",))[0] == "passed"}
    unknown = expected.keys() - outcomes.keys() if is_whole else set()
    counts = [sum(outcome == one for outcome, _ in outcomes.values()) for one in OUTCOMES]
    print(f"{suite.package}: {', '.join(f'{n} {one}' for n, one in zip(counts, OUTCOMES, strict=True))}"
          f", {len(failed.keys() & expected.keys())} failures expected")  # fmt: skip
    for name in sorted(new_failures):
        print(f"  FAILED   {name}: {failed[name]}")
    for name in sorted(new_passes):
        print(f"  PASSED   {name}, but expected.txt says: {expected[name]}")
    for name in sorted(unknown):
        print(f"  UNKNOWN  {name} of expected.txt")
    return bool(outcomes) and not (new_failures or new_passes or unknown)


def run(suite: Suite, arguments: list[str]) -> bool:
    """Run the suite on a site of its own. Returns whether all outcomes are expected, or the suite was skipped."""
    try:
        suite.install()
    except SkippedSuite as reason:
        print(f"{suite.package}: SKIPPED, because {reason}.")
        return True
    folder = CACHE / suite.name
    (folder / "media").mkdir(exist_ok=True)  # web process and worker share it
    with (
        RedisServer() as server,
        running_site(
            server.url, HTTPS="0", MEDIA_ROOT=str(folder / "media"), MEDIA_ROOT_OF="main", **WITHOUT_LIMITS
        ) as site,
    ):
        is_good = judge(suite, suite.run(site, arguments), is_whole=not arguments)
        if "Traceback" in site.log:
            (folder / "site.log").write_text(site.log)
            print(f"  The site logged errors: {folder / 'site.log'}")
            is_good = False
    return is_good


def main() -> int:
    """Run the suites. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="make foreign")
    names = [suite.name for suite in SUITES]
    parser.add_argument("suites", nargs="*", choices=[*names, []], help=f"{', '.join(names)} (default: all)")
    parser.add_argument("-k", help="run only the tests of this expression (toot, mastodon_py)")
    parsed = parser.parse_args()
    chosen = [suite for suite in SUITES if not parsed.suites or suite.name in parsed.suites]
    outcomes = [run(suite, ["-k", parsed.k] if parsed.k else []) for suite in chosen]
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
