"""The errors of the store, and the errors of wrong use."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command, get_commands, load_command_class

from socialsite.management.base import SiteCommand
from socialsite.store import StoreFull, StoreUnavailable
from socialsite.store.errors import parse_error
from tests.support.random_tests import mostly_nightly

ROOT = Path(__file__).resolve().parents[3]

OURS = ("socialsite", "accounts", "timelines")

COMMANDS = sorted(name for name, app in get_commands().items() if app in OURS and name != "check")


def manage(*words: str, **settings: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "SECRET_KEY": "of-the-tests", **settings}
    return subprocess.run(
        [sys.executable, "manage.py", *words], cwd=ROOT, env=environment, capture_output=True, text=True
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_reports_a_usage_error_in_one_line(name: str) -> None:
    assert isinstance(load_command_class(get_commands()[name], name), SiteCommand)


WRONG_ARGUMENTS = (
    (("create_account",), "Error: the following arguments are required: handle (see create_account --help)"),
    (("stats", "--nonsense"), "Error: unrecognized arguments: --nonsense (see stats --help)"),
    (("limits", "reset"), "required"),
    (("quickstart", "--port", "x"), "Error: argument --port: invalid int value: 'x' (see quickstart --help)"),
)


@pytest.mark.parametrize("case", mostly_nightly(WRONG_ARGUMENTS, 1))
def test_wrong_arguments_are_one_line_and_exit_status_1(case: tuple[tuple[str, ...], str]) -> None:
    words, said = case
    answer = manage(*words)
    assert (answer.returncode, answer.stdout) == (1, "")
    assert len(answer.stderr.splitlines()) == 1
    assert said in answer.stderr


UNUSABLE_SETTINGS = (
    ("FOLLOW_PARTITIONS", "many", 'FOLLOW_PARTITIONS must be a whole number, not "many".'),
    ("REQUIRE_REPLICAS", "-1", "REQUIRE_REPLICAS must be 0 or more, not -1."),
    ("REDIS_URL", "redis://[::1", "REDIS_URL cannot be read: its host is not a name or address"),
    ("REDIS_CACHE_URL", "redis://[::1", "REDIS_CACHE_URL cannot be read: its host is not a name or address"),
    ("REDIS_CACHE_URL", "redis+cluster://a:1", "REDIS_CACHE_URL must be a single server or Sentinel, not "),
    ("PROFILE_CAP", "-1", "PROFILE_CAP must be 1 or more, not -1."),
    ("MEMORY_RESERVE", "x", 'MEMORY_RESERVE must be a number of bytes such as "16mb", not "x".'),
)


@pytest.mark.parametrize("case", mostly_nightly(UNUSABLE_SETTINGS, 3))
def test_an_unusable_setting_is_reported_in_one_line(case: tuple[str, str, str]) -> None:
    name, value, said = case
    answer = manage("stats", **{name: value})
    assert (answer.returncode, answer.stdout) == (1, "")
    assert len(answer.stderr.splitlines()) == 1
    assert answer.stderr.startswith(f"The settings cannot be used: {said}")


def test_help_is_not_an_error() -> None:
    assert manage("stats", "--help").returncode == 0


def test_timelines_are_rebuilt_by_name_or_all() -> None:
    with pytest.raises(CommandError, match="one of them at a time"):
        call_command("rebuild_timelines", "alice", "--all")
    with pytest.raises(CommandError, match="Name the accounts"):
        call_command("rebuild_timelines")


def test_a_backup_replaces_only_a_regular_file(tmp_path: Path) -> None:
    """The command refuses a device at its start: the last step would replace the device by a file."""
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", tmp_path, Path()):
        with pytest.raises(CommandError, match="is no file: name one to be written"):
            call_command("backup", str(place))


@pytest.mark.parametrize(
    "text",
    [
        "OOM command not allowed when used memory > 'maxmemory'.",
        "MISCONF Errors writing to the AOF file: No space left on device",
    ],
)
def test_replies_about_missing_memory_or_disk_raise_store_full(text: str) -> None:
    assert type(parse_error(text)) is StoreFull


def test_a_loading_server_is_temporarily_unavailable() -> None:
    assert type(parse_error("LOADING Redis is loading the dataset in memory")) is StoreUnavailable
