"""Keyword filters: phrases that hide a post from their owner, or show a warning instead of its text."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

import msgspec
import regex

from timelines.text.tokenizer import WORD_CHARACTER, is_unspaced, normalize_spelling

FilterAction = Literal["warn", "hide"]
FILTERS_CAP = 50
"""Filters of one account. Each post of a page is compared with all of them."""
PHRASE_LENGTH_CAP = 100
"""Characters of a phrase."""
START, END = "\1", "\2"
"""Marks around words; no normalized text contains control characters."""
_BETWEEN_WORDS = regex.compile(rf"[^{WORD_CHARACTER}]", regex.VERSION1)
_MARKED = rf"{END}\g<0>{START}"


class KeywordFilter(msgspec.Struct, frozen=True, array_like=True):
    """`until_ms` is Unix ms; None: without an end."""

    id: int
    phrase: str
    action: FilterAction = "warn"
    until_ms: int | None = None
    whole_word: bool = True

    def is_expired(self, now_ms: int) -> bool:
        return self.until_ms is not None and self.until_ms <= now_ms


encode_filter = msgspec.msgpack.Encoder().encode
decode_filter = msgspec.msgpack.Decoder(KeywordFilter).decode


def find_filter(filters: Iterable[KeywordFilter], text: str, now_ms: int) -> KeywordFilter | None:
    """Return the filter that matches a text; if several match, one that hides. Takes linear time for each filter."""
    match: KeywordFilter | None = None
    for each in filters:
        if each.is_expired(now_ms) or (match is not None and each.action == "warn"):
            continue
        if _compile_phrase(each.phrase, each.whole_word).search(_spell(text, each.whole_word)):
            match = each
            if each.action == "hide":
                break
    return match


@lru_cache(maxsize=4_096)
def _spell(text: str, whole_word: bool) -> str:
    """Return the text with single spaces, as filters compare it; for whole words with marks between words.

    A START follows, and an END precedes, each character that is not part of a word. So a word in the text has the same
    marks around it as a phrase, and no look-around is needed.
    """
    spelled = " ".join(normalize_spelling(text).split())
    return f"{START}{_BETWEEN_WORDS.sub(_MARKED, spelled)}{END}" if whole_word else spelled


@lru_cache(maxsize=4_096)
def _compile_phrase(phrase: str, whole_word: bool) -> "re.Pattern[str]":
    """Compile a phrase as a literal, which `re` finds in linear time (Knuth-Morris-Pratt).

    Scripts without spaces have no whole words, so their characters match next to any others.
    """
    spelled = _spell(phrase, False)
    if not spelled:
        return re.compile("(?!)")  # no visible character: older releases accepted such phrases
    if whole_word:
        first, last = is_unspaced(spelled[0]), is_unspaced(spelled[-1])
        spelled = _spell(phrase, True)
        spelled = spelled[len(START) if first else 0 : -len(END) if last else None]
    return re.compile(re.escape(spelled))
