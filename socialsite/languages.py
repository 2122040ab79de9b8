"""The languages of posts: ISO 639-1 codes with the name of each language in the language itself (Unicode CLDR 47)."""

from pathlib import Path
from typing import Final

_LINES = Path(__file__).with_name("languages.txt").read_text(encoding="utf-8").splitlines()
LANGUAGE_NAMES: Final = dict(line.split(" ", 1) for line in _LINES)
"""The names by their codes, in the order in which pages list them."""


def parse_language(tag: str) -> str | None:
    """Return the code of a language tag such as "pt" or "pt-BR" (RFC 5646), or None if the language is unknown."""
    code = tag.replace("_", "-").partition("-")[0].lower()
    return code if code in LANGUAGE_NAMES else None
