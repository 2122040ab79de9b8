"""Cursors of the pages of /ops/: ids of stream entries, or of accounts."""

from urllib.parse import urlencode

from django.utils.translation import gettext as _

from socialsite.errors import MalformedRequest
from socialsite.recipes.job_queue import STREAM_ID
from socialsite.web.requests import SiteRequest


def parse_cursor(request: SiteRequest) -> str | None:
    """`?cursor=` of a stream. Raises Malformed."""
    text = request.GET.get("cursor")
    if text is not None and not STREAM_ID.fullmatch(text):
        raise MalformedRequest(fields={"cursor": _("This cursor is none of ours.")})
    return text


def build_next_url(request: SiteRequest, cursor: object | None, **query: str) -> str | None:
    """The same page from `cursor` on; None without one."""
    return None if cursor is None else f"{request.path}?{urlencode({**query, 'cursor': cursor})}"
