"""The time of every cleaner, parser and matcher is linear in its input, also for hostile input."""

import contextlib
import time
import unicodedata
from collections.abc import Callable
from functools import partial

import pytest

from accounts.accounts.validation import clean_profile_text, normalize_handle
from accounts.profile_texts import PROFILE_TEXTS
from socialsite.characters import normalize, remove_hidden, split_clusters
from timelines.errors import FilterInvalid
from timelines.filters.service import normalize_phrase
from timelines.importing.rows import LineRefused, RowRules
from timelines.lists.account_list import normalize_title
from timelines.publishing.version_diff import MAX_STEPS, STEPS_PER_SEARCH, compare_words
from timelines.search.query import QueryInvalid, parse_query
from timelines.text.linkify import find_hashtags, linkify
from timelines.text.post_text import check_post_text
from timelines.text.token_scanner import normalize_tag
from timelines.text.tokenizer import analyze, index_terms, normalize_spelling
from timelines.visibility.filter import KeywordFilter, find_filters

LENGTH = 8_000
"""Code points of the smaller input. The larger one has four times as many."""
SMALL_MS = 3.0
"""Shorter times do not show growth."""
ALLOWED_MS = 40.0
"""Any input may take this long. Quadratic sorting of 32,000 marks takes 6,000 ms."""
ROWS = RowRules(500, 2**42, unescape=True)


def refused(check: Callable[[str], object]) -> Callable[[str], object]:
    def run(text: str) -> None:
        with contextlib.suppress(ValueError, FilterInvalid, QueryInvalid, LineRefused):
            check(text)

    return run


def _replace_words(text: str, step: int) -> str:
    """Return the text with another word for each word of a number that `step` divides."""
    return " ".join(f"other{n}" if n % step == 0 else word for n, word in enumerate(text.split(" ")))


CHECKS: dict[str, Callable[[str], object]] = {
    **{name: refused(partial(clean_profile_text, text)) for name, text in PROFILE_TEXTS.items()},
    "handle": refused(normalize_handle),
    "post": refused(lambda text: check_post_text(text, 500)),
    "title": refused(normalize_title),
    "phrase": refused(normalize_phrase),
    "query": refused(parse_query),
    "row": refused(partial(ROWS._check_text, may_be_empty=False)),
    "tag": normalize_tag,
    "normalize": lambda text: [normalize(form, text) for form in ("NFC", "NFD", "NFKC", "NFKD")],
    "spelling": normalize_spelling,
    "hidden": remove_hidden,
    "clusters": split_clusters,
    "analyze": lambda text: (analyze.cache_clear(), analyze(text)),
    "index": index_terms,
    "hashtags": find_hashtags,
    "linkify": linkify,
    "versions, every second word": lambda text: compare_words(text, _replace_words(text, 2)),
    "versions, every third word": lambda text: compare_words(_replace_words(text, 3), text),
    "versions, reversed": lambda text: compare_words(text, text[::-1]),
    "versions, halves": lambda text: compare_words(text, text[len(text) // 2 :] + text[: len(text) // 2]),
    "filter": lambda text: find_filters([KeywordFilter(1, "a " * 49 + "b"), KeywordFilter(2, "b", "warn")], text, 0),
}
TEXTS: dict[str, Callable[[int], str]] = {
    "unsorted marks": lambda n: "a" + "\u0315" * (n // 2) + "\u0300" * (n // 2),
    "mixed marks": lambda n: "a" + "\u0315\u0300\u0323" * (n // 3),
    "marks of half width": lambda n: "\u30ab" + "\uff9e\u0338" * (n // 2),
    "marks between invisible characters": lambda n: "a" + "\u0315\u200b\u0300\u200b" * (n // 4),
    "decomposed marks": lambda n: "\u0f40" + "\u0f73\u0f39" * (n // 2),
    "flags": lambda n: "\U0001f1e6" * n,
    "joined emoji": lambda n: "\N{WOMAN}\u200d" * (n // 2),
    "tag characters": lambda n: "\U0001f3f4" + "\U000e0067" * n,
    "one word": lambda n: "a" * n,
    "words": lambda n: "a " * (n // 2),
    "unique words": lambda n: " ".join(f"w{number}" for number in range(n // 6)),
    "unique Chinese words": lambda n: " ".join(chr(0x4E00 + number) for number in range(n // 2)),
    "words of two kinds": lambda n: "a b c a b " * (n // 10),
    "hashtags": lambda n: "#a " * (n // 3),
    "quotes": lambda n: '"' * n,
    "character references": lambda n: "&#" + "9" * n,
    "ligatures": lambda n: "\ufdfa" * (n // 18),
    "Korean consonants": lambda n: "\u1100" * n,
}


def milliseconds(check: Callable[[str], object], text: str) -> float:
    began = time.process_time()
    check(text)
    return 1000 * (time.process_time() - began)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("check", CHECKS)
def test_four_times_the_input_takes_about_four_times_as_long(check: str, text: str) -> None:
    small, large = TEXTS[text](LENGTH), TEXTS[text](4 * LENGTH)
    if (large_ms := milliseconds(CHECKS[check], large)) < ALLOWED_MS:
        return
    times = [(milliseconds(CHECKS[check], small), milliseconds(CHECKS[check], large)) for _ in range(3)]
    small_ms, large_ms = (min(column) for column in zip(*times, strict=True))
    assert large_ms <= 6 * max(small_ms, SMALL_MS), (small_ms, large_ms)


def test_versions_of_many_changed_words_have_a_bounded_number_of_parts() -> None:
    text = TEXTS["unique words"](4 * LENGTH)
    for step in (2, 3, 5):
        parts = compare_words(text, _replace_words(text, step))
        assert 0 < len(parts) <= 3 * MAX_STEPS // STEPS_PER_SEARCH
        assert "".join(new for _is_equal, _old, new in parts) == _replace_words(text, step)
        assert "".join(old for _is_equal, old, _new in parts) == text


def test_every_character_that_can_be_reordered_ends_a_run_early() -> None:
    """Normalization never sorts more than a few dozen marks, whatever a run of marks contains."""
    first_marks = [
        sign
        for sign in map(chr, range(0x110000))
        if not "\ud800" <= sign <= "\udfff" and unicodedata.combining(unicodedata.normalize("NFKD", sign)[0])
    ]
    assert len(first_marks) > 800
    assert [sign for sign in first_marks if len(normalize("NFC", "a" + sign * 100)) > 100] == []
    text = "e\u0301 \uac01 \u0627\u0644\u0644\u0651\u064e\u0647"
    assert [normalize(form, text) for form in ("NFC", "NFKD")] == [
        unicodedata.normalize("NFC", text),
        unicodedata.normalize("NFKD", text),
    ]
