"""What actions bring, read from the fields of their body and from the query.

Rules of the domain are checked below.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from socialsite.errors import Malformed
from socialsite.ids import MAX_ID, PostId
from timelines.errors import ListInvalid, PostRefused
from timelines.filters.forms import audience_of
from timelines.graph.follow import FollowCursor
from timelines.lists.account_list import ListId
from timelines.pages.page import DEFAULT_LIMIT, MOST
from timelines.reactions.bookmark_cursor import BookmarkCursor

KEY_MAX = 128  # characters of an idempotency key
_ID = re.compile(r"[0-9]{1,16}", re.ASCII)
_INTEGER = re.compile(r"-?[0-9]+", re.ASCII)


def find_id(text: str) -> int | None:
    """A number in 0..2^53-1 as clients write ids; None for anything else."""
    if not _ID.fullmatch(text):
        return None
    number = int(text)
    return number if number <= MAX_ID else None


@dataclass(frozen=True, slots=True)
class PageQuery:
    """`?before`, `?after`, `?limit` of a timeline page."""

    before: int | None
    after: int | None
    limit: int

    @classmethod
    def of(cls, query: QueryDict) -> "PageQuery":
        """Raises Malformed where a cursor is no id, or both are given."""
        before, after = _cursor_id(query, "before"), _cursor_id(query, "after")
        if before is not None and after is not None:
            raise Malformed(_("A page has one cursor: before or after."))
        return cls(before, after, limit_of(query))

    @property
    def is_first(self) -> bool:
        return self.before is None and self.after is None


def limit_of(query: QueryDict) -> int:
    """`?limit=`, clamped to 1..100. Raises Malformed for what is no integer."""
    text = query.get("limit")
    if text is None:
        return DEFAULT_LIMIT
    if not _INTEGER.fullmatch(text):
        raise Malformed(fields={"limit": _("This is not a number.")})
    return int(min(max(float(text), 1), MOST))  # a float, whose reading takes no longer for many digits


def follow_cursor_of(query: QueryDict) -> FollowCursor | None:
    """`?cursor=` of a page of accounts. Raises Malformed."""
    text = query.get("cursor")
    if text is None:
        return None
    try:
        return FollowCursor.decode(text)
    except ValueError as error:
        raise _bad_cursor() from error


def bookmark_cursor_of(query: QueryDict) -> BookmarkCursor | None:
    """`?cursor=` of the page of bookmarks. Raises Malformed."""
    text = query.get("cursor")
    if text is None:
        return None
    try:
        return BookmarkCursor.decode(text)
    except ValueError as error:
        raise _bad_cursor() from error


def list_cursor_of(query: QueryDict) -> ListId | None:
    """`?cursor=` of the page of lists. Raises Malformed."""
    text = query.get("cursor")
    if text is None:
        return None
    number = find_id(text)
    if number is None:
        raise _bad_cursor()
    return ListId(number)


def notice_cursor_of(query: QueryDict) -> PostId | None:
    """`?cursor=` of the page of notifications. Raises Malformed."""
    found = list_cursor_of(query)
    return None if found is None else PostId(found)


@dataclass(frozen=True, slots=True)
class PostForm:
    """A post as it was sent: `text` is checked by PublishingService."""

    text: str
    in_reply_to: PostId | None
    idempotency_key: str | None
    audience: int | None = None

    @classmethod
    def of(cls, fields: Mapping[str, str]) -> "PostForm":
        """Raises PostRefused."""
        answered, key = fields.get("in_reply_to", ""), fields.get("idempotency_key", "")
        post_id = find_id(answered)
        if answered and post_id is None:
            raise PostRefused({"in_reply_to": _("This is not the id of a post.")})
        if len(key) > KEY_MAX:
            raise PostRefused({"idempotency_key": _("This key is longer than 128 characters.")})
        parent = PostId(post_id) if post_id is not None else None
        return cls(fields.get("text", ""), parent, key or None, audience_of(fields))


@dataclass(frozen=True, slots=True)
class ListForm:
    """A list as it was sent; None where a field was not. ListService checks what they say.

    `parts` are ids in one text, or by form the `first` one and a field `part-<id>` for each other.
    """

    title: str | None
    replies: str | None
    exclusive: bool | None
    operation: str | None
    parts: tuple[ListId, ...] | None

    @classmethod
    def of(cls, fields: Mapping[str, str]) -> "ListForm":
        """Raises ListInvalid."""
        exclusive = fields.get("exclusive")
        return cls(
            fields.get("title"),
            fields.get("replies"),
            None if exclusive is None else exclusive not in ("", "0", "false"),
            fields.get("operation") or None,
            parts_of(fields),
        )

    @property
    def says_nothing(self) -> bool:
        return (self.title, self.replies, self.exclusive, self.operation, self.parts) == (None,) * 5


def parts_of(fields: Mapping[str, str]) -> tuple[ListId, ...] | None:
    """The lists that one is to be made of, the first one first. Raises ListInvalid."""
    if "parts" in fields:
        texts = re.split(r"[\s,]+", fields["parts"].strip())
    elif "first" in fields:
        others = [name.removeprefix("part-") for name in fields if name.startswith("part-")]
        texts = [fields["first"], *(other for other in others if other != fields["first"])]
    else:
        return None
    ids = [find_id(text) for text in texts]
    known = tuple(ListId(id) for id in ids if id is not None)
    if len(known) < len(ids):
        raise ListInvalid({"parts": _("This list does not exist.")})
    return known


def _cursor_id(query: QueryDict, name: str) -> int | None:
    text = query.get(name)
    if text is None:
        return None
    number = find_id(text)
    if number is None:
        raise Malformed(fields={name: _("This is not the id of a post.")})
    return number


def _bad_cursor() -> Malformed:
    return Malformed(fields={"cursor": _("This cursor is none of ours.")})
