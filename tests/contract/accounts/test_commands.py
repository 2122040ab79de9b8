"""The management commands for accounts: their changes, output, errors and repetition."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError

from accounts.errors import AccountSuspended
from accounts.sessions.values import SessionToken, StoredSession
from socialsite.admin.audit_log import OPERATOR, Actor, AuditLog
from socialsite.admin.moderation import Moderation
from socialsite.container import Services
from socialsite.ids import AccountId
from socialsite.limits import Caller
from socialsite.management.commands.quickstart import STAFF_HANDLE, load_demo_logins
from tests.support.account_world import PASSWORD
from tests.support.management import run_command, run_with_services

ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.usefixtures("here")
ADMIN_ID, ALICE_ID = AccountId(1), AccountId(2)


def account(handle: str):
    return run_with_services(lambda services: services.accounts.find_by_handle(handle))


def signs_in(handle: str, password: str) -> bool:
    try:
        return run_with_services(lambda services: services.accounts.authenticate(handle, password)) is not None
    except AccountSuspended:
        return False


def test_an_account_is_created_once():
    assert run_command("create_account", "@Alice", "--password", PASSWORD) == "Created @alice (id 1).\n"
    assert signs_in("alice", PASSWORD)
    assert not account("alice").is_staff
    assert run_command("create_account", "alice", "--password", PASSWORD) == "@alice exists already; nothing changed.\n"
    with pytest.raises(CommandError, match=r"^@alice: This handle is taken\.$"):
        run_command("create_account", "alice", "--password", "another one 7")
    with pytest.raises(CommandError, match="taken"):
        run_command("create_account", "alice", "--password", PASSWORD, "--staff")


def test_staff_may_have_a_reserved_handle():
    run_command("create_account", "admin", "--password", PASSWORD, "--staff")
    assert account("admin").role == "owner"


def test_further_staff_needs_a_role():
    run_command("create_account", "admin", "--password", PASSWORD, "--staff")
    with pytest.raises(CommandError, match="Choose --role"):
        run_command("create_account", "mona", "--password", PASSWORD, "--staff")
    assert account("mona") is None
    run_command("create_account", "mona", "--password", PASSWORD, "--staff", "--role", "moderator")
    assert account("mona").role == "moderator"


def test_a_role_is_set_and_taken_and_the_last_owner_stays():
    run_command("create_account", "admin", "--password", PASSWORD, "--staff")
    run_command("create_account", "alice", "--password", PASSWORD)
    assert run_command("set_role", "alice", "admin", "--dry-run") == "Would change the role of @alice.\n"
    assert run_command("set_role", "alice", "admin") == "@alice is admin.\n"
    assert run_command("set_role", "@alice", "admin") == "@alice was already admin.\n"
    lines = (("set_role", "admin", "none"), ("suspend_account", "admin"), ("delete_account", "admin", "--no-input"))
    for line in lines:
        with pytest.raises(CommandError, match="last owner"):
            run_command(*line)
    assert run_command("set_role", "alice", "none") == "@alice is without a role.\n"
    assert not account("alice").is_staff


def test_the_audit_log_contains_the_actions_of_commands_on_accounts():
    run_command("create_account", "admin", "--password", PASSWORD, "--staff")
    run_command("create_account", "alice", "--password", PASSWORD)
    for words in (
        ("set_role", "alice", "moderator"), ("set_role", "alice", "none"), ("set_role", "alice", "none"),
        ("set_password", "alice", "--password", "another one 7"), ("create_token", "alice", "--scopes", "read write"),
        ("delete_account", "alice", "--no-input"), ("delete_account", "alice", "--no-input"),
    ):  # fmt: skip
        run_command(*words)
    entries = run_with_services(lambda services: AuditLog(services.store).search(20))[0]
    assert {(entry.actor_id, entry.request_id) for entry in entries} == {OPERATOR}
    assert [(entry.action, entry.account_id, entry.detail) for entry in reversed(entries)] == [
        ("role", ADMIN_ID, "role:owner"), ("role", ALICE_ID, "role:moderator"), ("role", ALICE_ID, "role:none"),
        ("password", ALICE_ID, ""), ("token", ALICE_ID, "read write"), ("delete", ALICE_ID, ""),
    ]  # fmt: skip


@pytest.mark.slow
def test_the_operator_of_the_demo_has_the_role_after_an_interrupted_load(tmp_path):
    async def sign_up(services: Services) -> None:
        await services.accounts.sign_up(
            handle=STAFF_HANDLE, password=None, now_ms=services.clock.now_ms(), allow_reserved=True
        )

    run_with_services(sign_up)
    load_demo_logins(tmp_path, create=True)
    assert account(STAFF_HANDLE).role == "owner"


def test_a_weak_and_a_missing_password_are_refused(monkeypatch):
    for weak in ("a", "alice", "12345678", "password"):
        monkeypatch.setattr("sys.stdin", io.StringIO(f"{weak}\n"))
        with pytest.raises(CommandError, match="password"):
            run_command("create_account", "alice", "--staff", "--password-stdin")
    assert account("alice") is None
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    with pytest.raises(CommandError, match="--password-stdin"):
        run_command("create_account", "bob")
    with pytest.raises(CommandError, match="characters"):
        run_command("create_account", "bob", "--password", "")


def test_an_invalid_handle_is_refused():
    with pytest.raises(CommandError, match="A handle can have only"):
        run_command("create_account", "no spaces", "--password", PASSWORD)


def test_a_password_is_read_from_standard_input(monkeypatch):
    run_command("create_account", "alice", "--password", PASSWORD)
    monkeypatch.setattr("sys.stdin", io.StringIO("another one 7\n"))
    run_command("set_password", "alice", "--password-stdin")
    assert signs_in("alice", "another one 7")
    assert not signs_in("alice", PASSWORD)


def test_an_account_is_suspended_and_reinstated():
    run_command("create_account", "alice", "--password", PASSWORD)
    assert run_command("suspend_account", "alice") == "@alice is suspended.\n"
    assert run_command("suspend_account", "alice") == "@alice is suspended already.\n"
    assert not signs_in("alice", PASSWORD)
    assert run_command("suspend_account", "alice", "--undo") == "@alice is active.\n"
    assert run_command("suspend_account", "alice", "--undo") == "@alice is active already.\n"
    assert signs_in("alice", PASSWORD)


async def _request_deletion(services: Services) -> None:
    services.accounts.deletion_grace_ms = 60_000
    await services.accounts.request_deletion(account_id=AccountId(1))


def test_an_account_that_its_owner_deletes_is_suspended():
    run_command("create_account", "alice", "--password", PASSWORD)
    run_with_services(_request_deletion)
    assert run_command("suspend_account", "alice", "--undo") == "@alice is suspended already.\n"
    assert run_command("suspend_account", "alice") == "@alice is suspended.\n"
    assert run_command("suspend_account", "alice", "--undo") == "@alice is active.\n"


async def _suspend_as_staff(services: Services) -> None:
    await Moderation(services).suspend(Actor(ADMIN_ID, "abad1dea"), ALICE_ID)


async def _decisions(services: Services) -> tuple[list[tuple[str, bool]], list[tuple[int, str]]]:
    rows, (entries, _cursor) = await services.sanctions.open_all(ALICE_ID), await AuditLog(services.store).search(10)
    assert await services.accounts.find_authors({OPERATOR.account_id}) == {}
    return [(row.kind, bool(row.undone_ms)) for row in rows], [(entry.actor_id, entry.action) for entry in entries]


def test_a_suspension_by_a_command_and_its_undo_are_decisions_like_those_of_staff():
    run_command("create_account", "admin", "--password", PASSWORD, "--staff")
    run_command("create_account", "alice", "--password", PASSWORD)
    run_with_services(_suspend_as_staff)
    assert run_command("suspend_account", "alice", "--undo") == "@alice is active.\n"
    assert run_with_services(_decisions) == ([("suspend", True)], [(0, "reinstate"), (1, "suspend"), (0, "role")])
    run_command("suspend_account", "alice")
    assert run_with_services(_decisions)[0] == [("suspend", False), ("suspend", True)]


def test_an_account_is_deleted_for_good(monkeypatch):
    run_command("create_account", "alice", "--password", PASSWORD)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    with pytest.raises(CommandError, match="--no-input"):
        run_command("delete_account", "alice")
    assert run_command("delete_account", "alice", "--no-input") == "Deleted @alice.\n"
    assert run_command("delete_account", "alice", "--no-input") == "@alice was deleted; swept it again.\n"
    for words in (["suspend_account", "alice"], ["set_password", "alice", "--password", PASSWORD]):
        with pytest.raises(CommandError, match="deleted"):
            run_command(*words)
    with pytest.raises(CommandError, match="taken"):
        run_command("create_account", "alice", "--password", PASSWORD)


@pytest.mark.parametrize(
    "words",
    [
        ["set_password", "nobody", "--password", PASSWORD],
        ["suspend_account", "nobody"],
        ["delete_account", "nobody", "--no-input"],
    ],
)
def test_an_unknown_handle_is_reported_in_one_line(words):
    with pytest.raises(CommandError, match=r"^There is no account @nobody\.$"):
        run_command(*words)


def test_a_dry_run_changes_nothing():
    assert run_command("create_account", "alice", "--password", PASSWORD, "--dry-run") == "Would create @alice.\n"
    assert account("alice") is None
    run_command("create_account", "alice", "--password", PASSWORD)
    before = vars(account("alice")).copy()
    assert "Would" in run_command("set_password", "alice", "--password", "another one 7", "--dry-run")
    assert run_command("suspend_account", "alice", "--dry-run") == "Would suspend @alice.\n"
    assert "Nothing to do" in run_command("suspend_account", "alice", "--undo", "--dry-run")
    assert run_command("delete_account", "alice", "--dry-run") == "Would delete @alice.\n"
    after = vars(account("alice"))
    assert {k: v for k, v in before.items() if k != "_state"} == {k: v for k, v in after.items() if k != "_state"}


def test_verbosity_zero_is_silent():
    assert run_command("create_account", "alice", "--password", PASSWORD, verbosity=0) == ""


def test_an_error_is_one_line_and_exit_status_one(redis_url):
    environment = {**os.environ, "SECRET_KEY": "x", "REDIS_URL": "unix:///nowhere.sock", "LOG_LEVEL": "ERROR"}
    for url in (redis_url, "unix:///nowhere.sock"):
        result = subprocess.run(
            [sys.executable, "manage.py", "suspend_account", "nobody"],
            cwd=ROOT,
            env={**environment, "REDIS_URL": url},
            capture_output=True,
            text=True,
        )
        assert result.returncode == 1
        assert result.stdout == ""
        assert len(result.stderr.strip().splitlines()) == 1


def test_factors_of_a_locked_out_account_are_removed_with_a_trace():
    run_command("create_account", "alice", "--password", PASSWORD)
    assert run_command("disable_factors", "alice") == "@alice has no second factor.\n"

    async def set_up(services):
        await services.factors.add(1, "totp", b"\x92\xa1A\x01", Caller(None, "203.0.113.9"), "totp_added")
        token = SessionToken.generate(1)
        now_ms = services.clock.now_ms()
        await services.repositories.sessions.open(token, StoredSession(1, now_ms, "", {}), now_ms)

    async def traces(services):
        log, events = (await AuditLog(services.store).search(10))[0], await services.security_events.list_newest(1)
        sessions = await services.repositories.sessions.list_sessions(1)
        is_set = (await services.factors.find(1)).is_set
        return [(e.actor_id, e.action, e.target) for e in log], [e.kind for e in events], len(sessions), is_set

    run_with_services(set_up)
    assert "Would remove" in run_command("disable_factors", "alice", "--dry-run")
    assert run_with_services(traces) == ([], ["totp_added"], 1, True)
    assert run_command("disable_factors", "@alice") == "The second factors of @alice are removed; its sessions ended.\n"
    trail = [(0, "factors", "account:1")]
    assert run_with_services(traces) == (trail, ["factors_disabled", "totp_added"], 0, False)
