"""Keyword filters: what a reader does not want to meet, until when, and whether to be asked or spared."""

import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

import msgspec
import regex

Action = Literal["warn", "hide"]
FILTERS_CAP = 50
"""Filters of one account: every post of a page is held against all of them."""
PHRASE_MAX = 100
"""Characters of a phrase."""


class Filter(msgspec.Struct, frozen=True, array_like=True):
    """`until_ms` is Unix ms, None for ever."""

    id: int
    phrase: str
    action: Action = "warn"
    until_ms: int | None = None
    whole_word: bool = True

    def is_over(self, now_ms: int) -> bool:
        return self.until_ms is not None and self.until_ms <= now_ms


encode_filter = msgspec.msgpack.Encoder().encode
decode_filter = msgspec.msgpack.Decoder(Filter).decode


def matching(filters: Iterable[Filter], text: str, now_ms: int) -> Filter | None:
    """The filter that a text runs into; of several, one that hides."""
    folded: str | None = None
    found: Filter | None = None
    for each in filters:
        if each.is_over(now_ms) or (found is not None and each.action == "warn"):
            continue
        folded = folded if folded is not None else fold(text)
        if _pattern(each.phrase, each.whole_word).search(folded):
            found = each
            if each.action == "hide":
                break
    return found


def fold(text: str) -> str:
    """Case, width and compatibility forms do not matter."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


@lru_cache(maxsize=4_096)
def _pattern(phrase: str, whole_word: bool) -> "regex.Pattern[str]":
    """The phrase as written, any white space between its words. Linear: nothing in it repeats but spaces."""
    words = r"\s+".join(map(regex.escape, fold(phrase).split()))
    return regex.compile(rf"(?<!\w){words}(?!\w)" if whole_word else words)
