"""The tests of Python clients, from their source packages on the package index."""

import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import httpx

from tests.foreign import common
from tests.support.sites import ProductionSite

MASTODON_PY_HANDLE = "mastodonpy_test"

Prepare = Callable[[Path, ProductionSite], dict[str, str]]
"""Adapts the unpacked source package to the site. Returns environment variables for the tests."""


@dataclass(frozen=True)
class PythonSuite:
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

    @property
    def folder(self) -> Path:
        return common.CACHE / self.name

    def install(self) -> None:
        """Create the environment. Raises SkippedSuite."""
        common.install(
            self.folder,
            self.package,
            common.python_commands(self.folder, self.package, *self.extras, download=self.package),
        )

    def run(self, site: ProductionSite, arguments: Sequence[str]) -> common.Outcomes:
        source = self._unpack()
        environment = {"PATH": os.environ["PATH"], "HOME": str(source), **self.prepare(source, site)}
        outcomes = self._run_tests(source, environment, [*self.selection, *arguments])
        if self.private_handle and not arguments:
            make_private(site, common.create_token(site, self.private_handle))
            outcomes |= self._run_tests(source, environment, list(self.private_selection))
        return outcomes

    def _unpack(self) -> Path:
        """Unpack the source package into an empty folder, and return the package's folder."""
        shutil.rmtree(self.folder / "source", ignore_errors=True)
        (self.folder / "output.txt").unlink(missing_ok=True)
        (archive,) = self.folder.glob("*.tar.gz")
        with tarfile.open(archive) as tar:
            tar.extractall(self.folder / "source", filter="data")
        (source,) = (self.folder / "source").iterdir()
        return source

    def _run_tests(self, source: Path, environment: dict[str, str], arguments: list[str]) -> common.Outcomes:
        report = self.folder / "report.xml"
        report.unlink(missing_ok=True)
        command = [
            str(self.folder / "env/bin/python"), "-m", "pytest", "-v", "-p", "no:cacheprovider", "--tb=native",
            f"--junitxml={report}", f"--timeout={common.TEST_TIMEOUT_S}", *arguments,
        ]  # fmt: skip
        with (self.folder / "output.txt").open("a") as output:
            subprocess.run(
                command, cwd=source, env=environment, stdout=output, stderr=subprocess.STDOUT, timeout=common.TIMEOUT_S
            )
        return read_report(report)


def prepare_toot(source: Path, site: ProductionSite) -> dict[str, str]:
    """Replace the fixed address. Begin each random handle with a letter, as a test needs a handle with capitals.

    The tests of toot sign up their accounts by the API.
    """
    for file in source.glob("tests/integration/*.py"):
        text = file.read_text().replace("localhost:3000", f"127.0.0.1:{site.port}")
        file.write_text(text.replace("str(uuid.uuid4())[-10:]", '"u" + str(uuid.uuid4())[-9:]'))
    return {"TOOT_TEST_BASE_URL": site.url}


def prepare_mastodon_py(source: Path, site: ProductionSite) -> dict[str, str]:
    """Replace the fixed address and tokens (tests/setup.sql), and delete the recorded responses of current servers."""
    tokens = {
        "__MASTODON_PY_TEST_ACCESS_TOKEN_2": common.create_account(site, "admin"),
        "__MASTODON_PY_TEST_ACCESS_TOKEN_3": common.create_account(site, "mastodonpy_test_2"),
        "__MASTODON_PY_TEST_ACCESS_TOKEN": common.create_account(site, MASTODON_PY_HANDLE),
    }
    common.create_account(site, "admin2")
    for folder in ("cassettes", "cassettes_special"):
        shutil.rmtree(source / "tests" / folder)
    (source / "tests/cassettes_special").mkdir()  # tests write to this folder
    for file in (*source.glob("tests/*.py"), *source.glob("tests/cassettes_pre_4*/*.yaml")):
        text = file.read_text()
        for fixed, token in tokens.items() if file.suffix == ".py" else ():
            text = text.replace(f"'{fixed}'", repr(token)).replace(f'"{fixed}"', repr(token))
        text = text.replace("localhost:3000", f"localhost:{site.port}").replace(
            "127.0.0.1:3000", f"127.0.0.1:{site.port}"
        )
        file.write_text(text)
    return {}


def make_private(site: ProductionSite, token: str) -> None:
    """Make an account private by the API."""
    url = f"{site.url}/api/v1/accounts/update_credentials"
    httpx.patch(url, headers={"Authorization": f"Bearer {token}"}, data={"locked": "true"}).raise_for_status()


def read_report(report: Path) -> common.Outcomes:
    """Read pytest's JUnit report."""
    outcomes: common.Outcomes = {}
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname', '').replace('tests.', '', 1)}::{case.get('name')}"
        common.add_outcome(outcomes, name, "passed", "")
        for child in case:
            if child.tag in ("failure", "error", "skipped"):
                common.add_outcome(
                    outcomes, name, "skipped" if child.tag == "skipped" else "failed", child.get("message") or ""
                )
    return outcomes


PYTHON_SUITES = (
    PythonSuite("toot", "toot==0.52.1", ("pytest", "pytest-timeout", "pillow"), ("tests/integration",), prepare_toot),
    PythonSuite(
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
