"""A post that was refused, by whatever: its text must not be lost (limits, a full store, an old page).

The publishing view may not even have run, so this hangs on the table of errors and not on the view.
"""

from collections.abc import Mapping

from socialsite.errors import MalformedRequest
from socialsite.web.requests import SiteRequest, get_form_data
from timelines.publishing.composer import refused_composer_context

COMPOSE_TEMPLATE = "timelines/compose.html"
KEY_USED_STATUSES = (404, 409)
"""The key stands for another text, or for a deleted post: sent with it again, this is refused for ever."""
RETRYABLE_STATUSES = (403, *KEY_USED_STATUSES, 422, 429, 503)
"""Where the text may be sent again, changed or later. 403: an old token; the page's new one is good."""


def preserve_draft(request: SiteRequest, status: int, reason: str) -> tuple[str | None, dict[str, object]]:
    """The hook `on_error_page` of the publishing view. Returns the compose page with the text of a signed-in viewer.

    If the viewer is unknown, returns only the text. Returns nothing if the same post cannot be sent again.
    """
    if status not in RETRYABLE_STATUSES or request.method != "POST":
        return None, {}
    fields = _fields(request)
    if getattr(request, "account", None) is None or status == 403:
        return None, {"text": fields.get("text", "")}
    composer = refused_composer_context(fields, reason, keep_key=status not in KEY_USED_STATUSES)
    return COMPOSE_TEMPLATE, {"composer": composer}


def _fields(request: SiteRequest) -> Mapping[str, str]:
    try:
        return get_form_data(request)
    except MalformedRequest:
        return {}
