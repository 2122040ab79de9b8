"""security.md and reliability.md name existing tests; security.md names every attack and the limits of the code."""

import ast
import re
from functools import cache
from pathlib import Path

from django.conf import settings

from accounts.factors.service import WRONG_CODES_PER_DAY
from accounts.mail.service import MAILS_PER_DAY, RESETS_PER_HOUR
from accounts.sessions.values import SessionLimits
from socialsite.alerts.service import MAILS_PER_DAY as ALERTS_PER_DAY
from socialsite.characters import MARKS_PER_CLUSTER_CAP
from socialsite.clock import DAY_MS
from socialsite.limits import NEWCOMER_FOLLOWS_PER_DAY
from socialsite.recipes.job_queue import HEAVY_MS_PER_HOUR
from socialsite.settings_parsers import DEFAULT_RATE_LIMITS
from socialsite.web import socket_writer as outlet
from socialsite.web.daphne.request_limits import CONTROL_FRAMES_PER_S, FRAGMENTS_PER_MESSAGE, FRAMES_PER_S
from socialsite.web.handler import REQUEST_DEADLINE_S
from socialsite.web.middleware.request_size import HEAD_MAX_BYTES, HEADER_COUNT_MAX
from socialsite.web.request_budget import NAME_MAX_LENGTH, VALUES_MAX
from timelines.exporting.service import EXPORTS_PER_DAY
from timelines.importing.service import CSV_MAX_BYTES, IMPORTS_PER_DAY
from timelines.importing.views import UPLOAD_DEADLINE_S
from timelines.live.server import MAX_SUBSCRIPTIONS_PER_SOCKET
from timelines.live.socket_messages import MAX_MESSAGE_BYTES, MAX_WATCHED_POSTS
from timelines.media.media import UPLOAD_MAX_BYTES
from timelines.previews.queue import PREVIEWS_PER_DAY
from timelines.reports.service import NEW_REPORTER_PER_DAY, REPORTS_PER_DAY
from timelines.text.post_text import TEXT_BYTES_CAP

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "reference" / "security.md").read_text()
RELIABILITY = (ROOT / "docs" / "reference" / "reliability.md").read_text()
CITATION = re.compile(r"`(test_\w+)(?:::(test_\w+))?`")


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
    cited = CITATION.findall(PAGE + RELIABILITY)
    missing = [
        (stem, name) for stem, name in cited if not names_in_file(stem) or (name and name not in names_in_file(stem))
    ]
    assert missing == []


def test_every_rule_has_a_test() -> None:
    rules = PAGE[PAGE.index("## Rules") : PAGE.index("## Headers")]
    rows = [line for line in rules.splitlines() if line.startswith("| ") and not line.startswith("| what")]
    assert rows
    assert [row for row in rows if not re.search(r"`test_\w+(?:::test_\w+)?` \|$", row)] == []


def test_every_attack_is_cited() -> None:
    files = {path.stem for path in (ROOT / "tests" / "attacks").rglob("test_*.py")}
    assert files <= {stem for stem, _ in CITATION.findall(PAGE)}


def numbers(row: str) -> list[int]:
    """Return the numbers in the second cell of the row of limits that begins with `row`."""
    (cell,) = re.findall(rf"^\| {re.escape(row)}.*? \| (.*?) \|", PAGE, re.MULTILINE)
    return [int(number.replace(",", "")) for number in re.findall(r"(?<![/\w])[\d,]*\d", cell)]


def rates(*rules: str) -> list[int]:
    return [int(DEFAULT_RATE_LIMITS[rule].removesuffix("/m")) for rule in rules]


def test_the_limits_are_those_of_the_code() -> None:
    body_kb, head_kb = settings.DATA_UPLOAD_MAX_MEMORY_SIZE // 1024, HEAD_MAX_BYTES // 1024
    assert numbers("body, head, headers") == [body_kb, head_kb, HEADER_COUNT_MAX]
    assert numbers("fields of a form") == [settings.DATA_UPLOAD_MAX_NUMBER_FIELDS, VALUES_MAX, NAME_MAX_LENGTH]
    assert numbers("a text") == [settings.POST_MAX_LENGTH, TEXT_BYTES_CAP, MARKS_PER_CLUSTER_CAP]
    assert numbers("new hashtags of an account") == [settings.NEW_HASHTAGS_PER_DAY]
    assert numbers("posts of an account in a day") == [settings.POSTS_PER_DAY]
    assert numbers("bytes that an account or a visitor") == [settings.BYTES_PER_DAY >> 20]
    assert numbers("bytes that an account, or all accounts of an address, import") == [
        settings.IMPORT_BYTES_PER_DAY >> 20,
        settings.SITE_BYTES_PER_DAY >> 30,
    ]
    assert numbers("an uploaded picture") == [
        UPLOAD_MAX_BYTES >> 20,
        CSV_MAX_BYTES >> 20,
        settings.IMPORT_MAX_BYTES >> 30,
    ]
    assert numbers("work for an account") == [HEAVY_MS_PER_HOUR // 1000]
    assert numbers("links of an account") == [PREVIEWS_PER_DAY]
    assert numbers("exports, imports") == [EXPORTS_PER_DAY, IMPORTS_PER_DAY, REPORTS_PER_DAY, NEW_REPORTER_PER_DAY]
    assert numbers("wrong codes") == [WRONG_CODES_PER_DAY]
    assert numbers("mails of a kind") == [MAILS_PER_DAY, ALERTS_PER_DAY, RESETS_PER_HOUR]
    assert numbers("posts, follows, uploads of a new account") == [NEWCOMER_FOLLOWS_PER_DAY]


def test_the_limits_of_a_minute_are_those_of_the_code() -> None:
    rows = {
        "requests of an address": ("address",),
        "log-ins": ("login", "signup"),
        "registrations of apps": ("app", "token"),
        "posts, edits, drafts": ("post", "edit", "draft", "follow"),
        "likes and bookmarks": ("like", "block", "delete"),
        "uploads, changes of lists": ("media", "list"),
        "reports, appeals": ("report", "appeal", "mail"),
        "searches, completions": ("search", "complete"),
        "actions of staff": ("staff",),
        "pages merged from the posts of more than 1,000 accounts": ("merge",),
        "messages of a socket": ("socket",),
    }
    for row, rules in rows.items():
        assert numbers(row) == rates(*rules)
    assert {rule for rules in rows.values() for rule in rules} == set(DEFAULT_RATE_LIMITS)


def test_the_limits_of_sockets_and_requests_are_those_of_the_code() -> None:
    assert numbers("a message") == [MAX_MESSAGE_BYTES // 1024, MAX_SUBSCRIPTIONS_PER_SOCKET, MAX_WATCHED_POSTS]
    assert numbers("frames of a socket") == [FRAMES_PER_S, CONTROL_FRAMES_PER_S, FRAGMENTS_PER_MESSAGE]
    assert numbers("waiting for a slow reader") == [outlet.QUEUE_MAX_BYTES // 1024, int(outlet.STALL_TIMEOUT_S)]
    assert numbers("a request's time") == [int(REQUEST_DEADLINE_S), int(UPLOAD_DEADLINE_S)]
    life = SessionLimits()
    idle_days, days = life.idle_timeout_ms // DAY_MS, life.absolute_timeout_ms // DAY_MS
    assert f"{idle_days} idle days and {days} days at most" in " ".join(PAGE.split())


def test_the_page_and_security_md_link_each_other() -> None:
    assert "(../../SECURITY.md)" in PAGE
    assert "docs/reference/security.md" in (ROOT / "SECURITY.md").read_text()
