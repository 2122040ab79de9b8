"""Environment variables that quickstart sets before Django's settings are read.

Each case runs in its own process with its own environment.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = """
import json, os, sys
from socialsite.quickstart.bootstrap import prepare_environment
prepare_environment(sys.argv[1:])
print(json.dumps(dict(os.environ)))
"""


def prepared(*arguments: str, **variables: str) -> dict[str, str]:
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"]} | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(answer.stdout)


def test_the_data_and_the_static_files_are_in_the_directory(tmp_path: Path) -> None:
    environment = prepared("--data", str(tmp_path / "site"), "--port", "1")
    assert environment["REDIS_URL"] == f"embedded://{tmp_path / 'site'}"
    assert environment["STATIC_ROOT"] == str(tmp_path / "site" / "static")
    assert environment["HTTPS"] == "0"


def test_the_secret_key_is_created_once_and_readable_only_by_its_owner(tmp_path: Path) -> None:
    first, second = prepared("--data", str(tmp_path)), prepared("--data", str(tmp_path))
    assert first["SECRET_KEY"] == second["SECRET_KEY"]
    assert len(first["SECRET_KEY"]) >= 50
    assert (tmp_path / "secret_key").stat().st_mode & 0o077 == 0


def test_an_empty_secret_key_is_created_again(tmp_path: Path) -> None:
    (tmp_path / "secret_key").write_text("")
    first, second = prepared("--data", str(tmp_path)), prepared("--data", str(tmp_path))
    assert len(first["SECRET_KEY"]) >= 50
    assert first["SECRET_KEY"] == second["SECRET_KEY"]


def test_a_data_directory_that_others_can_read_is_closed(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    prepared("--data", str(tmp_path))
    assert tmp_path.stat().st_mode & 0o777 == 0o700


def test_an_open_directory_with_files_of_others_is_refused_in_one_line(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "of others").write_text("")
    answer = run_quickstart(tmp_path)
    assert answer.returncode == 1
    assert answer.stderr.strip() == (
        f"quickstart: {tmp_path} is open to other users and has other files: "
        "choose an empty directory, or chmod 700 it."
    )
    assert tmp_path.stat().st_mode & 0o777 == 0o755


def test_a_quickstart_ignores_the_servers_of_production(tmp_path: Path) -> None:
    environment = prepared("--data", str(tmp_path), REDIS_URL="redis://db", REDIS_POSTS_URL="redis://posts")
    assert environment["REDIS_URL"].startswith("embedded://")
    assert environment["REDIS_POSTS_URL"] == ""


def test_the_help_option_creates_no_directory(tmp_path: Path) -> None:
    prepared("--data", str(tmp_path / "site"), "--help")
    assert not (tmp_path / "site").exists()


def test_an_unusable_directory_is_reported_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    answer = run_quickstart(tmp_path / "file")
    assert answer.returncode == 1
    assert answer.stderr.strip() == f"quickstart: {tmp_path / 'file'} cannot be the data directory: File exists."


def run_quickstart(directory: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", "quickstart", "--data", str(directory)], cwd=ROOT, capture_output=True, text=True
    )
