"""Finds the script (Latin, Hangul, ...) of texts and of languages, to guess whether a viewer can read a text."""

from collections import Counter

import regex

NAMES = "Latin|Cyrillic|Greek|Arabic|Hebrew|Devanagari|Thai|Hangul|Han|Hiragana|Katakana"
SCRIPT_PATTERN = regex.compile("|".join(rf"(?P<{name}>\p{{Script={name}}}++)" for name in NAMES.split("|")))
MAX_LENGTH = 2_000
"""The number of characters of a text that are examined."""
MERGED_SCRIPTS = {"Hiragana": "Han", "Katakana": "Han"}
SCRIPT_BY_LANGUAGE = {
    **dict.fromkeys(("ru", "uk", "bg", "sr", "mk", "be", "kk", "mn"), "Cyrillic"),
    **dict.fromkeys(("ar", "fa", "ur", "ps"), "Arabic"),
    **dict.fromkeys(("hi", "mr", "ne"), "Devanagari"),
    **dict.fromkeys(("zh", "ja"), "Han"),
    "el": "Greek",
    "he": "Hebrew",
    "th": "Thai",
    "ko": "Hangul",
}
"""The scripts of languages that are not written in Latin."""


def find_script(text: str) -> str:
    """Return the script of most letters of a text, or "" if no letter belongs to a known script."""
    counts: Counter[str] = Counter()
    for match in SCRIPT_PATTERN.finditer(text[:MAX_LENGTH]):
        name = match.lastgroup or ""
        counts[MERGED_SCRIPTS.get(name, name)] += match.end() - match.start()
    return counts.most_common(1)[0][0] if counts else ""


def scripts_of_languages(accepted: str) -> frozenset[str]:
    """Return the scripts of the languages in an Accept-Language header or a single language code."""
    codes = (part.partition(";")[0].strip().partition("-")[0].lower() for part in accepted.split(","))
    return frozenset(SCRIPT_BY_LANGUAGE.get(code, "Latin") for code in codes if code.isalpha())
