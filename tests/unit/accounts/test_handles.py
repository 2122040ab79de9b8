"""Handles have one spelling, contain ASCII characters only, and some are reserved."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts.accounts.validation import InvalidHandle, is_reserved, normalize_handle
from tests.support.corpora import corpus_json, corpus_text


def refusal(raw: str) -> str:
    with pytest.raises(InvalidHandle) as caught:
        normalize_handle(raw)
    return caught.value.code


@pytest.mark.parametrize(
    ("raw", "handle"),
    [
        ("Alice", "alice"),
        ("ALICE_2", "alice_2"),
        ("ａｌｉｃｅ", "alice"),
        ("ﬁle", "file"),
        ("\u212aim", "kim"),
        ("_", "_"),
    ],
)
def test_a_handle_has_one_spelling(raw: str, handle: str) -> None:
    assert normalize_handle(raw) == handle


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ("", "empty"),
        ("a" * 21, "too_long"),
        ("a" * 10_000, "too_long"),
        ("ali ce", "characters"),
        (" alice", "characters"),
        ("alice\n", "characters"),
        ("al-ice", "characters"),
        ("аlice", "characters"),  # Cyrillic a
        ("alıce", "characters"),  # dotless i
        ("İstanbul", "characters"),
        ("alice\u200d", "characters"),
        ("a:b", "characters"),
        ("{x}", "characters"),
        ("*", "characters"),
        ("é", "characters"),
        ("١٢٣", "characters"),
    ],
)
def test_an_invalid_handle_is_refused_with_a_code(raw: str, code: str) -> None:
    assert refusal(raw) == code


@given(st.text(max_size=30))
def test_normalizing_a_handle_twice_changes_nothing(raw: str) -> None:
    try:
        handle = normalize_handle(raw)
    except InvalidHandle:
        return
    assert normalize_handle(handle) == handle
    assert handle.isascii()
    assert len(handle) <= 20


@pytest.mark.parametrize(
    "handle", ["admin", "_admin_", "ad_min", "public", "metrics", "ws", "readyz", "null", "_", "___"]
)
def test_names_of_routes_and_roles_are_reserved(handle: str) -> None:
    assert is_reserved(handle)


@pytest.mark.parametrize("handle", ["alice", "bob", "carol", "n17", "flotus"])
def test_ordinary_names_are_not_reserved(handle: str) -> None:
    assert not is_reserved(handle)


def test_every_name_of_the_reference_list_is_reserved() -> None:
    names = [name for name in corpus_json("conformance/handles/reserved-usernames.json") if name]
    assert len(names) > 590
    assert [name for name in names if not is_reserved(name.lower().replace("-", "_").replace(".", "_"))] == []


def code_of(raw: str) -> str | None:
    try:
        assert normalize_handle(raw)
    except InvalidHandle as refused:
        return refused.code
    return None


def test_every_naughty_string_gives_a_handle_or_an_error_code() -> None:
    codes = {code_of(raw) for raw in corpus_json("conformance/naughty/blns.json")}
    assert codes <= {None, "empty", "too_long", "characters"}


@pytest.mark.parametrize("name", ["valid", "invalid"])
def test_a_mail_address_is_not_a_handle(name: str) -> None:
    lines = corpus_text(f"conformance/handles/fuzzdb-{name}-email-addresses.txt").splitlines()
    for line in lines:
        if "@" in line:
            assert refusal(line) in {"characters", "too_long"}
