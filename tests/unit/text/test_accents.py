"""Accents and scripts of texts."""

import time
import unicodedata
from functools import cache

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from timelines.search.query import QueryInvalid, SearchQuery, parse_query
from timelines.text.accents import fold_accents, remove_marks
from timelines.text.tokenizer import index_terms, name_prefixes, normalize_spelling, tokenize
from timelines.text.unicode_script import find_script, scripts_of_languages
from timelines.visibility.filter import KeywordFilter, find_filters

BASES = ("a", "ø", "ι", "и", "е", "і\u0308", "ا", "ٱ", "و", "ש", "か", "क", "1", " ")

MARKS = "\u0300\u0301\u0306\u0308\u0323\u0345\u0360\u0640\u064b\u064e\u0653\u0654\u0655\u05b8\u3099\u0951"

marked = st.text(alphabet="".join(BASES) + MARKS, max_size=12)

texts = st.text(max_size=60) | marked | st.text(alphabet="éñåøßİıæœþёйїώأإآەשָׁがािो가각", max_size=30)

KEPT_AS_THEY_ARE = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Devanagari}\p{Bengali}"
    r"\p{Tamil}\p{Telugu}\p{Gujarati}\p{Gurmukhi}\p{Kannada}\p{Malayalam}\p{Sinhala}\p{Tibetan}\p{Thaana}"
    r"\p{Armenian}\p{Georgian}\p{Ethiopic}]+"
)


@cache
def every_character() -> list[str]:
    return [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ("cafe", "Café"),
        ("Zurich", "Zürich"),
        ("ecole superieure", "École supérieure"),
        ("espana", "España"),
        ("smorgasbord", "smörgåsbord"),
        ("Tromso", "Tromsø"),
        ("Lodz", "Łódź"),
        ("strasse", "Straße"),
        ("coeur", "cœur"),
        ("Aerø", "Ærø"),
        ("Thingvellir", "Þingvellir"),
        ("Istanbul ISPARTA", "İstanbul ısparta"),
        ("Viet Nam Da Nang", "Việt Nam Đà Nẵng"),
        ("Dvorak", "Dvor\N{COMBINING CARON}a\N{COMBINING ACUTE ACCENT}k"),
        ("αθηνα μαιου", "Αθήνα Μαΐου"),
        ("ανθρωπος", "ἄνθρωπος"),
        ("еще елка", "ещё Ёлка"),
        ("замок", "за́мок"),
        ("їжак", "ї́жак"),
        ("محمد", "مُحَمَّد"),
        ("احمد ان الان", "أحمد إن الآن"),
        ("الله", "ٱللـــه"),
        ("שלום", "שָׁלוֹם"),
        ("בראשית", "בְּרֵאשִׁ֖ית"),
    ],
)
def test_a_word_is_found_with_and_without_its_accents(typed: str, written: str) -> None:
    assert parse_query(typed).matches(f"…{written}!")
    assert parse_query(written).matches(typed)
    assert parse_query(written).matches(written)
    assert parse_query(f'"{typed}"').matches(written), "a phrase is as lenient as its words"
    assert name_prefixes(typed) == name_prefixes(written)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("его", "йего"),
        ("мои", "мой"),
        ("іжак", "їжак"),
        ("уладзімір", "ўладзімір"),
        ("гуѓе", "гуге"),
        ("か", "が"),
        ("はは", "パパ"),
        ("हद", "हिद"),
        ("फल", "फ़ल"),
        ("ทน", "ที่น"),
        ("가", "각"),
        ("مدرسة", "مدرسه"),
        ("علي", "على"),
        ("سوال", "سؤال"),
        ("ש", "ס"),
    ],
)
def test_letters_that_distinguish_words_stay_different(one: str, other: str) -> None:
    assert tokenize(one) != tokenize(other)
    assert not parse_query(one).matches(other)


@given(texts)
def test_folding_twice_changes_nothing_in_any_normalization_form(text: str) -> None:
    bare = fold_accents(normalize_spelling(text))
    assert fold_accents(bare) == normalize_spelling(bare) == bare
    for form in ("NFC", "NFD"):
        assert fold_accents(normalize_spelling(unicodedata.normalize(form, text))) == bare  # type: ignore[arg-type]


@given(texts)
def test_the_ignored_marks_and_the_table_follow_the_rules(text: str) -> None:
    assert fold_accents(normalize_spelling(text)) == remove_marks(normalize_spelling(text))


