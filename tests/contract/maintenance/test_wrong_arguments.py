"""Every command of the site ends with one line and status 1 for wrong, missing and odd arguments."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from manage import UNUSED_COMMANDS
from tests.support.daphnes import ROOT

COMMANDS = sorted(
    each.stem for each in (ROOT / "socialsite/management/commands").glob("*.py") if not each.stem.startswith("_")
)
BARE_IS_RIGHT = {"audit", "check", "deadletters", "flush_buffers", "memory", "quickstart", "stats", "syndicate", "trim"}
"""The commands that need no argument."""
ODD = (
    "limits show @nobody", "limits show notanaddress", "limits reset 999.1.1.1", "limits show --minutes 0",
    "limits forget",
    "quickstart --port 99999999", "quickstart --port -1", "quickstart --port x",
    "archive_posts --older-than 0d", "archive_posts --older-than 9999999d", "backup /", "backup /nowhere/file",
    "restore /", "restore /nowhere/file", "restore {junk}", "import_graph {junk} --dry-run",
    "import_posts {junk} --dry-run",
    "import_graph /", "import_posts /nowhere", "import_graph {junk} --handle-prefix !",
    "create_account a/b --password x", "create_account nobody2", "set_role nobody owner", "set_role nobody king",
    "set_password nobody --password short", "suspend_account nobody", "delete_account nobody --no-input",
    "disable_factors nobody", "create_token nobody", "deadletters drop 1", "deadletters retry",
    "deadletters list --queue x",
    "rebuild_timelines nobody", "rebuild_timelines --all --tags", "audit --sample -1", "audit --sample x",
    "repartition --to redis://127.0.0.1:1/0", "repartition --to nonsense", "repartition --follow-partitions 0",
    "check_mail notanaddress", "migrate", "flush", "dbshell", "sendtestemail a@b.c", "runserver",
)  # fmt: skip


RUN = """
import contextlib, io, json, sys, traceback
import manage
results = []
for words in json.loads(sys.argv[1]):
    sys.argv, errors, status = ["manage.py", *words], io.StringIO(), 0
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
        try:
            manage.main()
        except SystemExit as ended:
            status = ended.code
            if isinstance(status, str):
                status = print(status, file=errors) or 1
        except BaseException:
            traceback.print_exc()
    results.append((status, errors.getvalue()))
print(json.dumps(results))
"""


@pytest.mark.slow
def test_a_wrong_call_ends_with_one_line_and_status_1(redis_url: str, tmp_path: Path) -> None:
    assert len(COMMANDS) >= 25
    junk = tmp_path / "junk"
    junk.write_bytes(os.urandom(3_000))
    calls = [[name, "--no-such-option"] for name in COMMANDS]
    calls += [[name] for name in COMMANDS if name not in BARE_IS_RIGHT]
    calls += [line.format(junk=junk).split() for line in ODD]
    result = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps(calls)],
        cwd=ROOT,
        env={
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "SECRET_KEY": "k" * 50,
            "REDIS_URL": redis_url,
            "MEDIA_ROOT": str(tmp_path / "media"),
            "LOG_LEVEL": "CRITICAL",
        },
        capture_output=True, text=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr[-2000:]
    wrong = {
        " ".join(words): (status, errors[-300:])
        for words, (status, errors) in zip(calls, json.loads(result.stdout), strict=True)
        if status != 1 or "Traceback" in errors or count_reasons(errors) != 1
    }
    assert wrong == {}


def count_reasons(errors: str) -> int:
    """Return the number of lines, without those that name refused lines of a file."""
    return sum(
        not line.startswith("line ") and "more refused lines" not in line for line in errors.strip().splitlines()
    )


def test_help_lists_the_commands_of_the_site_and_none_without_use() -> None:
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings", "SECRET_KEY": "k" * 50}
    for words in ([], ["help"], ["--help"], ["help", "--commands"]):
        result = subprocess.run([sys.executable, "manage.py", *words], cwd=ROOT, env=environment, capture_output=True)
        listed = set(result.stdout.decode().split())
        assert {*COMMANDS, "collectstatic"} <= listed, result.stderr
        assert not listed & UNUSED_COMMANDS.keys()
