"""Template context of the form for a new post, empty or with a rejected post."""

import secrets
from collections.abc import Mapping
from functools import cache
from typing import Any

from django.conf import settings
from django.urls import get_script_prefix, reverse

from socialsite.ids import parse_id
from socialsite.web.page_cache import Placeholder
from timelines.posts.post import AUDIENCE_BY_NAME, NAME_BY_AUDIENCE, PUBLIC


def composer_context(
    *, in_reply_to: int | None = None, next_url: str | None = None, audience: int = PUBLIC
) -> dict[str, Any]:
    """Return an empty form. Its idempotency key makes sending it twice publish once."""
    return {
        "text": "",
        "error": "",
        "idempotency_key": Placeholder(secrets.token_urlsafe(16)),
        "max_length": settings.POST_MAX_LENGTH,
        "in_reply_to": in_reply_to,
        "audience": NAME_BY_AUDIENCE[audience],
        "action": _publish_url(get_script_prefix()),
        "next": next_url,
    }


@cache
def _publish_url(prefix: str) -> str:
    """`prefix`: the URL prefix of the site. Cached, since `reverse` takes as long as reading a home."""
    return reverse("timelines:publish")


def refused_composer_context(fields: Mapping[str, str], error: str, *, keep_key: bool = True) -> dict[str, Any]:
    """Return the form as it was sent, with the reason why it was rejected.

    It keeps its idempotency key unless `keep_key` is false, so that a post whose response was lost is not repeated.
    """
    return {
        **composer_context(in_reply_to=parse_id(fields.get("in_reply_to", "")), next_url=fields.get("next") or None),
        "text": fields.get("text", ""),
        "error": error,
        **({"audience": audience} if (audience := fields.get("audience")) in AUDIENCE_BY_NAME else {}),
        **({"idempotency_key": Placeholder(key)} if keep_key and (key := fields.get("idempotency_key")) else {}),
    }
