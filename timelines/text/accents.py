"""Removes the marks that people omit when they type, so that search ignores them. The rules depend on the script.

Latin, Greek: all accents are removed (é, ñ, å, ế, ώ). Letters without a decomposition are replaced by those of a plain
    keyboard (ø, ł, đ, æ, þ, ı). This includes accented letters that are separate letters in some languages.
Cyrillic: stress marks (за́мок) and the dots of ё are removed, because they are seldom typed. й, ї, ў, ѓ, ќ stay.
Hebrew, Arabic: points, vowel signs, cantillation, tatweel, and marks above or below alef are removed. Hamza on other
    letters, and the dots of ة and ي, stay, because they distinguish words and are typed.
Other scripts: all marks stay, because they are vowels, tones or consonants (हि, ที่, が).
"""

import re
from functools import partial

import regex

from socialsite.characters import normalize

_COMBINING_MARKS = r"\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\ufe20-\ufe2f"
"""The Unicode blocks of combining marks for all scripts."""
_VOWEL_POINTS = re.compile(
    r"[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"  # Hebrew
    r"\u0610-\u061a\u0640\u064b-\u0652\u0656-\u065e\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"
    r"\u0897-\u089f\u08ca-\u08e1\u08e3-\u08ff]+"
)
"""Points, vowel signs and tatweel. They are removed first, because they may be between a letter and its accent."""
_NOT_LATIN = (
    rf"(?<=\p{{Greek}})[{_COMBINING_MARKS}]++"
    r"|(?<=[аиоуыэюяіє]|і\u0308)[\u0300\u0301]++|(?<=е)[\u0300\u0301\u0308]++"
    r"|(?<=\u0627)[\u0653-\u0655]++"
)
_ACCENTS = regex.compile(rf"(?<=\p{{Latin}})[{_COMBINING_MARKS}]++|{_NOT_LATIN}")
"""The accents of a letter in NFD text, after _BASE_LETTERS was applied. NFD defines the order of marks."""
_OPTIONAL_ACCENTS = regex.compile(_NOT_LATIN)
_OPTIONAL = re.compile(r"[\u0300-\u03ff\u0450\u0451\u045d\u0591-\u05c7\u0610-\u08ff\u1f00-\u1fff]")
"""Texts without these characters have no optional marks of scripts other than Latin."""
_BASE_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"}
    | {"ɓ": "b", "ɗ": "d", "ƙ": "k", "ƴ": "y", "\u0671": "\u0627"}
)
_FOLDABLE = re.compile(
    rf"[\u00df-\u024f\u0250-\u02af{_COMBINING_MARKS}\u0370-\u03ff\u0450\u0451\u045d\u0591-\u05c7\u0610-\u08ff"
    r"\u1e00-\u1fff]"
)
"""Texts without these characters need no change, such as Chinese, Hindi and most Russian texts."""
_NONSPACING_MARK = regex.compile(r"\p{Mn}")
"""A combining mark. Texts with marks are decomposed, because the result depends on all marks of a letter."""
_nfd = partial(normalize, "NFD")
_nfc = partial(normalize, "NFC")


def remove_marks(text: str) -> str:
    """Remove optional marks from any text. `fold_accents` does the same faster for most texts."""
    base_letters: str = _ACCENTS.sub("", _nfd(_VOWEL_POINTS.sub("", text)).translate(_BASE_LETTERS))
    return _nfc(base_letters)


def fold_optional_marks(text: str) -> str:
    """Remove the marks of scripts other than Latin that one spelling of a word has and another lacks.

    These are points, vowel signs and tatweel, the accents that Greek capitals lack, and Cyrillic stress and dots of ё.
    """
    if text.isascii() or _OPTIONAL.search(text) is None:
        return text
    plain: str = _OPTIONAL_ACCENTS.sub("", _nfd(_VOWEL_POINTS.sub("", text)))
    return _nfc(plain.replace("\u0671", "\u0627"))


_SINGLE_CHARACTERS = {
    code: letters
    for code in range(0xDF, 0x2000)
    if _FOLDABLE.match(character := chr(code)) and (letters := remove_marks(character)) != character
}
"""The replacements of single characters, which suffice for nearly all texts."""


def fold_accents(text: str) -> str:
    """Remove optional marks from a case-folded NFKC text. The result is in NFKC, and a second call changes nothing.

    The result has at most as many UTF-8 bytes as the text, and at most twice as many characters (æ, œ, þ).
    """
    if text.isascii() or _FOLDABLE.search(text) is None:
        return text
    without_points = _VOWEL_POINTS.sub("", text)
    if _NONSPACING_MARK.search(without_points) is None:
        return _nfc(without_points.translate(_SINGLE_CHARACTERS))
    return remove_marks(without_points)
