"""docs/guide/install.md lists the security events of the log, and no others."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "guide" / "install.md").read_text()
LOGGER = 'get_logger("accounts.security")'


def logged_events() -> set[str]:
    """Return the names of the events in the modules that log to `accounts.security`."""
    modules = [path.read_text() for name in ("accounts", "socialsite") for path in (ROOT / name).rglob("*.py")]
    calls = [call for text in modules if LOGGER in text for call in re.findall(r"\blog\.\w+\(([^,)]+)", text)]
    return {event for call in calls for event in re.findall(r'"(\w+)"', call)}


def test_the_table_of_security_events_equals_the_code() -> None:
    table = PAGE.partition("logger `accounts.security`")[2].partition("\nOthers are")[0]
    listed = set(re.findall(r"`(\w+)`", table))
    assert len(listed) > 20
    assert listed == logged_events()
