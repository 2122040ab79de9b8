"""Parses cursors and limits from query strings."""

import re
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import wraps
from typing import Any

from django.http import HttpResponsePermanentRedirect, QueryDict
from django.http.response import HttpResponseBase
from django.utils.translation import gettext_lazy as _

from socialsite.errors import MalformedRequest
from socialsite.ids import parse_id
from socialsite.web.requests import SiteRequest
from timelines.graph.follow import FollowCursor
from timelines.pages.page import DEFAULT_LIMIT, MAX_LIMIT

_INTEGER_PATTERN = re.compile(r"-?[0-9]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class PageQuery:
    """`?before`, `?after`, `?limit` of a timeline page."""

    before: int | None
    after: int | None
    limit: int

    @classmethod
    def parse(cls, query: QueryDict) -> "PageQuery":
        """Raises MalformedRequest if a cursor is not an id, or if both cursors are given."""
        before, after = _parse_id_cursor(query, "before"), _parse_id_cursor(query, "after")
        if before is not None and after is not None:
            raise MalformedRequest(_("A page has one cursor: before or after."))
        return cls(before, after, parse_limit(query))

    @property
    def is_first(self) -> bool:
        return self.before is None and self.after is None


def parse_limit(query: QueryDict) -> int:
    """Return `?limit=`, clamped to 1..100. Raises MalformedRequest if it is not an integer."""
    text = query.get("limit")
    if text is None:
        return DEFAULT_LIMIT
    if not _INTEGER_PATTERN.fullmatch(text):
        raise MalformedRequest(fields={"limit": _("This is not a number.")})
    return int(min(max(float(text), 1), MAX_LIMIT))  # parsing a float takes no longer for many digits


def parse_follow_cursor(query: QueryDict) -> FollowCursor | None:
    """Return `?cursor=` of a page of accounts. Raises MalformedRequest."""
    text = query.get("cursor")
    if text is None:
        return None
    try:
        return FollowCursor.decode(text)
    except ValueError as error:
        raise _cursor_error() from error


def _parse_id_cursor(query: QueryDict, name: str) -> int | None:
    text = query.get(name)
    if text is None:
        return None
    number = parse_id(text)
    if number is None:
        raise MalformedRequest(fields={name: _("This is not the id of a post.")})
    return number


def _cursor_error() -> MalformedRequest:
    return MalformedRequest(fields={"cursor": _("This cursor is not valid.")})


HandleView = Callable[[SiteRequest, str], Coroutine[Any, Any, HttpResponseBase]]


def with_canonical_handle(view: HandleView) -> HandleView:
    """Redirect a page whose handle has upper-case letters (301) to lower case. Actions accept any case."""

    @wraps(view)
    async def canonical(request: SiteRequest, handle: str) -> HttpResponseBase:
        lower = handle.lower()
        if lower != handle and request.method in ("GET", "HEAD"):
            return HttpResponsePermanentRedirect(request.get_full_path().replace(f"@{handle}", f"@{lower}", 1))
        return await view(request, lower)

    return canonical
