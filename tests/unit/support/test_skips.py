"""The plug-in that says which tests were skipped, and reports them as failures in CI."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SAMPLE = """
import pytest
def test_it(): pytest.skip("chromium missing: apt-get install chromium")
@pytest.mark.xfail
def test_known(): assert False
"""


@pytest.mark.parametrize(("ci", "status"), [("true", 1), ("", 0)])
def test_a_run_ends_with_its_skipped_tests_and_a_skip_fails_in_ci(tmp_path: Path, ci: str, status: int) -> None:
    (tmp_path / "test_sample.py").write_text(SAMPLE)
    answer = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.plugins.skips", "-p", "no:django",
         "-p", "no:asyncio", "-p", "no:cacheprovider", "--rootdir", tmp_path, "-c", "/dev/null", tmp_path],
        env={"CI": ci, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
    )  # fmt: skip
    assert answer.returncode == status, answer.stdout
    told = "nothing may be missing: chromium missing" if ci else "Skipped 1 test: chromium missing"
    assert f"{told}: apt-get install chromium" in answer.stdout
