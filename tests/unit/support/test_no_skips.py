"""The plug-in that reports a skipped test as a failure in CI."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SAMPLE = """
import pytest
def test_it(): pytest.skip("no chromium: apt-get install chromium")
@pytest.mark.xfail
def test_known(): assert False
"""


@pytest.mark.parametrize(("ci", "status"), [("true", 1), ("", 0)])
def test_a_skip_fails_in_ci_and_its_message_names_what_is_missing(tmp_path: Path, ci: str, status: int) -> None:
    (tmp_path / "test_sample.py").write_text(SAMPLE)
    answer = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.plugins.no_skips", "-p", "no:django",
         "-p", "no:asyncio", "-p", "no:cacheprovider", "--rootdir", tmp_path, "-c", "/dev/null", tmp_path],
        env={"CI": ci, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
    )  # fmt: skip
    assert answer.returncode == status, answer.stdout
    assert ("apt-get install chromium" in answer.stdout) is bool(ci)
