"""docs/reference/security.md names existing tests, every attack, and the limits of the code."""

import ast
import re
from functools import cache
from pathlib import Path

from django.conf import settings

from accounts.domain import DAY_MS, SessionLimits
from socialsite import outlet
from socialsite.environment import RATE_DEFAULTS
from socialsite.handler import DEADLINE_S
from socialsite.middleware.limits import HEAD_MAX_BYTES, HEADERS_MAX
from timelines.domain.text import MARKS_PER_CLUSTER_CAP, TEXT_BYTES_CAP
from timelines.live.requests import MESSAGE_CAP_BYTES, WATCHED_CAP
from timelines.live.stream import SUBSCRIPTIONS_CAP

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reference" / "security.md").read_text()
CITED = re.findall(r"`(test_\w+)::(test_\w+)`", PAGE)
PROMISES = 60


@cache
def names_in_file(stem: str) -> frozenset[str]:
    """Return the names of the tests in all files of this name below tests/."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(
        node.name
        for path in (ROOT / "tests").rglob(f"{stem}.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, functions)
    )


def test_every_cited_test_exists() -> None:
    assert len(CITED) > PROMISES
    missing = [f"{stem}::{name}" for stem, name in CITED if name not in names_in_file(stem)]
    assert missing == []


def test_every_attack_is_cited() -> None:
    files = {path.stem for path in (ROOT / "tests" / "attacks").rglob("test_*.py")}
    assert files <= {stem for stem, _ in CITED}


def numbers(row: str) -> list[int]:
    """Return the numbers in the second cell of the row of limits that begins with `row`."""
    (cell,) = re.findall(rf"^\| {re.escape(row)}.*? \| (.*?) \|", PAGE, re.MULTILINE)
    return [int(number.replace(",", "")) for number in re.findall(r"(?<![/\w])[\d,]*\d", cell)]


def rates(*rules: str) -> list[int]:
    return [int(RATE_DEFAULTS[rule].removesuffix("/m")) for rule in rules]


def test_the_limits_are_those_of_the_code() -> None:
    body_kb, head_kb = settings.DATA_UPLOAD_MAX_MEMORY_SIZE // 1024, HEAD_MAX_BYTES // 1024
    assert numbers("body, head, headers") == [body_kb, head_kb, HEADERS_MAX]
    assert numbers("a text") == [settings.POST_MAX_LENGTH, TEXT_BYTES_CAP, MARKS_PER_CLUSTER_CAP]
    assert numbers("requests of an address") == rates("address")
    assert numbers("log-ins") == rates("login", "signup")
    assert numbers("posts, follows") == rates("post", "follow")
    assert numbers("searches, completions") == rates("search", "complete")
    assert numbers("messages of a socket") == rates("socket")
    assert numbers("a message") == [MESSAGE_CAP_BYTES // 1024, SUBSCRIPTIONS_CAP, WATCHED_CAP]
    assert numbers("waiting for a slow reader") == [outlet.QUEUE_CAP_BYTES // 1024, int(outlet.STALLED_S)]
    assert numbers("a request's time") == [int(DEADLINE_S)]
    life = SessionLimits()
    idle_days, days = life.idle_ms // DAY_MS, life.absolute_ms // DAY_MS
    assert f"{idle_days} idle days and {days} days at most" in " ".join(PAGE.split())


def test_the_page_and_security_md_link_each_other() -> None:
    assert "(../../SECURITY.md)" in PAGE
    assert "docs/reference/security.md" in (ROOT / "SECURITY.md").read_text()
