"""Publishes several posts at once as a thread (docs/reference/decisions/threads-at-once.md)."""

import hashlib
from dataclasses import replace

from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import structs

from socialsite.ids import AccountId
from socialsite.limits import Caller
from timelines.errors import PostInvalid
from timelines.posts.post import FURTHER_TEXTS, NO_DETAILS, Post, PostDetails
from timelines.publishing.content_rules import check_mentions
from timelines.publishing.forms import THREAD_POSTS_CAP, PostForm
from timelines.publishing.service import PublishingService


async def publish_thread(
    publishing: PublishingService,
    form: PostForm,
    *,
    author_id: AccountId,
    now_ms: int,
    is_private: bool = False,
    idempotency_key: str | None = None,
    caller: Caller | None = None,
    is_released: bool = False,
) -> list[Post]:
    """Publish the post of a form and its further posts, each an answer to the one before, with the same audience.

    Nothing is published if one of them is refused, or if the rate limits have no room for all. If this fails later, a
    repetition with the same form publishes only the missing posts. Raises the errors of `PublishingService`.
    """
    further = check_thread(publishing, form, caller)
    key = idempotency_key or form.idempotency_key
    first = await publishing.publish_form(
        form,
        author_id=author_id,
        now_ms=now_ms,
        is_private=is_private,
        idempotency_key=key,
        caller=caller and replace(caller, planned=1 + len(further)),
        is_released=is_released,
    )
    posts, details = [first], _shared_details(form)
    for text in further:
        post = await publishing.publish(
            author_id=author_id,
            text=text,
            in_reply_to=posts[-1].id,
            audience=first.audience,
            details=details,
            idempotency_key=key and _further_key(key, posts[-1], text),
            now_ms=now_ms,
            caller=caller,
        )
        posts.append(post)
    return posts


def check_thread(publishing: PublishingService, form: PostForm, caller: Caller | None) -> list[str]:
    """Return the texts of the further posts, without the blank ones. Raises PostInvalid, which names the post."""
    further = [(number, text) for number, text in enumerate(form.further_texts, 2) if text.strip()]
    if not further:
        return []
    limit = publishing.limits.find_limit(caller, "post") or THREAD_POSTS_CAP
    if len(further) >= (most := min(limit, THREAD_POSTS_CAP)):
        message = ngettext("You can publish %(most)s post at once.", "You can publish %(most)s posts at once.", most)
        raise PostInvalid({FURTHER_TEXTS: message % {"most": most}})
    details = _shared_details(form)
    for number, text in further:
        try:
            publishing.validate_content(text, details)
            check_mentions(text, caller)
        except PostInvalid as error:
            reason = next(iter(error.fields.values()), error.message)
            message = _("Post %(number)s: %(reason)s") % {"number": number, "reason": reason}
            raise PostInvalid({f"{FURTHER_TEXTS}-{number}": message}) from error
    return [text for _number, text in further]


def _shared_details(form: PostForm) -> PostDetails:
    """Return the details that all posts of the thread have."""
    own = form.details
    return structs.replace(
        NO_DETAILS, spoiler_text=own.spoiler_text, language=own.language, quote_policy=own.quote_policy
    )


def _further_key(key: str, parent: Post, text: str) -> str:
    """Return the idempotency key of a further post. Another text is another post, not a conflict."""
    return f"{key} {parent.id} {hashlib.sha256(text.encode()).hexdigest()}"
