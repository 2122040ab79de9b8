"""Keeps the text of a rejected post or edit on the error page, such as after a rate limit."""

from http import HTTPStatus

from socialsite.errors import MalformedRequest
from socialsite.web.requests import FormFields, SiteRequest, get_form_data
from timelines.publishing.composer import edit_composer_context, refused_composer_context
from timelines.publishing.poll_form import PollForm

COMPOSE_TEMPLATE, EDIT_TEMPLATE = "timelines/compose.html", "timelines/edit.html"
KEY_USED_STATUSES = (404, 409)
"""The idempotency key belongs to another text or a deleted post. The form gets a new key."""
RETRYABLE_STATUSES = (403, *KEY_USED_STATUSES, 422, 429, 503)
"""The text may be sent again, perhaps changed or later. After 403 (an expired token) the page has a new token."""


def preserve_post(request: SiteRequest, status: int, reason: str) -> tuple[str | None, dict[str, object]]:
    """Return the template and context of the error page of `publish`, so that the text is not lost.

    A signed-in viewer gets the compose page with the text. If the viewer is unknown, or the token has expired, the
    context contains only the text. If the post cannot be sent again, the context is empty.
    """
    if status not in RETRYABLE_STATUSES or request.method != "POST":
        return None, {}
    fields = _fields(request)
    account = getattr(request, "account", None)
    if account is None or status == 403:
        return None, {"text": fields.get("text", "")}
    composer = refused_composer_context(account.preferences, fields, reason, keep_key=status not in KEY_USED_STATUSES)
    return COMPOSE_TEMPLATE, {"composer": composer}


def preserve_edit(request: SiteRequest, status: int, reason: str) -> tuple[str | None, dict[str, object]]:
    """Return the template and context of the error page of `edit`, so that the text is not lost."""
    if status not in RETRYABLE_STATUSES or status == 404 or request.method != "POST" or not request.resolver_match:
        return None, {}
    fields = _fields(request)
    account = getattr(request, "account", None)
    if account is None or status == 403:
        return None, {"text": fields.get("text", "")}
    if status == HTTPStatus.CONFLICT:
        fields.pop("version", None)  # the page names the newer version, so the author may replace it
    post_id = request.resolver_match.kwargs["post_id"]
    return EDIT_TEMPLATE, {
        "composer": edit_composer_context(account.preferences, post_id, fields, PollForm.parse(fields), reason)
    }


def _fields(request: SiteRequest) -> FormFields:
    try:
        return get_form_data(request)
    except MalformedRequest:
        return FormFields(())
