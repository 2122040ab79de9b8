"""What of a text can be searched for: its tokens in order, and the terms that the index keeps of them.

Words are runs of letters, marks, digits and underscores in any script, in one spelling (NFKC, case-folded,
nothing invisible), without the marks that people leave out (accents.py). Scripts that put no space between
words (and Hangul, whose words take endings) are cut into single characters, each with its marks: alone and
in pairs of neighbours they are the terms (bigrams).
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache, partial

import msgspec
import regex

from timelines.text.accents import plain
from timelines.text.linkify import hashtags, mentions

KEPT = 4_096  # analysed texts: about 8 MB when full
NAME_STARTS_CAP = 8
NAME_LENGTH_CAP = 40  # characters of a name that are compared
GAP = "\0"
"""Between the tokens of a joined sequence; no token holds it."""

_UNSPACED = (
    r"\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\p{Hangul}\u3005-\u3007\u30fc"
    r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
)
_OF_UNITS = rf"[[{_UNSPACED}]&&[\p{{L}}\p{{N}}]]"
OF_WORDS = rf"[\w--{_OF_UNITS}]"
"""A character of a word in a script with spaces (for regex.VERSION1)."""
_TOKEN = regex.compile(rf"(?P<unit>{_OF_UNITS}\p{{M}}*+)|{OF_WORDS}++", regex.VERSION1)
_UNIT = regex.compile(_OF_UNITS, regex.VERSION1)
_PLAIN_WORD = re.compile("[a-z0-9_]+")
_INVISIBLE = regex.compile(r"[\p{Cf}\p{Default_Ignorable_Code_Point}]+")
_nfkc = partial(unicodedata.normalize, "NFKC")


def folded(text: str) -> str:
    """The one spelling of a text. Accents stay: what filters hide is as written, `tokens_of` drops them."""
    if text.isascii():
        return text.lower()
    visible: str = _INVISIBLE.sub("", text)
    spelled: str = _INVISIBLE.sub("", _nfkc(_nfkc(visible).casefold()))
    return spelled


def tokens_of(text: str) -> tuple[str, ...]:
    """Words and single characters, without accents, in their order."""
    if text.isascii():
        return tuple(_PLAIN_WORD.findall(text.lower()))
    return tuple(match.group() for match in _TOKEN.finditer(plain(folded(text))))


def name_starts(name: str) -> list[str]:
    """What a name may be found by the beginning of: itself, and itself from each of its first tokens on."""
    tokens = tokens_of(name)
    return [called(tokens[at:])[:NAME_LENGTH_CAP] for at in range(min(len(tokens), NAME_STARTS_CAP))]


def called(tokens: Iterable[str]) -> str:
    """Tokens as names are compared: with one space between them, whatever stood there."""
    return " ".join(tokens)


def is_unit(token: str) -> bool:
    """Whether it is a character of a script without spaces."""
    return not token.isascii() and _UNIT.match(token) is not None


def narrowing_terms(phrase: Sequence[str]) -> list[str]:
    """Terms that every text with this sequence of tokens has."""
    units = [is_unit(token) for token in phrase]
    terms = []
    for at, token in enumerate(phrase):
        follows = at + 1 < len(phrase) and units[at] and units[at + 1]
        if follows:
            terms.append(token + phrase[at + 1])
        elif not (units[at] and at and units[at - 1]):  # else the pair before holds it
            terms.append(token)
    return terms


class Analysis(msgspec.Struct, frozen=True):
    """A text as search sees it, without accents. `sequence`: its tokens, joined and enclosed by gaps."""

    sequence: str
    tags: frozenset[str]
    mentions: frozenset[str]


@lru_cache(maxsize=KEPT)
def analysed(text: str) -> Analysis:
    return Analysis(joined(tokens_of(text)), frozenset(map(plain, hashtags(text))), frozenset(mentions(text)))


def joined(tokens: Iterable[str]) -> str:
    """A sequence of tokens as a text in which another sequence can be looked for."""
    return f"{GAP}{GAP.join(tokens)}{GAP}"


def terms_of(text: str) -> set[str]:
    """All that the index keeps of a text: words, characters, pairs of characters, `#` and each hashtag."""
    tokens = tokens_of(text)
    terms = {*tokens, *(f"#{plain(tag)}" for tag in hashtags(text))}
    if text.isascii():
        return terms
    units = [is_unit(token) for token in tokens]
    pairs = zip(tokens, tokens[1:], units, units[1:], strict=False)
    terms.update(one + other for one, other, is_one, is_other in pairs if is_one and is_other)
    return terms
