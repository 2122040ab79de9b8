"""Lists of accounts: a named group whose posts its owner reads together. `AccountList`, never `list`."""

import unicodedata
from dataclasses import dataclass
from typing import NamedTuple, NewType

import regex

from accounts.domain import AccountId

ListId = NewType("ListId", int)

TITLE_MAX_GRAPHEMES = 50
TITLE_MAX_BYTES = 1000  # a grapheme has no length of its own: 50 of them could be a megabyte
LISTS_PER_ACCOUNT = 100
_GRAPHEME = regex.compile(r"\X")
_UNWANTED = frozenset({"Cc", "Cs", "Zl", "Zp"})  # controls, lone surrogates, line breaks
_VISIBLE = frozenset("LNPS")  # letters, numbers, punctuation, symbols: one at least, to be seen


@dataclass(frozen=True, slots=True)
class AccountList:
    """A list and its owner, the only one who sees it."""

    id: ListId
    owner_id: AccountId
    title: str
    created_ms: int


class ListPage(NamedTuple):
    """Lists of one page, oldest first; `next` is the exclusive cursor, None on the last page."""

    lists: tuple[AccountList, ...]
    next: ListId | None


def title_of(text: str) -> str:
    """The title as it is stored: NFC, no space at its ends. Raises ValueError for one that cannot be used."""
    if len(text) > TITLE_MAX_BYTES or any(unicodedata.category(char) in _UNWANTED for char in text):
        raise ValueError("too long, or with control characters")
    title = unicodedata.normalize("NFC", text).strip()
    if not any(unicodedata.category(char)[0] in _VISIBLE for char in title):
        raise ValueError("empty")
    if len(title.encode()) > TITLE_MAX_BYTES or len(_GRAPHEME.findall(title)) > TITLE_MAX_GRAPHEMES:
        raise ValueError("too long")
    return title
