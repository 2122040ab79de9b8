"""What the suites of foreign clients share: their folders, the accounts of the site, and outcomes of tests."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.support.daphnes import ROOT
from tests.support.sites import ProductionSite

CACHE = ROOT / ".cache" / "foreign"
HERE = Path(__file__).parent
SCOPES = "read write follow push profile"
APP = "Mastodon.py test suite"
PASSWORD = "5fd5c9d2fa1b4e27a9a6a1d7"
TIMEOUT_S, TEST_TIMEOUT_S = 2400, 90

Outcomes = dict[str, tuple[str, str]]
"""Test -> "passed", "failed" or "skipped", and a message."""


class SkippedSuite(Exception):
    """The suite cannot run here. The message is the reason."""


def create_account(site: ProductionSite, handle: str) -> str:
    site.manage("create_account", handle, "--password", PASSWORD)
    return create_token(site, handle)


def create_token(site: ProductionSite, handle: str) -> str:
    return site.manage("create_token", handle, "--scopes", SCOPES, "--name", APP).split()[-1]


def install(folder: Path, package: str, commands: Iterable[list[str]]) -> None:
    """Fill an empty folder by the commands, unless they did it for this package before. Raises SkippedSuite."""
    stamp = folder / f"{package.replace('/', '+')}.installed"
    if stamp.exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for command in commands:
        try:
            failed = subprocess.run(command, cwd=folder).returncode
        except FileNotFoundError:
            raise SkippedSuite(f"{command[0]} is not installed") from None
        if failed:
            raise SkippedSuite("the package index cannot be used")
    stamp.touch()


def python_commands(folder: Path, *packages: str, download: str = "") -> Iterable[list[str]]:
    """Return the commands that make an environment with packages, and get the source package `download`."""
    pip = [str(folder / "env/bin/python"), "-m", "pip", "-qq", "--disable-pip-version-check"]
    yield [sys.executable, "-m", "venv", str(folder / "env")]
    if download:
        yield [*pip, "download", "--no-deps", "--no-binary", ":all:", "--dest", str(folder), download]
    yield [*pip, "install", *packages]


def run_program(folder: Path, command: list[str], environment: Mapping[str, str]) -> Outcomes:
    """Run a program that prints outcomes as lines of JSON. A test that failed once has failed."""
    with (folder / "output.txt").open("w") as output:
        ran = subprocess.run(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=output, text=True, timeout=TIMEOUT_S
        )
    outcomes: Outcomes = {}
    for line in ran.stdout.splitlines():
        found = json.loads(line)
        add_outcome(outcomes, found["test"], found["outcome"], found["message"])
    if ran.returncode:
        outcomes["the program"] = "failed", (folder / "output.txt").read_text()[-300:]
    return outcomes


def add_outcome(outcomes: Outcomes, test: str, outcome: str, message: str) -> None:
    if outcomes.get(test, ("passed",))[0] == "passed":
        outcomes[test] = outcome, message.replace("\n", " ")[:300]
