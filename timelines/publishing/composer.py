"""The template context of the form for a new post. The form is empty or contains a rejected post."""

import secrets
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

from django.conf import settings
from django.template.loader import render_to_string
from django.urls import get_script_prefix, reverse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import get_language

from accounts.domain import QUOTE_POLICIES, Preferences
from socialsite.ids import PostId, parse_id
from socialsite.languages import LANGUAGE_NAMES, parse_language
from socialsite.web.page_cache import Placeholder
from socialsite.web.requests import FormFields
from timelines.errors import MediaInvalid
from timelines.media.forms import parse_media_changes
from timelines.media.media import MEDIA_PER_POST
from timelines.posts.fields import TRUE_VALUES
from timelines.posts.post import AUDIENCE_BY_NAME, NAME_BY_AUDIENCE, PUBLIC, SHORT_TEXTS
from timelines.publishing.forms import THREAD_POSTS_CAP, further_fields
from timelines.publishing.poll_form import DEFAULT_DURATION_S, DURATIONS, PollForm, parse_duration


def composer_context(
    preferences: Preferences,
    *,
    in_reply_to: int | None = None,
    next_url: str | None = None,
    audience: int = PUBLIC,
    fields: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return a form with the details in `fields`. Its idempotency key prevents a second post if it is sent twice.

    Without a language in `fields` and in the preferences, the form has the language of the page.
    """
    fields = fields or {}
    of_page = get_language() or ""
    language = parse_language(fields.get("language", preferences.language or of_page)) or ""
    short_texts = tuple([fields.get(each.name, "") for each in SHORT_TEXTS])
    short_texts_html, policy = _short_texts_html(short_texts, of_page), fields.get("quote_approval_policy", "")
    quoted_id = parse_id(fields.get("quoted_status_id", ""))
    return {
        "short_texts": Placeholder(short_texts_html) if any(short_texts) else short_texts_html,
        "language_options": language_options_html(language, (preferences.language, *preferences.languages)),
        "text": "",
        "pictures": "",
        "further": "",
        "error": "",
        "idempotency_key": Placeholder(secrets.token_urlsafe(16)),
        "max_length": settings.POST_MAX_LENGTH,
        "in_reply_to": in_reply_to,
        "redraft_of": "",
        "quoted_status_id": Placeholder(str(quoted_id)) if quoted_id else "",
        "quote_policy": policy if policy in QUOTE_POLICIES else "",
        "audience": NAME_BY_AUDIENCE[audience],
        "poll": Placeholder(poll_fields_html(PollForm(()), of_page)),
        "action": _publish_url(get_script_prefix()),
        "next": next_url,
        "file_numbers": (),
    }


@cache
def _publish_url(prefix: str) -> str:
    """Return the URL to publish. It is cached by URL prefix, since `reverse` takes as long as reading a home."""
    return reverse("timelines:publish")


@lru_cache(maxsize=256)
def language_options_html(chosen: str, preferred: tuple[str | None, ...]) -> SafeString:
    """Return the options for the languages of the writer's preferences and of the site's pages."""
    page_codes = [code for code, _name in settings.LANGUAGES]
    codes = dict.fromkeys(filter(None, [chosen, *preferred, *page_codes]))
    options = ((code, SafeString(" selected" * (code == chosen)), LANGUAGE_NAMES[code]) for code in codes)
    return format_html_join("", '<option value="{0}" lang="{0}"{1}>{2}</option>', options)


@lru_cache(maxsize=256)
def _short_texts_html(texts: tuple[str, ...], language: str) -> SafeString:
    """Return the inputs of the short texts. An input is open if it has a text."""
    context = {"inputs": zip(SHORT_TEXTS, texts, strict=True)}
    return render_to_string("timelines/_composer_short_texts.html", context)


def edit_composer_context(
    preferences: Preferences, post_id: PostId, fields: FormFields, poll: PollForm | None, error: str = ""
) -> dict[str, Any]:
    """Return the form to edit a post, with the fields of the stored or the rejected version."""
    return {
        **composer_context(preferences, fields=fields),
        "text": Placeholder(fields.get("text", "")),
        "error": error,
        "poll": "" if poll is None else Placeholder(poll_fields_html(poll, get_language() or "")),
        **picture_context(fields),
        "is_edit": True,
        "version": Placeholder(fields.get("version", "")),
        "action": Placeholder(reverse("timelines:edit", args=[post_id])),
    }


def picture_context(fields: FormFields) -> dict[str, Any]:
    """Return the rows of the pictures, and the numbers of the file fields of a page without scripts."""
    media_ids = list(dict.fromkeys(filter(None, map(parse_id, fields.values_of("media_ids")))))[:MEDIA_PER_POST]
    try:
        changes = parse_media_changes(fields)
    except MediaInvalid:
        changes = {}
    rows = [{"id": str(media_id), "change": changes.get(media_id)} for media_id in media_ids]
    html = render_to_string("timelines/_composer_stored_pictures.html", {"rows": rows})
    return {
        "pictures": Placeholder(html) if rows else "",
        "file_numbers": range(MEDIA_PER_POST - len(rows)),
        "sensitive": fields.get("sensitive", "") in TRUE_VALUES,
    }


def _further_html(fields: FormFields) -> Placeholder | str:
    """Return the boxes of the further posts of a thread."""
    rows = further_fields(fields)[: THREAD_POSTS_CAP - 1]
    context = {"posts": [(number, *row) for number, row in enumerate(rows, 2)], "max_length": settings.POST_MAX_LENGTH}
    return Placeholder(render_to_string("timelines/_composer_further.html", context)) if rows else ""


@lru_cache(maxsize=256)
def poll_fields_html(poll: PollForm, language: str) -> SafeString:
    """Return the fields of the poll. They are open if an option is filled in."""
    seconds = parse_duration(poll.expires_in) or DEFAULT_DURATION_S
    context = {
        "options": [*poll.options, *[""] * settings.POLL_MAX_OPTIONS][: settings.POLL_MAX_OPTIONS],
        "expires_in": seconds,
        "multiple": poll.multiple,
        "durations": DURATIONS,
        "is_open": bool(poll.options),
    }
    return render_to_string("timelines/_composer_poll.html", context)


def refused_composer_context(
    preferences: Preferences, fields: FormFields, error: str, *, keep_key: bool = True
) -> dict[str, Any]:
    """Return the form with the fields that were sent and the reason of the rejection.

    The form keeps its idempotency key, so that a post whose response was lost is not published twice. If `keep_key` is
    false, the form gets a new key.
    """
    return {
        **composer_context(
            preferences,
            in_reply_to=parse_id(fields.get("in_reply_to", "")),
            next_url=fields.get("next") or None,
            fields=fields,
        ),
        **picture_context(fields),
        "text": fields.get("text", ""),
        "redraft_of": fields.get("redraft_of", ""),
        "draft": fields.get("draft", ""),
        "further": _further_html(fields),
        "error": error,
        "poll": Placeholder(poll_fields_html(PollForm.parse(fields) or PollForm(()), get_language() or "")),
        **({"audience": audience} if (audience := fields.get("audience")) in AUDIENCE_BY_NAME else {}),
        **({"idempotency_key": Placeholder(key)} if keep_key and (key := fields.get("idempotency_key")) else {}),
    }
