"""The text of a post: rules, and conformance with Unicode's data."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialsite import site_host
from socialsite.characters import CLUSTER_LENGTH_CAP, MARKS_PER_CLUSTER_CAP
from tests.support.corpora import corpus_json, corpus_text, read_posts
from timelines.text.post_text import (
    TEXT_BYTES_CAP,
    TextRefused,
    check_post_text,
    check_text,
    grapheme_count,
    normalize_text,
    post_length,
)


def refusal(raw: str, max_graphemes: int = 500) -> str:
    with pytest.raises(TextRefused) as caught:
        check_post_text(raw, max_graphemes)
    return caught.value.code


@pytest.mark.parametrize(
    ("raw", "stored"),
    [
        ("  hello \n", "hello"),
        ("one\r\ntwo\rthree", "one\ntwo\nthree"),
        ("a\tb", "a\tb"),
        ("e\u0301", "é"),
        ("\u202eright to left\u202c", "right to left"),
        ("\u2067\u05d0\u2069\u200f", "\u2067\u05d0\u2069\u200f"),
        ("a\U000e0061\U000e0062b", "ab"),
        ("\U0001f3f4\U000e0067\U000e0062\U000e007f", "\U0001f3f4\U000e0067\U000e0062\U000e007f"),
        ("สวัสดี", "สวัสดี"),
    ],
)
def test_a_text_is_normalized_to_nfc_and_line_feeds(raw: str, stored: str) -> None:
    assert normalize_text(raw) == stored


@pytest.mark.parametrize("line_end", ["\x0b", "\x0c", "\x85", "\u2028", "\u2029"], ids=ascii)
def test_the_line_ends_of_other_programs_become_line_feeds(line_end: str) -> None:
    """They are in texts from mails and word processors (mastodon/mastodon#21851, facebookarchive/draft-js#1334)."""
    assert normalize_text(f"{line_end}one{line_end}two{line_end}") == "one\ntwo"


@pytest.mark.parametrize("control", [*range(9), *range(0x0E, 0x20), *range(0x7F, 0x85), *range(0x86, 0xA0)])
def test_control_characters_are_refused_at_any_position(control: int) -> None:
    assert refusal(f"a{chr(control)}b") == "control"
    assert refusal(f"a{chr(control)}") == "control"


@pytest.mark.parametrize("raw", ["", "  ", "\n\n", "\u200b", "\u2060\ufeff", "\u3164", "\u2800", "\u202e\u202c"])
def test_a_text_without_visible_characters_is_empty(raw: str) -> None:
    assert refusal(raw) == "empty"


@pytest.mark.parametrize("raw", ["\ud800", "a\udfffb", "\ud83d x"])
def test_half_a_surrogate_pair_is_refused(raw: str) -> None:
    assert refusal(raw) == "surrogate"


@pytest.mark.parametrize("raw", ["a\ufffe", "a\uffff", "a\ufdd0", "a\U0010ffff"])
def test_noncharacters_are_refused(raw: str) -> None:
    assert refusal(raw) == "noncharacter"


def test_many_stacked_marks_are_refused_and_real_orthographies_are_not() -> None:
    assert refusal("a" + "\u0353" * (MARKS_PER_CLUSTER_CAP + 1)) == "marks"
    assert normalize_text("a" + "\u0353" * MARKS_PER_CLUSTER_CAP)
    assert refusal("\N{WOMAN}" + "\N{ZERO WIDTH JOINER}\N{WOMAN}" * CLUSTER_LENGTH_CAP) == "marks"
    assert normalize_text("ที่นี่ क्षत्रिय עַל־יְדֵי བསྒྲུབས 👩‍❤️‍💋‍👨")


def test_the_size_is_checked_before_everything_else() -> None:
    assert refusal("\0" * (TEXT_BYTES_CAP + 1)) == "too_large"
    assert refusal("あ" * (TEXT_BYTES_CAP // 3 + 1), 10_000) == "too_large"
    assert check_post_text("a" * TEXT_BYTES_CAP, TEXT_BYTES_CAP)


def test_the_length_is_counted_in_graphemes() -> None:
    family = "👨‍👩‍👧‍👦"
    assert grapheme_count(family) == 1
    assert check_post_text(family * 500, 500)
    assert refusal(family * 501) == "too_long"
    assert refusal("x" * 501) == "too_long"


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("see https://example.org/" + "b" * 80 + ".", 4 + 23 + 1),
        ("http://a.co x", 13),
        ("example.org/" + "b" * 80, 23),
        ("「https://例え.example.org/" + "あ" * 40 + "」", 1 + 23 + 1),
        ("https://notatld.invalidtld/" + "b" * 80, 107),
        ("https://example.org/" + "b" * 480, 23),
        ("https://example.org/" + "b" * 481, 501),
    ],
)
def test_a_link_in_a_post_counts_as_at_most_23_characters(text: str, length: int) -> None:
    assert post_length(text) == length
    assert check_post_text(text, length) == text
    assert refusal(text, length - 1) == "too_long"
    with pytest.raises(TextRefused):
        check_text(text, grapheme_count(text) - 1)


def test_a_mention_with_the_own_host_counts_as_the_handle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site_host, "_hosts", ("social.example",))
    assert post_length("ask @Alice@social.example!") == len("ask @Alice!")


