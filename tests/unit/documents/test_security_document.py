"""docs/reference/security.md names existing tests, every attack, and the limits of the code."""

import ast
import re
from functools import cache
from pathlib import Path

from django.conf import settings

from accounts.sessions.values import SessionLimits
from socialsite.characters import MARKS_PER_CLUSTER_CAP
from socialsite.clock import DAY_MS
from socialsite.settings_parsers import DEFAULT_RATE_LIMITS
from socialsite.web import socket_writer as outlet
from socialsite.web.daphne.request_limits import CONTROL_FRAMES_PER_S, FRAGMENTS_PER_MESSAGE, FRAMES_PER_S
from socialsite.web.handler import REQUEST_DEADLINE_S
from socialsite.web.middleware.request_size import HEAD_MAX_BYTES, HEADER_COUNT_MAX
from timelines.live.server import MAX_SUBSCRIPTIONS_PER_SOCKET
from timelines.live.socket_messages import MAX_MESSAGE_BYTES, MAX_WATCHED_POSTS
from timelines.text.post_text import TEXT_BYTES_CAP

ROOT = Path(__file__).resolve().parents[3]
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
    return [int(DEFAULT_RATE_LIMITS[rule].removesuffix("/m")) for rule in rules]


def test_the_limits_are_those_of_the_code() -> None:
    body_kb, head_kb = settings.DATA_UPLOAD_MAX_MEMORY_SIZE // 1024, HEAD_MAX_BYTES // 1024
    assert numbers("body, head, headers") == [body_kb, head_kb, HEADER_COUNT_MAX]
    assert numbers("a text") == [settings.POST_MAX_LENGTH, TEXT_BYTES_CAP, MARKS_PER_CLUSTER_CAP]
    assert numbers("new hashtags of an account") == [settings.NEW_HASHTAGS_PER_DAY]
    assert numbers("posts of an account in a day") == [settings.POSTS_PER_DAY]
    assert numbers("requests of an address") == rates("address")
    assert numbers("log-ins") == rates("login", "signup")
    assert numbers("posts, follows") == rates("post", "follow")
    assert numbers("likes and bookmarks") == rates("like", "block", "delete")
    assert numbers("changes of lists and filters") == rates("list")
    assert numbers("searches, completions") == rates("search", "complete")
    assert numbers("pages merged from the posts of more than 1,000 accounts") == rates("merge")
    assert numbers("messages of a socket") == rates("socket")
    assert numbers("a message") == [
        MAX_MESSAGE_BYTES // 1024,
        MAX_SUBSCRIPTIONS_PER_SOCKET,
        MAX_WATCHED_POSTS,
    ]
    assert numbers("frames of a socket") == [FRAMES_PER_S, CONTROL_FRAMES_PER_S, FRAGMENTS_PER_MESSAGE]
    assert numbers("waiting for a slow reader") == [
        outlet.QUEUE_MAX_BYTES // 1024,
        int(outlet.STALL_TIMEOUT_S),
    ]
    assert numbers("a request's time") == [int(REQUEST_DEADLINE_S)]
    life = SessionLimits()
    idle_days, days = life.idle_timeout_ms // DAY_MS, life.absolute_timeout_ms // DAY_MS
    assert f"{idle_days} idle days and {days} days at most" in " ".join(PAGE.split())


def test_the_page_and_security_md_link_each_other() -> None:
    assert "(../../SECURITY.md)" in PAGE
    assert "docs/reference/security.md" in (ROOT / "SECURITY.md").read_text()
