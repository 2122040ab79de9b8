"""A post that was refused, by whatever: its text must not be lost (limits, a full store, an old page).

The publishing view may not even have run, so this hangs on the table of errors and not on the view.
"""

from collections.abc import Mapping

from django.urls import reverse

from socialsite.errors import Malformed
from socialsite.web.requests import SiteRequest, form_data
from timelines.publishing.composer import refused_composer

TEMPLATE = "timelines/compose.html"
SPENT = (404, 409)
"""The key stands for another text, or for a deleted post: sent with it again, this is refused for ever."""
KEEPING = (403, *SPENT, 422, 429, 503)
"""Where the text may be sent again, changed or later. 403: an old token; the page's new one is good."""


def kept_post(request: SiteRequest, status: int, reason: str) -> dict[str, object]:
    """For a refused post: the filled box where we know whose it is, else the bare text. Else nothing."""
    if status not in KEEPING or request.method != "POST" or request.path_info != reverse("timelines:publish"):
        return {}
    fields = _fields(request)
    if getattr(request, "account", None) is None or status == 403:
        return {"text": fields.get("text", "")}
    return {"composer": refused_composer(fields, reason, keeps_key=status not in SPENT)}


def _fields(request: SiteRequest) -> Mapping[str, str]:
    try:
        return form_data(request)
    except Malformed:
        return {}
