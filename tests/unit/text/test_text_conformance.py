"""Grapheme counting against Unicode's own tables."""

import re

from tests.support.corpora import corpus_json, corpus_text, read_posts
from timelines.text.post_text import TextRefused, grapheme_count, normalize_text

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
