"""Publishes several posts at once as a thread (docs/reference/decisions/threads-at-once.md)."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import structs

from socialsite.ids import AccountId
from socialsite.limits import Caller
from timelines.errors import PostInvalid
from timelines.posts.post import FURTHER_MEDIA, FURTHER_TEXTS, NO_DETAILS, Post, PostDetails
from timelines.publishing.content_rules import check_mentions
from timelines.publishing.forms import THREAD_POSTS_CAP, FurtherPost, PostForm
from timelines.publishing.post_writer import idempotency_key_digest
from timelines.publishing.service import PublishingService

REPLACED = frozenset({"text", "in_reply_to", "media_ids", "quoted_status_id", FURTHER_TEXTS, FURTHER_MEDIA})
"""The fields of a form that belong to single posts, beside those of the poll."""


async def publish_thread(
    publishing: PublishingService,
    form: PostForm,
    *,
    author_id: AccountId,
    now_ms: int,
    is_private: bool = False,
    caller: Caller | None = None,
    is_released: bool = False,
) -> list[Post]:
    """Publish the post of a form and its further posts, each an answer to the one before, with the same audience.

    Nothing is published if one is refused, or if the limits have no room for all. If this fails later, the same form
    publishes and counts only the missing posts. Raises the errors of `PublishingService`.
    """
    key, published = form.idempotency_key, await find_published(publishing, form, author_id)
    further = await check_thread(publishing, form, author_id, caller, published)
    first = await publishing.publish_form(
        form,
        author_id=author_id,
        now_ms=now_ms,
        is_private=is_private,
        caller=None if published else caller and replace(caller, planned=1 + len(further)),
        is_released=is_released,
    )
    posts = [first, *published[1:]]
    while missing := further[len(posts) - 1 :]:
        each, details = missing[0]
        post = await publishing.publish(
            author_id=author_id,
            text=each.text,
            in_reply_to=posts[-1].id,
            audience=first.audience,
            details=details,
            idempotency_key=key and _further_key(key, posts[-1], each),
            now_ms=now_ms,
            caller=caller and replace(caller, planned=len(missing)),
        )
        posts.append(post)
    return posts


async def find_published(publishing: PublishingService, form: PostForm, author_id: AccountId) -> list[Post]:
    """Return the posts of a thread that an earlier request with the key of this form published, in their order."""
    key, further, published = form.idempotency_key, form.further_posts, list[Post]()
    while further and key and len(published) <= len(further):
        own_key = _further_key(key, published[-1], further[len(published) - 1]) if published else key
        record = await publishing.posts.find_idempotency_record(author_id, idempotency_key_digest(own_key))
        post = record and await publishing.posts.find(record.post_id)
        if not post or post.author_id != author_id:
            break
        published.append(post)
    return published


async def fields_left(
    publishing: PublishingService, form: PostForm, author_id: AccountId
) -> tuple[tuple[str, str], ...]:
    """Return the fields of a form without the posts that an earlier request with its key published.

    The first post that is left answers the last published one.
    """
    published = await find_published(publishing, form, author_id)
    left = form.further_posts[len(published) - 1 :]
    if not published or not left:
        return form.content
    kept = [each for each in form.content if each[0] not in REPLACED and not each[0].startswith("poll")]
    kept += [("in_reply_to", str(published[-1].id)), ("text", left[0].text)]
    kept += [("media_ids", str(media_id)) for media_id in left[0].media_ids]
    for each in left[1:]:
        kept += [(FURTHER_TEXTS, each.text), (FURTHER_MEDIA, " ".join(map(str, each.media_ids)))]
    return tuple(kept)


async def check_thread(
    publishing: PublishingService,
    form: PostForm,
    author_id: AccountId,
    caller: Caller | None,
    published: Sequence[Post] = (),
) -> list[tuple[FurtherPost, PostDetails]]:
    """Return the further posts with their details, without blank ones. Raises PostInvalid, which names the post."""
    further = [(number, each) for number, each in enumerate(form.further, 2) if not each.is_blank]
    if not further:
        return []
    limit = publishing.limits.find_limit(caller, "post") or THREAD_POSTS_CAP
    if len(further) >= (most := min(limit, THREAD_POSTS_CAP)):
        message = ngettext("You can publish %(most)s post at once.", "You can publish %(most)s posts at once.", most)
        raise PostInvalid({FURTHER_TEXTS: message % {"most": most}})
    own_ids = {form.redraft_of, *(post.id for post in published)}
    checked: list[tuple[FurtherPost, PostDetails]] = []
    for number, each in further:
        try:
            details = await _details_of(publishing, form.details, each, author_id)
            used = {*form.media_ids, *(id for other, _details in checked for id in other.media_ids)}
            await publishing.media.require_free(each.media_ids, own_ids, used)
            publishing.validate_content(each.text, details)
            check_mentions(each.text, caller)
        except PostInvalid as error:
            reason = next(iter(error.fields.values()), error.message)
            message = _("Post %(number)s: %(reason)s") % {"number": number, "reason": reason}
            raise PostInvalid({f"{FURTHER_TEXTS}-{number}": message}) from error
        checked.append((each, details))
    return checked


async def _details_of(
    publishing: PublishingService, first: PostDetails, post: FurtherPost, author_id: AccountId
) -> PostDetails:
    """Return the details that all posts of the thread have, and the pictures of this one."""
    details = structs.replace(
        NO_DETAILS, spoiler_text=first.spoiler_text, language=first.language, quote_policy=first.quote_policy
    )
    if not post.media_ids:
        return details
    media = await publishing.media.find_attachments(author_id, post.media_ids)
    return structs.replace(details, media=media, sensitive=first.sensitive)


def _further_key(key: str, parent: Post, post: FurtherPost) -> str:
    """Return the idempotency key of a further post. Another text is another post, not a conflict."""
    content = " ".join([post.text, *map(str, post.media_ids)])
    return f"{key} {parent.id} {hashlib.sha256(content.encode()).hexdigest()}"
