"""Cursors of follow pages and titles of lists."""

import pytest

from socialsite.ids import AccountId
from timelines.graph.follow import FIRST_PASS, FollowCursor, PassCursor
from timelines.lists.account_list import TITLE_MAX_BYTES, normalize_title


def test_a_cursor_in_a_link_is_parsed_to_the_same_cursor() -> None:
    cursor = FollowCursor(1_700_000_000_000, AccountId(42))
    assert FollowCursor.decode(cursor.encode()) == cursor


@pytest.mark.parametrize(
    "text", ["", "1", "1-", "-1-2", "1-2-3", "a-b", "1 -2", "1-2\n", "١-٢", "9" * 17 + "-1", "1-" + "9" * 17]
)
def test_an_invalid_text_is_refused_as_a_cursor(text: str) -> None:
    with pytest.raises(ValueError, match="not a cursor"):
        FollowCursor.decode(text)


def test_the_first_pass_begins_before_every_edge() -> None:
    assert PassCursor(partition=0, at_ms=-1, id=0) == FIRST_PASS


@pytest.mark.parametrize(
    ("raw", "stored"),
    [
        ("News", "News"),
        ("  spaced  out ", "spaced  out"),
        ("cafe\u0301", "caf\u00e9"),
        ("x" * 50, "x" * 50),
        ("👩‍👩‍👧‍👦" * 30, "👩‍👩‍👧‍👦" * 30),
        ("<b>&", "<b>&"),
    ],
)
def test_a_title_is_stored_as_normalized_text(raw: str, stored: str) -> None:
    assert normalize_title(raw) == stored


@pytest.mark.parametrize(
    "raw",
    ["", "  ", "\u200b\u200d", "x" * 51, "a\x00b", "a\nb", "a\tb", "a\u2028b", "\ud800", "👩‍👩‍👧‍👦" * 49, "x" * 10**6],
)
def test_an_unreadable_title_is_refused(raw: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - any rule will do
        normalize_title(raw)


def test_the_title_size_has_a_limit_in_bytes_too() -> None:
    assert len("👩‍👩‍👧‍👦".encode()) * 30 <= TITLE_MAX_BYTES < len("👩‍👩‍👧‍👦".encode()) * 49
