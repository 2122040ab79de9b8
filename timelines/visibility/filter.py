"""Keyword filters. A filter hides posts with a phrase from its owner, or shows a warning instead of the text."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, Literal

import msgspec
import regex

from timelines.text.tokenizer import WORD_CHARACTER, normalize_spelling

FilterAction = Literal["warn", "hide", "blur"]
FILTER_ACTIONS: Final[tuple[FilterAction, ...]] = ("warn", "hide", "blur")
"""With `blur` clients of the API cover the pictures only. Pages show a warning, as Mastodon asks of such clients."""
FilterPlace = Literal["home", "notifications", "public", "thread", "account"]
FILTER_PLACES: Final[tuple[FilterPlace, ...]] = ("home", "notifications", "public", "thread", "account")
"""The kinds of pages that a filter may apply to, as in Mastodon. Lists count as home."""
DEFAULT_PLACES: Final[tuple[FilterPlace, ...]] = ("home", "public", "thread")
FILTERS_CAP = 50
"""The maximum number of filters of one account. Each post of a page is compared with all filters."""
PHRASE_LENGTH_CAP = 100
"""The maximum number of characters of a phrase."""
START, END = "\1", "\2"
"""The marks around words. No normalized text contains these control characters."""
_BETWEEN_WORDS = regex.compile(rf"[^{WORD_CHARACTER}]", regex.VERSION1)
_MARKED = rf"{END}\g<0>{START}"


class KeywordFilter(msgspec.Struct, frozen=True, array_like=True):
    """A keyword filter of one account. It expires at `until_ms` (Unix ms), or never if this is None."""

    id: int
    phrase: str
    action: FilterAction = "warn"
    until_ms: int | None = None
    whole_word: bool = True
    title: str = ""
    """The name of the group. API clients show it; for "" they show the phrase."""
    group: int = 0
    """The id of the first filter of the group: API clients see a group as one filter with several phrases."""
    contexts: tuple[FilterPlace, ...] = ()
    """Where the filter applies. Empty: home, lists, public timelines and threads."""
    post_id: int = 0
    """The one post that the filter hides, in place of a phrase. Only API clients make such filters.

    A filter with neither matches nothing; it stores a group that is still empty.
    """

    @property
    def group_id(self) -> int:
        return self.group or self.id

    def applies_to(self, place: FilterPlace) -> bool:
        return place in (self.contexts or DEFAULT_PLACES)

    def is_expired(self, now_ms: int) -> bool:
        return self.until_ms is not None and self.until_ms <= now_ms


encode_filter = msgspec.msgpack.Encoder().encode
decode_filter = msgspec.msgpack.Decoder(KeywordFilter).decode


def find_filters(
    filters: Iterable[KeywordFilter], text: str, now_ms: int, post_id: int = 0
) -> tuple[KeywordFilter, ...]:
    """Return the filters that match the text or the post, at any place. Each filter takes linear time."""
    return tuple([each for each in filters if not each.is_expired(now_ms) and _matches(each, text, post_id)])


def _matches(keyword_filter: KeywordFilter, text: str, post_id: int) -> bool:
    if keyword_filter.post_id:
        return keyword_filter.post_id == post_id
    phrase = keyword_filter.phrase
    # Most texts do not contain the phrase. This is found out first, since marking the words takes longer.
    if _compile_phrase(phrase, False).search(_spell(text, False)) is None:
        return False
    return not keyword_filter.whole_word or _compile_phrase(phrase, True).search(_spell(text, True)) is not None


def strongest_filter(matches: Iterable[KeywordFilter], place: FilterPlace | None) -> KeywordFilter | None:
    """Return the filter that applies at the place. Filters that hide the post have priority."""
    applied = [each for each in matches if place is not None and each.applies_to(place)]
    return next((each for each in applied if each.action == "hide"), applied[0] if applied else None)


@lru_cache(maxsize=4_096)
def _spell(text: str, whole_word: bool) -> str:
    """Return the normalized text with single spaces.

    If `whole_word` is set, the beginning and end of each word are marked.

    Each character that is not part of a word becomes END, the character, START. The text begins with START and ends
    with END. A phrase gets the same marks, so it is found only at whole words, and the pattern needs no look-around.
    """
    spelled = " ".join(normalize_spelling(text).split())
    return f"{START}{_BETWEEN_WORDS.sub(_MARKED, spelled)}{END}" if whole_word else spelled


@lru_cache(maxsize=4_096)
def _compile_phrase(phrase: str, whole_word: bool) -> "re.Pattern[str]":
    """Compile a phrase as a literal, which `re` finds in linear time (Knuth-Morris-Pratt).

    Only an end that is a letter or digit of a script with spaces must be the end of a word, as in Mastodon. Signs and
    the characters of scripts without spaces match next to any other character.
    """
    spelled = _spell(phrase, False)
    if not spelled:
        return re.compile("(?!)")  # matches nothing; older releases accepted phrases without visible characters
    if whole_word:
        first, last = (_BETWEEN_WORDS.match(spelled[end]) is not None for end in (0, -1))
        spelled = _spell(phrase, True)
        spelled = spelled[len(START) if first else 0 : -len(END) if last else None]
    return re.compile(re.escape(spelled))
