"""A list of accounts as a value, its settings, and pages of lists."""

import re
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from socialsite.ids import AccountId
from timelines.ids import ListId
from timelines.text.post_text import grapheme_count, normalize_text

TITLE_MAX_GRAPHEMES = 50
TITLE_MAX_BYTES = 1000  # a grapheme has no maximum length: 50 graphemes could be a megabyte
LISTS_PER_ACCOUNT = 100
PUBLIC_LISTS_PER_ACCOUNT = 5
"""The most public lists of an account, so that few accounts cannot fill Explore."""
PUBLIC_MEMBERS_CAP = 150
"""The most members of a public list, which everybody may read and follow."""
DESCRIPTION_MAX_GRAPHEMES = 300
ReplyPolicy = Literal["none", "members", "followed", "all"]
"""The replies that a list shows: none, replies to its members, replies to accounts that its owner follows, or all.

Replies to the author's own posts and to the owner are always shown.
"""
REPLY_POLICIES: Final[tuple[ReplyPolicy, ...]] = ("all", "followed", "members", "none")
Operation = Literal["union", "intersection", "difference"]
OPERATIONS: Final[tuple[Operation, ...]] = ("union", "intersection", "difference")
_LINE_END = re.compile(r"[\t\n\r\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class AccountList:
    """A list, which only its owner sees unless the owner made it public."""

    id: ListId
    owner_id: AccountId
    title: str
    created_ms: int
    replies: ReplyPolicy = "all"
    operation: Operation | None = None
    """How the members are derived from the members of `parts`. It is None for a list with members of its own."""
    parts: tuple[ListId, ...] = ()
    description: str = ""
    public_ms: int = 0
    """When the owner made the list public (Unix ms), or 0 if it is not public."""


class ListPage(NamedTuple):
    """A page of lists, oldest first. `next` is an exclusive cursor, or None on the last page."""

    lists: tuple[AccountList, ...]
    next: ListId | None


def normalize_title(raw: str) -> str:
    """Return the stored form of a title: one line of 1 to 50 graphemes, NFC. Raises ValueError."""
    title = normalize_text(raw)
    if _LINE_END.search(raw):
        raise ValueError("more than one line")
    if grapheme_count(title) > TITLE_MAX_GRAPHEMES or len(title.encode()) > TITLE_MAX_BYTES:
        raise ValueError("too long")
    return title