@pytest.mark.parametrize("text", ["@bob@a-long-name.example", "(@b.o-b@sub.site.example)", "@a@b.example @c@d.example"])
def test_the_host_of_a_name_does_not_count(text: str) -> None:
    """Clients of Mastodon count so (elk-zone/elk#1803, tuskyapp/Tusky#3339), whatever the host is."""
    assert post_length(text) == len(re.sub(r"(?<=[a-z])@[a-z.-]+", "", text))


@pytest.mark.parametrize("text", ["bob@site.example", "@bob@host", "@@site.example", "@bob@" + "a" * 64 + ".example"])
def test_what_is_no_whole_name_counts_as_typed(text: str) -> None:
    assert post_length(text) == len(text)


@given(st.text())
def test_normalizing_a_text_twice_changes_nothing(raw: str) -> None:
    try:
        stored = normalize_text(raw)
    except TextRefused:
        return
    assert normalize_text(stored) == stored
    assert unicodedata.is_normalized("NFC", stored)


@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_the_length_never_exceeds_the_number_of_code_points(text: str) -> None:
    assert grapheme_count(text) <= len(text)


CHANGED_SINCE_15_0 = {
    "÷ 2701 × 200D × 2701 ÷": "upper blade scissors lost Extended_Pictographic in later versions of Unicode"
}

"""Cases of the 15.0 table with a different result in newer Unicode (`regex`, current browsers)."""


def grapheme_cases() -> list[tuple[str, str, int]]:
    """Yield (line, string, number of clusters); in the table ÷ marks a break and × marks no break."""
    cases = []
    for line in corpus_text("conformance/unicode/GraphemeBreakTest-15.0.txt").splitlines():
        rule = line.partition("#")[0].strip()
        if rule:
            text = "".join(chr(int(code, 16)) for code in re.findall(r"[0-9A-F]{4,6}", rule))
            cases.append((rule, text, rule.count("÷") - 1))
    return cases


def test_clusters_are_counted_as_the_unicode_break_test_says() -> None:
    cases = grapheme_cases()
    wrong = {rule for rule, text, count in cases if grapheme_count(text) != count}
    assert len(cases) == 602
    assert wrong == set(CHANGED_SINCE_15_0)


def test_every_emoji_of_the_table_is_one_character() -> None:
    lines = corpus_text("conformance/unicode/emoji-test-16.txt.gz").splitlines()
    rows = [line.partition(";")[0].split() for line in lines if ";" in line and not line.startswith("#")]
    emoji = ["".join(chr(int(code, 16)) for code in row) for row in rows]
    assert len(emoji) == 5042
    assert [one for one in emoji if grapheme_count(one) != 1] == []
    assert [one for one in emoji if grapheme_count(normalize_text(one)) != 1] == []


def code_of(raw: str) -> str | None:
    try:
        assert normalize_text(raw) == normalize_text(normalize_text(raw))
    except TextRefused as refused:
        return refused.code
    return None


def test_naughty_strings_are_stored_or_refused_with_a_code() -> None:
    codes = {code_of(raw) for raw in corpus_json("conformance/naughty/blns.json")}
    assert codes <= {None, "empty", "control", "marks", "noncharacter", "surrogate"}


def test_no_real_post_is_refused_for_its_marks() -> None:
    assert [row["id"] for row in read_posts("wisesight-thai") if code_of(row["text"]) == "marks"] == []
