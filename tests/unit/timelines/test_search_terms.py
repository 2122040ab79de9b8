"""The terms of a search, and where they are searched."""

import unicodedata
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from socialsite.ids import MAX_ID, ms_from_id
from timelines.search.query import INDEX_TERMS_CAP, QUERY_LENGTH_CAP, QueryInvalid, SearchQuery, parse_query
from timelines.search.repository import partition_of_post, term_digest, term_keys
from timelines.text.tokenizer import index_terms, name_prefixes, normalize_spelling, required_terms, tokenize

texts = st.text(max_size=80) | st.text(alphabet="ab 日本語カー나ไทย#@_-.\"é'", max_size=40)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Don't STOP, the Straße!", ["don", "t", "stop", "the", "strasse"]),
        ("cafe\u0301 ＡＢＣ ﬁn", ["cafe", "abc", "fin"]),
        ("日本語v2です", ["日", "本", "語", "v2", "で", "す"]),
        ("ﾊﾟｰﾃｨｰ", ["パ", "ー", "テ", "ィ", "ー"]),
        ("서울 갔다", ["서", "울", "갔", "다"]),
        ("สวัสดี", ["ส", "วั", "ส", "ดี"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("می\u200cخواهم", ["م\u064aخواهم"]),
        ("Ωραία ΟΔΟΣ", ["ωραια", "οδοσ"]),
        ("snake_case 3.14 a\u00adb", ["snake_case", "3", "14", "ab"]),
        ("😀 … — \u200d", []),
    ],
)
def test_a_text_is_split_into_words_and_characters(text: str, tokens: list[str]) -> None:
    assert list(tokenize(text)) == tokens


def test_characters_without_spaces_are_indexed_alone_and_in_pairs() -> None:
    assert index_terms("日本語 ab #Tag") == {"日", "本", "語", "日本", "本語", "ab", "tag", "#tag"}
    assert required_terms(tokenize("日本語")) == ["日本", "本語"]
    assert required_terms(tokenize("語 ab 日")) == ["語", "ab", "日"]


@given(texts)
def test_folding_a_token_twice_changes_nothing(text: str) -> None:
    assert tokenize(normalize_spelling(text)) == tokenize(text)


@given(texts)
def test_variants_of_a_spelling_give_the_same_terms(text: str) -> None:
    for form in ("NFC", "NFD"):
        assert tokenize(unicodedata.normalize(form, text)) == tokenize(text)


@given(texts, st.integers(0, 20), st.integers(1, 20))
def test_every_part_of_a_text_matches_it_and_has_its_terms(text: str, start: int, length: int) -> None:
    phrase = tokenize(text)[start : start + length]
    if phrase:
        assert SearchQuery(phrases=(phrase,)).matches(text)
        assert set(required_terms(phrase)) <= index_terms(text)


@given(texts, texts)
def test_a_matching_text_has_all_terms_of_the_query(query: str, text: str) -> None:
    try:
        parsed_query = parse_query(query)
    except QueryInvalid:
        return
    assert len(parsed_query.terms) <= INDEX_TERMS_CAP
    if parsed_query.matches(text):
        assert set(parsed_query.terms) <= index_terms(text)


@given(st.text(max_size=QUERY_LENGTH_CAP + 20))
def test_any_query_is_parsed_or_refused(text: str) -> None:
    with suppress(QueryInvalid):
        parsed_query = parse_query(text)
        assert parsed_query.lowest_id >= 0
        assert parsed_query.highest_id <= MAX_ID
        assert parsed_query.terms or parsed_query.author


def test_a_query_has_words_phrases_and_operators() -> None:
    parsed_query = parse_query('"Hello  world" from:@Bob SINCE:2024-02-29 #Redis, @al cats')
    assert parsed_query.phrases == (("hello", "world"), ("cats",))
    assert (parsed_query.hashtags, parsed_query.mentions, parsed_query.author) == (("redis",), ("al",), "bob")
    assert ms_from_id(parsed_query.lowest_id) == 1_709_164_800_000
    assert parsed_query.terms == ["#redis", "hello", "world", "cats", "al"]


