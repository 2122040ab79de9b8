"""Parses cursors and limits from query strings."""

import re
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, TypeVar

from django.http import HttpResponsePermanentRedirect, QueryDict
from django.http.response import HttpResponseBase
from django.utils.translation import gettext_lazy as _

from socialsite.errors import MalformedRequest
from socialsite.ids import parse_id
from socialsite.web.requests import SiteRequest
from timelines.graph.follow import FollowCursor
from timelines.pages.page import DEFAULT_LIMIT, MAX_LIMIT, PageRequest

Cursor = TypeVar("Cursor")

_INTEGER_PATTERN = re.compile(r"-?[0-9]+", re.ASCII)


def parse_page_request(query: QueryDict) -> PageRequest:
    """Return the parsed `?before`, `?after` and `?limit` of a timeline page.

    Raises MalformedRequest if a cursor is not an id, or if both cursors are given.
    """
    before, after = _parse_post_id(query, "before"), _parse_post_id(query, "after")
    if before is not None and after is not None:
        raise MalformedRequest(_("A page has one cursor: before or after."))
    return PageRequest(before, after, parse_limit(query))


def parse_limit(query: QueryDict) -> int:
    """Return `?limit=`, clamped to 1..100. Raises MalformedRequest if the limit is not an integer."""
    text = query.get("limit")
    if text is None:
        return DEFAULT_LIMIT
    if not _INTEGER_PATTERN.fullmatch(text):
        raise MalformedRequest(fields={"limit": _("This is not a number.")})
    return int(min(max(float(text), 1), MAX_LIMIT))  # `int` is slow and limited for many digits


def parse_cursor(query: QueryDict, decode: Callable[[str], Cursor]) -> Cursor | None:
    """Return `?cursor=`, decoded. Raises MalformedRequest if `decode` raises ValueError."""
    text = query.get("cursor")
    try:
        return None if text is None else decode(text)
    except ValueError as error:
        raise MalformedRequest(fields={"cursor": _("This cursor is not valid.")}) from error


def parse_follow_cursor(query: QueryDict) -> FollowCursor | None:
    return parse_cursor(query, FollowCursor.decode)


def decode_id(text: str) -> int:
    """Return the id in a cursor. Raises ValueError if the text is not an id."""
    number = parse_id(text)
    if number is None:
        raise ValueError("not an id")
    return number


def _parse_post_id(query: QueryDict, name: str) -> int | None:
    text = query.get(name)
    if text is None:
        return None
    number = parse_id(text)
    if number is None:
        raise MalformedRequest(fields={name: _("This is not the id of a post.")})
    return number


HandleView = Callable[[SiteRequest, str], Coroutine[Any, Any, HttpResponseBase]]


def with_canonical_handle(view: HandleView) -> HandleView:
    """Redirect a page to the handle in lower case and without a host (301). Actions accept any form."""

    @wraps(view)
    async def canonical(request: SiteRequest, handle: str) -> HttpResponseBase:
        lower = handle.lower()
        if not request.path.startswith(f"/@{lower}/") and request.method in ("GET", "HEAD"):
            return HttpResponsePermanentRedirect(re.sub("/@[^/]*", f"/@{lower}", request.get_full_path(), count=1))
        return await view(request, lower)

    return canonical
