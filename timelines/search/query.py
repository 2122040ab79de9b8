"""Parses search queries. A query has words, "phrases", #hashtags, @mentions, from:handle, since:day and until:day.

A post must match all parts. A word of several tokens (don't, 日本語) is a phrase. Days are UTC, and `until` includes
its day.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import chain

from accounts.accounts.validation import InvalidHandle, normalize_handle
from socialsite.characters import normalize
from socialsite.clock import DAY_MS
from socialsite.ids import EPOCH_MS, MAX_ID, id_at, ms_from_id
from timelines.text.accents import fold_accents
from timelines.text.linkify import find_hashtags, find_mentions
from timelines.text.tokenizer import analyze, join_sequence, join_tokens, required_terms, tokenize

QUERY_LENGTH_CAP = 300  # maximum number of characters of a query
INDEX_TERMS_CAP = 12
"""The maximum number of terms that are looked up in the index. The longest terms of a query are used.

The text of a post must still match all terms."""

_QUOTES = str.maketrans("“”„‟＂", '"' * 5)
_QUERY_WORD = re.compile(r'"([^"]*)"?|([^\s"]+)')
_OPERATOR = re.compile(r"(from|since|until):(.*)", re.IGNORECASE | re.DOTALL)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)

Phrase = tuple[str, ...]


class QueryInvalid(ValueError):
    """The query violates a rule. `code` identifies the rule.

    It is "too_long", "nothing" (no words), "day", "handle" or "authors" (more than one author).
    """

    def __init__(self, code: str) -> None:
        super().__init__(f"query refused: {code}")
        self.code = code


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A parsed query. Hashtags keep their accents, so that the exact hashtag is shown first.

    `lowest_id` and `highest_id` bound the posts by day, both inclusive.
    """

    phrases: tuple[Phrase, ...] = ()
    hashtags: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()
    author: str | None = None
    lowest_id: int = 0
    highest_id: int = MAX_ID

    def __post_init__(self) -> None:
        if not (self.phrases or self.hashtags or self.mentions or self.author):
            raise QueryInvalid("nothing")

    @property
    def terms(self) -> list[str]:
        """The terms to look up in the index. Every post that matches the query has all these terms."""
        words = chain.from_iterable(required_terms(phrase) for phrase in self.phrases)
        terms = dict.fromkeys([*(f"#{fold_accents(tag)}" for tag in self.hashtags), *self.mentions, *words])
        return sorted(terms, key=lambda term: (term[0] != "#", -len(term)))[:INDEX_TERMS_CAP]

    @property
    def account_prefix(self) -> str:
        """The prefix of account names to search. It is "" if only posts are searched."""
        if self._is_about_posts or self.hashtags:
            return ""
        if self.mentions:
            return "" if self.phrases or len(self.mentions) > 1 else self.mentions[0]
        return join_tokens(chain.from_iterable(self.phrases))

    @property
    def hashtag_prefix(self) -> str:
        """The prefix of hashtags to search. It is "" if only posts are searched."""
        if self._is_about_posts or self.mentions or len(self.hashtags) + len(self.phrases) > 1:
            return ""
        return self.hashtags[0] if self.hashtags else "".join(self.phrases[0])

    @property
    def _is_about_posts(self) -> bool:
        return self.author is not None or self.lowest_id > 0 or self.highest_id < MAX_ID

    def matches(self, text: str) -> bool:
        """Return whether a text matches the query. The caller checks the author and the days."""
        tokens = analyze(text)
        return (
            all(join_sequence(phrase) in tokens.sequence for phrase in self.phrases)
            and tokens.tags.issuperset(map(fold_accents, self.hashtags))
            and tokens.mentions.issuperset(self.mentions)
        )


def parse_query(raw: str, *, me: str = "") -> SearchQuery:
    """Parse the text of a query, in which `from:me` means the handle `me`, if given. Raises QueryInvalid."""
    if len(raw) > QUERY_LENGTH_CAP:
        raise QueryInvalid("too_long")
    said = _QueryBuilder(me)
    for match in _QUERY_WORD.finditer(normalize("NFKC", raw.translate(_QUOTES))):
        quoted, word = match.groups()
        if quoted is not None:
            said.phrases.append(tokenize(quoted))
        else:
            said.add_word(word)
    return said.build()


class _QueryBuilder:
    """Collects the parts of a query, and builds the SearchQuery."""

    def __init__(self, me: str) -> None:
        self._me = me
        self.phrases: list[Phrase] = []
        self._hashtags: list[str] = []
        self._mentions: list[str] = []
        self._authors: list[str] = []
        self._lowest_id, self._highest_id = 0, MAX_ID

    def add_word(self, word: str) -> None:
        operator = _OPERATOR.fullmatch(word)
        if operator is None:
            self._add_plain_word(word)
        elif operator[1].lower() == "from":
            is_me = self._me and operator[2].lower() == "me"
            self._authors.append(self._me if is_me else _parse_handle(operator[2]))
        else:
            self._add_day(operator[1].lower(), _parse_day_ms(operator[2]))

    def _add_plain_word(self, word: str) -> None:
        tags = find_hashtags(word) if word[0] == "#" else []
        named = find_mentions(word) if word[0] == "@" else []
        self._hashtags += tags
        self._mentions += named
        if not (tags or named):
            self.phrases.append(tokenize(word))

    def _add_day(self, operator: str, day_ms: int) -> None:
        if operator == "since":
            self._lowest_id = max(self._lowest_id, _lowest_id_at(day_ms))
        else:
            self._highest_id = min(self._highest_id, _lowest_id_at(day_ms + DAY_MS) - 1)

    def build(self) -> SearchQuery:
        if len(set(self._authors)) > 1:
            raise QueryInvalid("authors")
        phrases = dict.fromkeys(phrase for phrase in self.phrases if phrase)
        author = self._authors[0] if self._authors else None
        ends = max(self._lowest_id, 0), min(self._highest_id, MAX_ID)
        return SearchQuery(tuple(phrases), _deduplicate(self._hashtags), _deduplicate(self._mentions), author, *ends)


def _deduplicate(words: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))


def _parse_handle(raw: str) -> str:
    try:
        return normalize_handle(raw.removeprefix("@"))
    except InvalidHandle as error:
        raise QueryInvalid("handle") from error


def _parse_day_ms(raw: str) -> int:
    if not _DAY.fullmatch(raw):
        raise QueryInvalid("day")
    try:
        day = date.fromisoformat(raw)
    except ValueError as error:
        raise QueryInvalid("day") from error
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1000


def _lowest_id_at(at_ms: int) -> int:
    """Return the lowest possible id at a time in Unix ms. Times outside the range of ids are clamped."""
    return 0 if at_ms < EPOCH_MS else int(id_at(min(at_ms, ms_from_id(MAX_ID) + 1)))
