"""The script of a text and of a reader's languages."""

import pytest

from timelines.text.unicode_script import find_script, scripts_of_languages


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
