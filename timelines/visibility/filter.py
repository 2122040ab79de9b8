"""Keyword filters: phrases that hide a post from their owner, or show a warning instead of its text."""

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
    """Return the filter that matches a text; if several match, one that hides."""
    looked_at: str | None = None
    match: KeywordFilter | None = None
    for each in filters:
        if each.is_expired(now_ms) or (match is not None and each.action == "warn"):
            continue
        looked_at = looked_at if looked_at is not None else normalize_spelling(text)
        if _compile_phrase(each.phrase, each.whole_word).search(looked_at):
            match = each
            if each.action == "hide":
                break
    return match


@lru_cache(maxsize=4_096)
def _compile_phrase(phrase: str, whole_word: bool) -> "regex.Pattern[str]":
    """Compile a phrase: any white space may separate its words. Matching takes linear time.

    Scripts without spaces have no whole words, so their characters match next to any others.
    """
    spelled = " ".join(normalize_spelling(phrase).split())
    if not spelled:
        return regex.compile("(?!)")  # no visible character: older releases accepted such phrases
    words = r"\s+".join(map(regex.escape, spelled.split()))
    if whole_word:
        before = "" if is_unspaced(spelled[0]) else f"(?<!{WORD_CHARACTER})"
        words = before + words + ("" if is_unspaced(spelled[-1]) else f"(?!{WORD_CHARACTER})")
    return regex.compile(words, regex.VERSION1)
