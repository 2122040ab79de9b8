"""The forms of a new post and of an edited post."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import cast

from django.utils.translation import gettext_lazy as _
from msgspec import structs

from accounts.domain import QUOTE_POLICIES, QuotePolicy
from socialsite import languages
from socialsite.ids import PostId, parse_id
from socialsite.web.requests import FormFields
from timelines.errors import PostInvalid
from timelines.media.forms import parse_media_changes
from timelines.media.media import MediaChange
from timelines.posts.post import (
    AUDIENCE_BY_NAME,
    FOLLOWERS,
    NAME_BY_AUDIENCE,
    NO_DETAILS,
    MediaAttachment,
    Post,
    PostDetails,
)
from timelines.publishing.polls import PollForm

AUDIENCE_BY_VISIBILITY = {**AUDIENCE_BY_NAME, "private": FOLLOWERS}
"""The audiences by Mastodon's names, which the field `visibility` has."""
CONTENT_NAMES = (
    "text", "spoiler_text", "sensitive", "language", "audience", "visibility", "in_reply_to", "media_ids",
    "poll[options]", "poll[expires_in]", "poll[multiple]", "quoted_status_id", "quote_approval_policy",
)  # fmt: skip
"""The names of the fields that a draft keeps. The other fields belong to the page that sends the post."""
TRUE_VALUES, FALSE_VALUES = ("on", "1", "true", "True"), ("", "off", "0", "false", "False")
MAX_IDEMPOTENCY_KEY_LENGTH = 128  # characters of an idempotency key


def parse_audience(fields: Mapping[str, str]) -> int | None:
    """Return the chosen audience, or None if the fields are empty. Raises PostInvalid if the name is unknown."""
    name, visibility = fields.get("audience", ""), fields.get("visibility", "")
    if name and name not in AUDIENCE_BY_NAME:
        raise PostInvalid({"audience": _("This must be one of: public, unlisted, followers.")})
    if visibility and visibility not in AUDIENCE_BY_VISIBILITY:
        raise PostInvalid({"visibility": _("This must be one of: public, unlisted, private.")})
    return AUDIENCE_BY_VISIBILITY.get(name or visibility)


def parse_details(fields: Mapping[str, str]) -> PostDetails:
    """Return the content warning, the mark of sensitive pictures, the language and the quote. Raises PostInvalid."""
    sensitive = fields.get("sensitive", "")
    if sensitive not in (*TRUE_VALUES, *FALSE_VALUES):
        raise PostInvalid({"sensitive": _("This must be on or off.")})
    policy = fields.get("quote_approval_policy", "")
    if policy not in ("", *QUOTE_POLICIES):
        raise PostInvalid({"quote_approval_policy": _("This must be one of: public, followers, nobody.")})
    details = PostDetails(
        fields.get("spoiler_text", ""),
        sensitive in TRUE_VALUES,
        parse_language(fields),
        quote_of=_parse_post_id(fields, "quoted_status_id"),
        quote_policy=cast(QuotePolicy, policy) if policy else None,
    )
    return NO_DETAILS if details == NO_DETAILS else details


def parse_language(fields: Mapping[str, str]) -> str | None:
    """Return the language, or None if the field is empty. Raises PostInvalid.

    Clients also send a region, as in "pt-BR". Only the language is stored.
    """
    tag = fields.get("language", "")
    code = languages.parse_language(tag)
    if tag and code is None:
        raise PostInvalid({"language": _("This is not the code of a language, such as “en” or “de”.")})
    return code


def parse_media_ids(fields: FormFields) -> tuple[int, ...]:
    """Return the ids of the pictures, in their order. Raises PostInvalid."""
    ids = [parse_id(text) for text in fields.values_of("media_ids") if text]
    if None in ids:
        raise PostInvalid({"media_ids": _("This is not the id of a picture.")})
    return tuple(media_id for media_id in ids if media_id is not None)


def picture_fields(media: Iterable[MediaAttachment]) -> list[tuple[str, str]]:
    """Return the fields of the pictures of a post, as the rows of the composer send them."""
    name = "media_attributes[][{}]".format
    return [
        field
        for each in media
        for field in (
            ("media_ids", str(each.id)), (name("id"), str(each.id)), (name("description"), each.alt),
            (name("focus"), f"{each.focus[0]},{each.focus[1]}"),
        )
    ]  # fmt: skip


def edit_fields(post: Post) -> dict[str, str]:
    """Return the fields of the form to edit a post, with the values of its newest version."""
    extra = post.extra
    return {
        "text": post.text,
        "spoiler_text": extra.spoiler_text,
        "sensitive": "on" if extra.sensitive else "",
        "language": extra.language or "",
        "quote_approval_policy": extra.quote_policy or "",
        "version": str(extra.version),
    }


