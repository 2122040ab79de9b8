"""Pages of the API: `max_id`, `since_id` and `min_id` in requests, and the `Link` header of responses."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar
from urllib.parse import parse_qsl, urlencode

import msgspec
from django.http import HttpResponse
from django.utils.translation import gettext_lazy as _

from socialsite.errors import Invalid
from socialsite.ids import EPOCH_MS, MAX_ID, id_at
from socialsite.web.requests import FormFields, SiteRequest
from socialsite.web.responses import json_response
from timelines.api.fields import id_field, limit_field
from timelines.pages.page import PagePart, PageRequest
from timelines.pages.responses import absolute_url, quote_path

T = TypeVar("T")
DEFAULT_API_LIMIT, MAX_API_LIMIT = 20, 40
CURSOR_NAMES = ("max_id", "since_id", "min_id")
EDGE_ID_DIGITS = 16
MASTODON_ID_SEQUENCE_BITS, MASTODON_ID_MAX_DIGITS = 16, 19
"""An id of Mastodon has 64 bits: Unix milliseconds, then a number."""
_EDGE_PATTERN = re.compile(rf"(\d{{1,16}})(\d{{{EDGE_ID_DIGITS}}})", re.ASCII)


class ApiPage(msgspec.Struct, frozen=True):
    """A part of a collection. `max_id` and `since_id` read downwards, `min_id` reads upwards. All are exclusive."""

    max_id: int | None
    since_id: int | None
    min_id: int | None
    limit: int

    @property
    def part(self) -> PagePart:
        """The arguments of services that return pages. `trim` then removes what the other cursors exclude."""
        cursor: PagePart = {"before": self.max_id} if self.min_id is None else {"after": self.min_id}
        return {**cursor, "limit": self.limit, "shows_parents": False}

    @property
    def bottom(self) -> int:
        """The highest id below the page, or 0."""
        return max(self.since_id or 0, self.min_id or 0)

    @property
    def request(self) -> PageRequest:
        return PageRequest(**self.part)

    def trim(self, entries: Iterable[T], id_of: Callable[[T], int]) -> list[T]:
        """Return the entries without those at or beyond `max_id`, `since_id` and `min_id`."""
        below = MAX_ID + 1 if self.max_id is None else self.max_id
        return [entry for entry in entries if self.bottom < id_of(entry) < below]


def api_page(fields: FormFields, default: int = DEFAULT_API_LIMIT, maximum: int = MAX_API_LIMIT) -> ApiPage:
    """Return the cursors and the limit of a request. Raises Invalid."""
    max_id, since_id, min_id = (_cursor_field(fields, name) for name in CURSOR_NAMES)
    return ApiPage(max_id, since_id, min_id, limit_field(fields, default, maximum))


def _cursor_field(fields: FormFields, name: str) -> int | None:
    """Return the id in a field. An id of Mastodon, which clients compute from a time, becomes our id of that time."""
    text = fields.get(name, "")
    if len(text) > MASTODON_ID_MAX_DIGITS or not (text.isascii() and text.isdigit()) or int(text) <= MAX_ID:
        return id_field(fields, name)
    return min(id_at(max(int(text) >> MASTODON_ID_SEQUENCE_BITS, EPOCH_MS)), MAX_ID)


def edge_field(fields: FormFields, name: str) -> tuple[int, int] | None:
    """Return the cursor that `encode_edge` made, or None if the field is absent. Raises Invalid."""
    text = fields.get(name, "")
    if not text:
        return None
    match = _EDGE_PATTERN.fullmatch(text)
    if match is None:
        raise Invalid({name: _("This cursor is not valid.")})
    return int(match[1]), int(match[2])


def encode_edge(at: int, id: int) -> str:
    """Return a cursor of digits for a collection that is ordered by a time or another score, and by ids."""
    return f"{at}{id:0{EDGE_ID_DIGITS}}"


def entries_response(
    request: SiteRequest, data: Sequence[object] | Mapping[str, object], ids: Sequence[int], is_last: bool = False
) -> HttpResponse:
    """Return a page whose cursors are the ids of its entries, newest first. The last page has no older page."""
    oldest, newest = (ids[-1], ids[0]) if ids else (None, None)
    return page_response(request, data, next_id=None if is_last else oldest, previous_id=newest)


def page_response(
    request: SiteRequest,
    data: Sequence[object] | Mapping[str, object],
    *,
    next_id: object | None,
    previous_id: object | None,
) -> HttpResponse:
    """Return a page as JSON. `next_id` is the `max_id` of the older page, `previous_id` the `min_id` of the newer.

    An empty page has no links. A cursor that is None has no link.
    """
    cursors = {"next": ("max_id", next_id), "prev": ("min_id", previous_id)} if data else {}
    return _linked_response(request, data, cursors)


def offset_response(
    request: SiteRequest, data: Sequence[object], next_offset: int | None, previous_offset: int | None
) -> HttpResponse:
    """Return a page of a collection that clients read by `offset`."""
    return _linked_response(request, data, {"next": ("offset", next_offset), "prev": ("offset", previous_offset)})


def _linked_response(
    request: SiteRequest, data: object, cursors: Mapping[str, tuple[str, object | None]]
) -> HttpResponse:
    """Return JSON with a link for each relation whose cursor, a field and its value, is not None."""
    links = [
        f'<{_url_with_cursor(request, name, value)}>; rel="{relation}"'
        for relation, (name, value) in cursors.items()
        if value is not None
    ]
    return json_response(data, headers={"Link": ", ".join(links)} if links else None)


def _url_with_cursor(request: SiteRequest, name: str, value: object) -> str:
    """Return the absolute URL of this page with another cursor. The access token of a query is left out."""
    query = parse_qsl(request.META.get("QUERY_STRING", ""), keep_blank_values=True)
    parameters = [(key, text) for key, text in query if key not in (*CURSOR_NAMES, "offset", "access_token")]
    return f"{absolute_url(request, quote_path(request.path))}?{urlencode([*parameters, (name, value)])}"
