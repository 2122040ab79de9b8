"""The languages of posts: ISO 639 codes with their names in the language itself (most of Unicode CLDR 47).

A code has two letters if ISO 639-1 has the language, else three. Of the latter, the list has those that Mastodon lists,
and those in which many people write.
"""

from functools import lru_cache
from pathlib import Path
from typing import Final

import langcodes
from langcodes.data_dicts import MACROLANGUAGES
from langcodes.tag_parser import LanguageTagError

_LINES = Path(__file__).with_name("languages.txt").read_text(encoding="utf-8").splitlines()
LANGUAGE_NAMES: Final = dict(line.split(" ", 1) for line in _LINES)
"""The names by their codes, in the order in which pages list them."""


TAG_LENGTH_CAP = 60
_CODES_BY_SUBTAG: Final = {"fil": "tl"}
"""Codes of this site for languages that the IANA registry prefers to call otherwise."""


@lru_cache(maxsize=1_000)
def _parse_tag(tag: str) -> str | None:
    code = tag.partition("-")[0]
    if code in LANGUAGE_NAMES:
        return code
    try:
        code = langcodes.standardize_tag(tag).partition("-")[0]
    except LanguageTagError:
        return None
    code = _CODES_BY_SUBTAG.get(code, code)
    return next((each for each in (code, MACROLANGUAGES.get(code)) if each in LANGUAGE_NAMES), None)


def parse_language(tag: str) -> str | None:
    """Return the code of a language tag such as "pt" or "pt-BR" (RFC 5646), or None if the language is unknown.

    Withdrawn codes, codes of three letters and members of a macrolanguage are read as the IANA registry says: "iw" is
    "he", "deu" is "de", "cmn" is "zh". Android still sends codes that were withdrawn in 1989.
    """
    return _parse_tag(tag.strip().replace("_", "-").lower()) if len(tag) <= TAG_LENGTH_CAP else None
