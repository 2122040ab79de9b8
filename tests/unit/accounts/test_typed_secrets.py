"""Codes and passwords as different keyboards type them."""

import unicodedata

import pytest
from django.contrib.auth.hashers import make_password

from accounts.accounts.passwords import check_password, hash_password
from accounts.factors.values import normalize_code

PASSWORD = "pässwörd-lång-9"


@pytest.mark.parametrize(
    "typed",
    [
        "123456",
        "123 456",
        "123\u00a0456",
        "123\u2013456",
        "\u200e123456\u200f",
        "\ufeff123456",
        "１２３－４５６",
        "\u0661\u0662\u0663\u0664\u0665\u0666",
        "\u06f1\u06f2\u06f3 \u06f4\u06f5\u06f6",
        "१२३४५६",
        "123\u30fb456.",
    ],
)
def test_a_code_may_have_other_digits_and_any_separators(typed: str) -> None:
    assert normalize_code(typed) == "123456"


def test_a_recovery_code_may_be_in_full_width() -> None:
    assert normalize_code("ｋ４ＸＱ\u2014７ｍｚｐ") == "k4xq7mzp"


@pytest.mark.parametrize("typed", [PASSWORD, unicodedata.normalize("NFD", PASSWORD)])
async def test_a_composed_and_a_decomposed_password_are_equal(typed: str) -> None:
    assert await check_password(typed, await hash_password(PASSWORD)) == (True, False)
    assert await check_password(PASSWORD, await hash_password(typed)) == (True, False)
    assert await check_password("a\u00a0" + typed, await hash_password("a " + PASSWORD)) == (True, False)


async def test_a_hash_of_the_text_as_typed_still_matches_and_is_outdated() -> None:
    typed = unicodedata.normalize("NFD", PASSWORD)
    assert await check_password(typed, make_password(typed)) == (True, True)
    assert (await check_password(typed + "x", make_password(typed)))[0] is False
    assert await check_password(typed, None) == (False, False)


async def test_a_password_with_characters_that_opaquestring_refuses_matches() -> None:
    assert (await check_password("tab\tä\u200b12", await hash_password("tab\tä\u200b12")))[0]
