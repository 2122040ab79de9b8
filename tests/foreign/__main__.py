"""Runs the tests of foreign Mastodon clients against this site: `make foreign`, or `make foreign ARGS=toot`.

The source packages come from the package index, each with an environment of its own in .cache/foreign. Without an index
the suite is skipped. A suite fails if a test fails that `expected-<suite>.txt` does not name, or if a test passes that
the file names.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import httpx

from socialsite.settings_parsers import DEFAULT_RATE_LIMITS
from tests.support.redis_server import RedisServer
from tests.support.serving import ProductionSite, running_production_site
from tests.support.site import ROOT

CACHE = ROOT / ".cache" / "foreign"
HERE = Path(__file__).parent
SCOPES = "read write follow push profile"
MASTODON_PY_HANDLE, MASTODON_PY_APP = "mastodonpy_test", "Mastodon.py test suite"
PASSWORD = "5fd5c9d2fa1b4e27a9a6a1d7"
OUTCOMES = ("passed", "failed", "skipped")
TIMEOUT_S, TEST_TIMEOUT_S = 2400, 90
WITHOUT_LIMITS = {f"RATE_LIMIT_{rule.upper()}": "off" for rule in DEFAULT_RATE_LIMITS}

Prepare = Callable[[Path, ProductionSite], dict[str, str]]
"""Adapts the unpacked source package to the site. Returns environment variables for the tests."""


@dataclass(frozen=True)
class Suite:
    """The tests of one client. `selection` has the arguments of pytest.

    The tests of `private_selection` run after the others, while `private_handle` is a private account.
    """

    name: str
    package: str
    extras: tuple[str, ...]
    selection: tuple[str, ...]
    prepare: Prepare
    private_handle: str = ""
    private_selection: tuple[str, ...] = ()


def prepare_toot(source: Path, site: ProductionSite) -> dict[str, str]:
    """Replace the fixed address. The tests of toot sign up their accounts by the API."""
    for file in source.glob("tests/integration/*.py"):
        file.write_text(file.read_text().replace("localhost:3000", f"127.0.0.1:{site.port}"))
    return {"TOOT_TEST_BASE_URL": site.url}


def prepare_mastodon_py(source: Path, site: ProductionSite) -> dict[str, str]:
    """Replace the fixed address and tokens (tests/setup.sql), and delete the recorded responses of current servers."""
    tokens = {
        "__MASTODON_PY_TEST_ACCESS_TOKEN_2": create_account(site, "admin"),
        "__MASTODON_PY_TEST_ACCESS_TOKEN_3": create_account(site, "mastodonpy_test_2"),
        "__MASTODON_PY_TEST_ACCESS_TOKEN": create_account(site, MASTODON_PY_HANDLE),
    }
    create_account(site, "admin2")
    for folder in ("cassettes", "cassettes_special"):
        shutil.rmtree(source / "tests" / folder)
    (source / "tests/cassettes_special").mkdir()  # tests write it
    for file in (*source.glob("tests/*.py"), *source.glob("tests/cassettes_pre_4*/*.yaml")):
        text = file.read_text()
        for fixed, token in tokens.items() if file.suffix == ".py" else ():
            text = text.replace(f"'{fixed}'", repr(token)).replace(f'"{fixed}"', repr(token))
        text = text.replace("localhost:3000", f"localhost:{site.port}").replace(
            "127.0.0.1:3000", f"127.0.0.1:{site.port}"
        )
        file.write_text(text)
    return {}


SUITES = (
    Suite("toot", "toot==0.52.1", ("pytest", "pytest-timeout", "pillow"), ("tests/integration",), prepare_toot),
    Suite(
        "mastodon_py",
        "Mastodon.py==2.3.3",
        ("Mastodon.py[test,blurhash,grapheme,webpush,magic]==2.3.3", "websocket-client", "pytest-timeout"),
        # test_entities.py asks other servers of the Internet.
        ("tests", "-m", "vcr", "--ignore=tests/test_entities.py", "--record-mode=once", "--no-cov"),
        prepare_mastodon_py,
        private_handle=MASTODON_PY_HANDLE,
        private_selection=("tests/test_follow_requests.py", "-m", "vcr", "--record-mode=all", "--no-cov"),
    ),
)  # fmt: skip


def create_account(site: ProductionSite, handle: str) -> str:
    """Create an account and return an access token for it."""
    site.manage("create_account", handle, "--password", PASSWORD)
    return create_token(site, handle)


def create_token(site: ProductionSite, handle: str) -> str:
    return site.manage("create_token", handle, "--scopes", SCOPES, "--name", MASTODON_PY_APP).split()[-1]


def install(suite: Suite) -> bool:
    """Create the environment of the suite unless it exists. Returns False if the package index cannot be used."""
    folder = CACHE / suite.name
    stamp = folder / f"{suite.package}.installed"
    if stamp.exists():
        return True
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    pip = [str(folder / "env/bin/python"), "-m", "pip", "-qq", "--disable-pip-version-check"]
    commands = (
        [sys.executable, "-m", "venv", str(folder / "env")],
        [*pip, "download", "--no-deps", "--no-binary", ":all:", "--dest", str(folder), suite.package],
        [*pip, "install", suite.package, *suite.extras],
    )
    for command in commands:
        if subprocess.run(command).returncode:
            return False
    stamp.touch()
    return True


def unpack(suite: Suite) -> Path:
    """Unpack the source package into an empty folder, and return the package's folder."""
    folder = CACHE / suite.name
    shutil.rmtree(folder / "source", ignore_errors=True)
    (folder / "output.txt").unlink(missing_ok=True)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(folder / "source", filter="data")
    (source,) = (folder / "source").iterdir()
    return source


