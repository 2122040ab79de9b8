"""What actions bring, read from the fields of their body and from the query.

Rules of the domain are checked below.
"""

import re
from dataclasses import dataclass

from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from socialsite.errors import Malformed
from socialsite.ids import find_id
from timelines.graph.follow import FollowCursor
from timelines.pages.page import DEFAULT_LIMIT, MOST

_INTEGER = re.compile(r"-?[0-9]+", re.ASCII)


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
