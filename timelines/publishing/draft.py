"""Keeps the text of a rejected post for the error page (limits, a full store, an expired token)."""

from collections.abc import Mapping

from socialsite.errors import MalformedRequest
from socialsite.web.requests import SiteRequest, get_form_data
from timelines.publishing.composer import refused_composer_context

COMPOSE_TEMPLATE = "timelines/compose.html"
KEY_USED_STATUSES = (404, 409)
"""The key belongs to another text or a deleted post: sending the form again with it cannot succeed."""
RETRYABLE_STATUSES = (403, *KEY_USED_STATUSES, 422, 429, 503)
"""The text may be sent again, changed or later. 403: the token had expired, and the page has a new one."""


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
