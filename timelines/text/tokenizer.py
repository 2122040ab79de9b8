"""Splits texts into tokens, and into the terms of the search index.

A token is a word of letters, marks, digits and underscores. It is in NFKC and case-folded, without invisible characters
and without optional marks (accents.py). In scripts without spaces between words each character with its marks is a
token. The same applies to Hangul because of its suffixes. For these scripts the terms are single characters and pairs
of adjacent characters (bigrams).
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

import msgspec
import regex

from socialsite.characters import fold_case
from timelines.text.accents import fold_accents, fold_optional_marks
from timelines.text.linkify import find_hashtags, find_mentions

ANALYSIS_CACHE_SIZE = 1_024
"""The number of cached results of `analyze`, which take about 2 MB."""
NAME_PREFIXES_CAP = 8
NAME_LENGTH_CAP = 40
"""The number of characters of a name that are indexed."""
SEPARATOR = "\0"
"""The character between the tokens of a joined sequence. No token contains it."""

_UNSPACED = (
    r"\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\p{Hangul}\u3005-\u3007\u30fc"
    r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
)
_UNSPACED_CHARACTER = rf"[[{_UNSPACED}]&&[\p{{L}}\p{{N}}]]"
WORD_CHARACTER = rf"[\w--\p{{So}}--{_UNSPACED_CHARACTER}]"
"""A pattern for one character of a word in a script with spaces. It needs regex.VERSION1. Some emoji are in `\\w`."""
_TOKEN = regex.compile(rf"(?P<unit>{_UNSPACED_CHARACTER}\p{{M}}*+)|{WORD_CHARACTER}++", regex.VERSION1)
_UNIT = regex.compile(_UNSPACED_CHARACTER, regex.VERSION1)
_PLAIN_WORD = re.compile("[a-z0-9_]+")
_INVISIBLE = regex.compile(r"[\p{Cf}\p{Default_Ignorable_Code_Point}]+")


def normalize_spelling(text: str) -> str:
    """Return the text in NFKC, case-folded and without invisible characters, as filters compare it.

    Accents of Latin letters stay.
    """
    if text.isascii():
        return text.lower()
    visible: str = _INVISIBLE.sub("", text)
    normalized: str = _INVISIBLE.sub("", fold_case(visible))
    return fold_optional_marks(normalized)


def split_words(text: str) -> set[str]:
    """Return the words and single characters of a text as filters compare them: with their accents."""
    if text.isascii():
        return set(_PLAIN_WORD.findall(text.lower()))
    return {match.group() for match in _TOKEN.finditer(normalize_spelling(text))}


def tokenize(text: str) -> tuple[str, ...]:
    """Return the tokens of a text in order: words and single characters, without accents."""
    if text.isascii():
        return tuple(_PLAIN_WORD.findall(text.lower()))
    return tuple(match.group() for match in _TOKEN.finditer(fold_accents(normalize_spelling(text))))


def name_prefixes(name: str) -> list[str]:
    """Return the parts of the name that start at each of its first tokens. A prefix of any part finds the name."""
    tokens = tokenize(name)
    return [join_tokens(tokens[at:])[:NAME_LENGTH_CAP] for at in range(min(len(tokens), NAME_PREFIXES_CAP))]


def join_tokens(tokens: Iterable[str]) -> str:
    """Join tokens with single spaces, to compare names."""
    return " ".join(tokens)


def is_unspaced(token: str) -> bool:
    """Return whether the token is a character of a script without spaces."""
    return not token.isascii() and _UNIT.match(token) is not None


def required_terms(phrase: Sequence[str]) -> list[str]:
    """Return the terms that every text with this sequence of tokens contains."""
    unspaced = [is_unspaced(token) for token in phrase]
    terms = []
    for index, token in enumerate(phrase):
        is_in_pair_with_next = index + 1 < len(phrase) and unspaced[index] and unspaced[index + 1]
        is_in_pair_with_last = index > 0 and unspaced[index] and unspaced[index - 1]
        if is_in_pair_with_next:
            terms.append(token + phrase[index + 1])
        elif not is_in_pair_with_last:
            terms.append(token)
    return terms


class Analysis(msgspec.Struct, frozen=True):
    """The searchable parts of a text, without accents. `sequence` is the result of `join_sequence`."""

    sequence: str
    tags: frozenset[str]
    mentions: frozenset[str]


@lru_cache(maxsize=ANALYSIS_CACHE_SIZE)
def analyze(text: str) -> Analysis:
    tags = frozenset(map(fold_accents, find_hashtags(text)))
    return Analysis(join_sequence(tokenize(text)), tags, frozenset(find_mentions(text)))


def join_sequence(tokens: Iterable[str]) -> str:
    """Join tokens, with a separator around each, so that `in` finds one sequence in another."""
    return f"{SEPARATOR}{SEPARATOR.join(tokens)}{SEPARATOR}"


def index_terms(text: str) -> set[str]:
    """Return the terms of a text: words, characters, pairs of characters, and hashtags with their `#`."""
    tokens = tokenize(text)
    terms = {*tokens, *(f"#{fold_accents(tag)}" for tag in find_hashtags(text))}
    if text.isascii():
        return terms
    unspaced = [is_unspaced(token) for token in tokens]
    pairs = zip(tokens, tokens[1:], unspaced, unspaced[1:], strict=False)
    terms.update(
        first + second for first, second, first_unspaced, second_unspaced in pairs if first_unspaced and second_unspaced
    )
    return terms