def run_suite(suite: Suite, site: ProductionSite, arguments: list[str]) -> dict[str, tuple[str, str]]:
    """Run the tests. Returns the outcome and the message of each test."""
    source = unpack(suite)
    environment = {"PATH": os.environ["PATH"], "HOME": str(source), **suite.prepare(source, site)}
    outcomes = run_tests(suite, source, environment, [*suite.selection, *arguments])
    if suite.private_handle and not arguments:
        make_private(site, create_token(site, suite.private_handle))
        outcomes |= run_tests(suite, source, environment, list(suite.private_selection))
    return outcomes


def run_tests(
    suite: Suite, source: Path, environment: dict[str, str], arguments: list[str]
) -> dict[str, tuple[str, str]]:
    report = CACHE / suite.name / "report.xml"
    report.unlink(missing_ok=True)
    command = [
        str(CACHE / suite.name / "env/bin/python"), "-m", "pytest", "-v", "-p", "no:cacheprovider", "--tb=native",
        f"--junitxml={report}", f"--timeout={TEST_TIMEOUT_S}", *arguments,
    ]  # fmt: skip
    with (CACHE / suite.name / "output.txt").open("a") as output:
        subprocess.run(command, cwd=source, env=environment, stdout=output, stderr=subprocess.STDOUT, timeout=TIMEOUT_S)
    return read_report(report)


def make_private(site: ProductionSite, token: str) -> None:
    """Make an account private by the API."""
    url = f"{site.url}/api/v1/accounts/update_credentials"
    httpx.patch(url, headers={"Authorization": f"Bearer {token}"}, data={"locked": "true"}).raise_for_status()


def read_report(report: Path) -> dict[str, tuple[str, str]]:
    """Read pytest's JUnit report."""
    outcomes = {}
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname', '').replace('tests.', '', 1)}::{case.get('name')}"
        outcome, message = "passed", ""
        for child in case:
            if child.tag in ("failure", "error", "skipped"):
                outcome = "skipped" if child.tag == "skipped" else "failed"
                message = (child.get("message") or "").replace("\n", " ")[:300]
        if outcomes.get(name, ("passed",))[0] == "passed":
            outcomes[name] = outcome, message
    return outcomes


def read_expected(suite: Suite) -> dict[str, str]:
    """Read the tests that are expected to fail, with the reason of each."""
    lines = (HERE / f"expected-{suite.name}.txt").read_text().splitlines()
    pairs = (re.split(r"\s+# ", line, maxsplit=1) for line in lines if line and not line.startswith("#"))
    return {name: reason for name, reason in pairs}  # noqa: C416 - the type of a pair is list[str]


def judge(suite: Suite, outcomes: dict[str, tuple[str, str]], *, is_whole: bool) -> bool:
    """Print the counts and the unexpected outcomes. Returns whether all outcomes are expected."""
    expected = read_expected(suite)
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
        print(f"  PASSED   {name}, but expected-{suite.name}.txt says: {expected[name]}")
    for name in sorted(unknown):
        print(f"  UNKNOWN  {name} of expected-{suite.name}.txt")
    return bool(outcomes) and not (new_failures or new_passes or unknown)


def main() -> int:
    """Run the suites. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="make foreign")
    parser.add_argument("suites", nargs="*", help="toot, mastodon_py (default: both)")
    parser.add_argument("-k", help="run only the tests of this expression")
    parsed = parser.parse_args()
    is_good = True
    for suite in SUITES:
        if parsed.suites and suite.name not in parsed.suites:
            continue
        if not install(suite):
            print(f"{suite.package}: skipped, because the package index cannot be used")
            continue
        media = CACHE / suite.name / "media"  # web process and worker share it
        media.mkdir(exist_ok=True)
        server = RedisServer().start()
        try:
            with running_production_site(
                server.url, HTTPS="0", MEDIA_ROOT=str(media), MEDIA_ROOT_OF="main", **WITHOUT_LIMITS
            ) as site:
                outcomes = run_suite(suite, site, ["-k", parsed.k] if parsed.k else [])
                is_good &= judge(suite, outcomes, is_whole=not parsed.k)
                if "Traceback" in site.log:
                    (CACHE / suite.name / "site.log").write_text(site.log)
                    print(f"  The site logged errors: {CACHE / suite.name / 'site.log'}")
                    is_good = False
        finally:
            server.stop()
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