def test_the_id_range_of_a_day_includes_its_first_and_last_millisecond() -> None:
    query = parse_query("a since:2024-01-01 until:2024-01-01")
    assert (ms_from_id(query.lowest_id), ms_from_id(query.highest_id)) == (1_704_067_200_000, 1_704_153_599_999)
    assert parse_query("a until:1999-12-31").highest_id < 1
    assert parse_query("a since:0001-01-01").lowest_id == 0
    assert parse_query("a since:9999-12-31").lowest_id > MAX_ID - 2**13


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("", "nothing"),
        ("!? 😀", "nothing"),
        ('""', "nothing"),
        ("since:2024-01-01", "nothing"),
        ("a since:2024-02-30", "day"),
        ("a until:", "day"),
        ("a since:٢٠٢٤-٠١-٠١x", "day"),
        ("from:", "handle"),
        ("from:no-handle", "handle"),
        ("from:a from:b", "authors"),
        ("x" * (QUERY_LENGTH_CAP + 1), "too_long"),
    ],
)
def test_an_invalid_query_is_refused_with_a_code(query: str, code: str) -> None:
    with pytest.raises(QueryInvalid) as refused:
        parse_query(query)
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("query", "text", "is_found"),
    [
        ("hello", "Hello!", True),
        ("hell", "Hello!", False),
        ("don't", "I don’t know", True),
        ("don't", "t don", False),
        ('"red is"', "it is red", False),
        ('"red is', "red  is it", True),
        ("“red is”", "red is it", True),
        ("本語", "日本語です", True),
        ("日語", "日本語です", False),
        ("日", "日本語です", True),
        ("#redis", "redis", False),
        ("#redis", "#Redis!", True),
        ("redis", "#Redis!", True),
        ("@bob", "bob said", False),
        ("@bob", "hi @Bob", True),
        ("a b", "b a", True),
    ],
)
def test_a_query_matches_the_expected_texts(query: str, text: str, is_found: bool) -> None:
    assert parse_query(query).matches(text) is is_found


def test_a_name_is_found_from_each_of_its_words() -> None:
    assert name_prefixes("Alice  Liddell") == ["alice liddell", "liddell"]
    assert name_prefixes("山田 太郎") == ["山 田 太 郎", "田 太 郎", "太 郎", "郎"]


@pytest.mark.parametrize(
    ("query", "account", "tag"),
    [
        ("山田", "山 田", "山田"),
        ("Alice li", "alice li", ""),
        ("#red", "", "red"),
        ("@al", "al", ""),
        ("@al words", "", ""),
        ("a from:bob", "", ""),
        ("a since:2024-01-01", "", ""),
    ],
)
def test_a_query_has_a_prefix_for_accounts_or_hashtags(query: str, account: str, tag: str) -> None:
    parsed_query = parse_query(query)
    assert (parsed_query.account_prefix, parsed_query.hashtag_prefix) == (account, tag)


@given(st.text(alphabet=st.characters(max_codepoint=127), max_size=80))
def test_ascii_texts_are_split_like_all_other_texts(text: str) -> None:
    assert (*tokenize(text), "e") == tokenize(f"{text} é")


def test_the_keys_of_postings_are_the_same_as_in_earlier_releases() -> None:
    """With other keys an existing index would return nothing, and its entries would never be deleted."""
    assert (partition_of_post(4096), term_digest("tea").hex()) == (1, "4b1891551d4c")
    assert term_keys(3, [term_digest("tea"), term_digest("cake")]) == [
        "search:{s3}:term:4b1891551d4c",
        "search:{s3}:rare:341",
        "search:{s3}:term:9904b860c3ba",
        "search:{s3}:rare:96",
    ]