def test_one_folding_of_any_character_or_marked_letter_is_final() -> None:
    for sign in every_character()[0x80:0x3100]:
        spelling = normalize_spelling(sign)
        bare = fold_accents(spelling)
        assert fold_accents(bare) == normalize_spelling(bare) == bare == remove_marks(spelling), hex(ord(sign))
        if unicodedata.combining(sign):
            for base in ("ø", "ι", "и", "ا", "か"):
                spelling = normalize_spelling(base + sign)
                bare = fold_accents(spelling)
                assert fold_accents(bare) == normalize_spelling(bare) == bare == remove_marks(spelling), (base, sign)


@given(texts)
def test_folding_never_makes_a_text_longer_in_bytes(text: str) -> None:
    spelled = normalize_spelling(text)
    bare = fold_accents(spelled)
    assert len(bare.encode()) <= len(spelled.encode())
    assert len(bare) <= 2 * len(spelled)
    assert len(tokenize(text)) <= len(spelled)


def texts_without_folding() -> st.SearchStrategy[str]:
    return st.text(alphabet=[sign for sign in every_character() if KEPT_AS_THEY_ARE.match(sign)], max_size=20)


@given(st.deferred(texts_without_folding))
def test_scripts_whose_marks_are_letters_are_not_folded(text: str) -> None:
    assert fold_accents(normalize_spelling(text)) == normalize_spelling(text)


def test_latin_and_greek_keep_no_accent_and_lose_no_letter() -> None:
    """Every character with a Unicode decomposition folds to its base letter."""
    for sign in filter(unicodedata.decomposition, every_character()):
        apart = unicodedata.normalize("NFD", normalize_spelling(sign))
        if regex.fullmatch(r"[\p{Latin}\p{Greek}][\u0300-\u036f]+", apart):
            assert fold_accents(normalize_spelling(sign)) == fold_accents(apart[0])
            assert len(fold_accents(apart[0])) == (2 if apart[0] in "æœþ" else 1)


@given(texts, texts)
def test_a_matching_text_has_every_term_of_the_query(query: str, text: str) -> None:
    try:
        parsed_query: SearchQuery = parse_query(f"{query} #{text}")
    except QueryInvalid:
        return
    if parsed_query.matches(text):
        assert set(parsed_query.terms) <= index_terms(text)


def test_a_hashtag_is_found_by_either_spelling_and_keeps_its_spelling() -> None:
    assert parse_query("#cafe").matches("im #Café")
    assert parse_query("#café").matches("im #cafe")
    assert parse_query("#Café").hashtags == ("café",)
    assert index_terms("#Café") == {"cafe", "#cafe"}
    assert parse_query("#Café").terms == ["#cafe"]
    assert not parse_query("#cafe").matches("café")


def test_a_query_of_marks_alone_is_refused() -> None:
    assert tokenize("\u0640 \u064b \u05b8") == ()
    with pytest.raises(QueryInvalid):
        parse_query("\u0640")


def test_a_filter_does_not_ignore_accents() -> None:
    """The filter `ano` must not hide `año`."""
    assert not find_filters([KeywordFilter(1, "ano")], "feliz año", 0)
    assert find_filters([KeywordFilter(1, "año")], "Feliz AÑO", 0)


@pytest.mark.parametrize("text", ["е" + "\u0301" * 60_000, "か" + "\u3099" * 60_000, "и\u0306\u0301" * 20_000])
def test_hostile_marks_take_no_longer_than_letters(text: str) -> None:
    """A post has at most 16 kB; these texts are far longer."""
    began = time.process_time()
    fold_accents(normalize_spelling(text))
    assert time.process_time() - began < 1.0


@pytest.mark.parametrize(
    ("text", "script"),
    [("Guten Tag", "Latin"), ("안녕하세요 hi", "Hangul"), ("สวัสดี", "Thai"), ("ひらがな漢字", "Han"), ("123 !?", "")],
)
def test_the_script_of_most_letters_counts(text: str, script: str) -> None:
    assert find_script(text) == script


def test_languages_without_an_own_script_are_latin() -> None:
    assert scripts_of_languages("de-DE,de;q=0.9,en;q=0.8") == {"Latin"}
    assert scripts_of_languages("ko,en;q=0.5") == {"Hangul", "Latin"}
    assert scripts_of_languages("*") == frozenset()
