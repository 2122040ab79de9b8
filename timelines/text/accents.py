"""What search compares letters without: marks that people leave out when they type, script by script.

Latin, Greek: every accent (é, ñ, å, ế, ώ), and the letters that Unicode takes for whole ones but a plain
    keyboard writes with others (ø, ł, đ, æ, þ, ı). One language's letter is another's accent: all fold.
Cyrillic: stress (за́мок) and the dots of ё, which are seldom typed; й, ї, ў, ѓ, ќ are letters that always are.
Hebrew, Arabic: points, vowel signs, cantillation, tatweel, and what stands on or below alef. Hamza on
    another letter, and the dots of ة and ي, tell words apart and are typed.
Elsewhere a mark is a vowel, a tone or another consonant (हि, ที่, が): all stay.
"""

import re
import unicodedata
from functools import partial

import regex

_MARKS = r"\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\ufe20-\ufe2f"
"""The blocks of combining marks that belong to no one script."""
_POINTED = re.compile(
    r"[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"  # Hebrew
    r"\u0610-\u061a\u0640\u064b-\u0652\u0656-\u065e\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"
    r"\u0897-\u089f\u08ca-\u08e1\u08e3-\u08ff]+"
)
"""Points, vowel signs, tatweel: left out first and anywhere, so that none hides an accent behind it."""
_ACCENTED = regex.compile(
    rf"(?<=[\p{{Latin}}\p{{Greek}}])[{_MARKS}]++"
    r"|(?<=[аиоуыэюяіє]|і\u0308)[\u0300\u0301]++|(?<=е)[\u0300\u0301\u0308]++"
    r"|(?<=\u0627)[\u0653-\u0655]++"
)
"""In a decomposed text, after _WHOLE: a letter, then its marks in the one order that Unicode gives them."""
_WHOLE = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ŧ": "t", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"}
    | {"ɓ": "b", "ɗ": "d", "ƙ": "k", "ƴ": "y", "\u0671": "\u0627"}
)
_TOUCHED = re.compile(
    rf"[\u00df-\u024f\u0250-\u02af{_MARKS}\u0370-\u03ff\u0450\u0451\u045d\u0591-\u05c7\u0610-\u08ff"
    r"\u1e00-\u1fff]"
)
"""Without one of these a composed text stays as it is: Chinese, Hindi, most Russian cost one look."""
_LOOSE = regex.compile(r"\p{Mn}")
"""A mark of its own: what becomes of those at a letter depends on all of them."""
_nfd = partial(unicodedata.normalize, "NFD")
_nfc = partial(unicodedata.normalize, "NFC")


def without_marks(text: str) -> str:
    """What `plain` says, of any text. The table below takes a part of its time."""
    bare: str = _ACCENTED.sub("", _nfd(_POINTED.sub("", text)).translate(_WHOLE))
    return _nfc(bare)


_ALONE = {
    code: bare
    for code in range(0xDF, 0x2000)
    if _TOUCHED.match(sign := chr(code)) and (bare := without_marks(sign)) != sign
}
"""Of characters that need no neighbour to be judged, nearly all there are."""


def plain(folded: str) -> str:
    """A text that comes case-folded and in NFKC, with its optional marks left out; still in NFKC.

    Repeating it changes nothing. No longer in UTF-8 than before, in characters at most twice (æ, œ, þ).
    """
    if folded.isascii() or _TOUCHED.search(folded) is None:
        return folded
    pointless = _POINTED.sub("", folded)
    if _LOOSE.search(pointless) is None:
        return _nfc(pointless.translate(_ALONE))
    return without_marks(pointless)