def shown_poll(post: Post) -> PollForm | None:
    """Return the poll of a post, as the form to edit the post shows it."""
    poll = post.extra.poll
    return None if poll is None else PollForm(poll.options, multiple=poll.multiple)


@dataclass(frozen=True, slots=True)
class EditForm:
    """The next version of a post as the client sent it. Absent fields keep their values. Empty options remove a poll.

    `media_ids` is None if the pictures stay. `version` is the version that the author has read, if the client sent it.
    EditService checks the rest.
    """

    text: str
    details: PostDetails
    version: int | None
    poll: PollForm | None
    media_ids: tuple[int, ...] | None
    media_changes: Mapping[int, MediaChange]

    @classmethod
    def parse(cls, fields: FormFields, post: Post) -> "EditForm":
        """Return the parsed form. Raises PostInvalid, MediaInvalid."""
        values, version = {**edit_fields(post), **fields}, fields.get("version", "")
        if version and not (version.isascii() and version.isdigit() and len(version) < 10):
            raise PostInvalid({"version": _("This is not the number of a version.")})
        sent, poll = parse_details(values), PollForm.parse(fields)
        details = structs.replace(
            post.extra,
            spoiler_text=sent.spoiler_text,
            sensitive=sent.sensitive,
            language=sent.language,
            quote_policy=sent.quote_policy,
            poll=None if poll is None and fields.values_of("poll[options]") else post.extra.poll,
        )
        number = int(version) if version else None
        media_ids = parse_media_ids(fields) if fields.values_of("media_ids") else None
        return cls(values["text"], details, number, poll, media_ids, parse_media_changes(fields))


def _parse_post_id(fields: Mapping[str, str], name: str) -> PostId | None:
    text = fields.get(name, "")
    post_id = parse_id(text)
    if text and post_id is None:
        raise PostInvalid({name: _("This is not the id of a post.")})
    return PostId(post_id) if post_id is not None else None


def redraft_fields(post: Post) -> FormFields:
    """Return the form fields of a new post that has the content of this post and replaces it."""
    extra, poll = post.extra, post.extra.poll
    fields = [
        *edit_fields(post).items(), ("audience", NAME_BY_AUDIENCE[post.audience]), ("redraft_of", str(post.id)),
    ]  # fmt: skip
    fields += picture_fields(extra.media)
    if extra.quote_of is not None:
        fields.append(("quoted_status_id", str(extra.quote_of)))
    if post.in_reply_to is not None:
        fields.append(("in_reply_to", str(post.in_reply_to)))
    if poll is not None:
        duration_s = round((poll.ends_ms - (extra.edited_ms or post.created_ms)) / 1000)
        fields += [("poll[options][]", option) for option in poll.options]
        fields += [("poll[expires_in]", str(duration_s)), ("poll[multiple]", "on" if poll.multiple else "")]
    return FormFields(fields)


@dataclass(frozen=True, slots=True)
class PostForm:
    """The fields of a new post as the client sent them. PublishingService checks `text` and `details`."""

    text: str
    in_reply_to: PostId | None
    idempotency_key: str | None
    audience: int | None = None
    details: PostDetails = NO_DETAILS
    poll: PollForm | None = None
    redraft_of: PostId | None = None
    """The post of the author that the new post replaces."""
    media_ids: tuple[int, ...] = ()
    media_changes: Mapping[int, MediaChange] = field(default_factory=dict)
    content: tuple[tuple[str, str], ...] = ()
    """The fields that a draft of the post keeps, as they were typed."""

    @classmethod
    def parse(cls, fields: FormFields) -> "PostForm":
        """Return the parsed form. Raises PostInvalid, MediaInvalid."""
        key = fields.get("idempotency_key", "")
        parent_id, redraft_of = (_parse_post_id(fields, name) for name in ("in_reply_to", "redraft_of"))
        if len(key) > MAX_IDEMPOTENCY_KEY_LENGTH:
            raise PostInvalid({"idempotency_key": _("This key is longer than 128 characters.")})
        details, poll, media_ids = parse_details(fields), PollForm.parse(fields), parse_media_ids(fields)
        audience = parse_audience(fields)
        text, changes = fields.get("text", ""), parse_media_changes(fields)
        content = tuple((name, value) for name in CONTENT_NAMES for value in fields.values_of(name))
        return cls(text, parent_id, key or None, audience, details, poll, redraft_of, media_ids, changes, content)
