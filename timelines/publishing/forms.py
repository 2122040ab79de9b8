"""The forms of a new post and of an edited post."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from django.utils.translation import gettext_lazy as _
from msgspec import structs

from socialsite.ids import PostId, parse_id
from socialsite.web.requests import FormFields
from timelines.errors import PostInvalid
from timelines.media.forms import parse_media_changes
from timelines.media.media import MediaChange
from timelines.posts.fields import parse_post_id
from timelines.posts.post import (
    AUDIENCE_BY_NAME,
    EDITED_VALUES,
    FOLLOWERS,
    FORM_NAMES,
    FURTHER_MEDIA,
    FURTHER_TEXTS,
    NAME_BY_AUDIENCE,
    NO_DETAILS,
    VALUE_FIELDS,
    MediaAttachment,
    Post,
    PostDetails,
)
from timelines.publishing.poll_form import PollForm

AUDIENCE_BY_VISIBILITY = {**AUDIENCE_BY_NAME, "private": FOLLOWERS}
"""The audiences by Mastodon's names, which the field `visibility` has."""
THREAD_POSTS_CAP = 25
"""The number of posts of a thread that is published at once."""
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
    """Return the details that have one form field each. Raises PostInvalid."""
    details = PostDetails(**{each.name: each.parse(fields, each.form_name) for each in VALUE_FIELDS})
    return NO_DETAILS if details == NO_DETAILS else details


def draft_fields(fields: FormFields) -> tuple[tuple[str, str], ...]:
    """Return the fields that a draft keeps, as they were typed."""
    return tuple((name, value) for name in FORM_NAMES for value in fields.values_of(name))


def parse_media_ids(texts: Iterable[str]) -> tuple[int, ...]:
    """Return the ids of the pictures, in their order. Raises PostInvalid."""
    ids = [parse_id(text) for text in texts if text]
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
    values = {each.form_name: each.form_value(post.extra) for each in EDITED_VALUES}
    return {"text": post.text, **values, "version": str(post.extra.version)}


def shown_poll(post: Post) -> PollForm | None:
    """Return the poll of a post, as the form to edit the post shows it."""
    poll = post.extra.poll
    return None if poll is None else PollForm(poll.options, multiple=poll.multiple)


@dataclass(frozen=True, slots=True)
class EditForm:
    """The next version of a post as the client sent it. Absent fields keep their values. Empty options remove a poll.

    `version` is the version that the author has read, if the client sent it. `poll` is a new poll, or changes that of
    `details`. `media_ids` are the pictures in their new order, or None if the pictures of `details` stay, and
    `media_changes` their new descriptions and focal points. EditService checks the form.
    """

    text: str
    details: PostDetails
    version: int | None = None
    poll: PollForm | None = None
    media_ids: tuple[int, ...] | None = None
    media_changes: Mapping[int, MediaChange] = field(default_factory=dict)

    @classmethod
    def parse(cls, fields: FormFields, post: Post) -> "EditForm":
        """Return the parsed form. Raises PostInvalid, MediaInvalid."""
        values, version = {**edit_fields(post), **fields}, fields.get("version", "")
        if version and not (version.isascii() and version.isdigit() and len(version) < 10):
            raise PostInvalid({"version": _("This is not the number of a version.")})
        sent, poll = parse_details(values), PollForm.parse(fields)
        details = structs.replace(
            post.extra,
            **{each.name: getattr(sent, each.name) for each in EDITED_VALUES},
            poll=None if poll is None and fields.values_of("poll[options]") else post.extra.poll,
        )
        number = int(version) if version else None
        media_ids = parse_media_ids(fields.values_of("media_ids")) if fields.values_of("media_ids") else None
        return cls(values["text"], details, number, poll, media_ids, parse_media_changes(fields))


def redraft_fields(post: Post) -> FormFields:
    """Return the form fields of a new post that has the content of this post and replaces it."""
    extra, poll = post.extra, post.extra.poll
    fields = [
        *edit_fields(post).items(), ("audience", NAME_BY_AUDIENCE[post.audience]), ("redraft_of", str(post.id)),
    ]  # fmt: skip
    fields += picture_fields(extra.media)
    fields += [
        (each.form_name, value) for each in VALUE_FIELDS if not each.is_edited and (value := each.form_value(extra))
    ]
    if post.in_reply_to is not None:
        fields.append(("in_reply_to", str(post.in_reply_to)))
    if poll is not None:
        duration_s = round((poll.ends_ms - (extra.edited_ms or post.created_ms)) / 1000)
        fields += [("poll[options][]", option) for option in poll.options]
        fields += [("poll[expires_in]", str(duration_s)), ("poll[multiple]", "on" if poll.multiple else "")]
    return FormFields(fields)


class FurtherPost(NamedTuple):
    """A further post of a thread. The posts of a thread are published together, the first post first."""

    text: str
    media_ids: tuple[int, ...] = ()

    @property
    def is_blank(self) -> bool:
        return not (self.text.strip() or self.media_ids)


def further_fields(fields: FormFields) -> list[tuple[str, str]]:
    """Return the text of each further post of a form, and the ids of its pictures between spaces."""
    texts, media = fields.values_of(FURTHER_TEXTS), fields.values_of(FURTHER_MEDIA)
    return [*zip(texts, [*media, *[""] * len(texts)], strict=False)]


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
    further: tuple[FurtherPost, ...] = ()
    """The further posts, each an answer to the one before. Blank ones are not published."""

    @property
    def further_posts(self) -> list[FurtherPost]:
        """The further posts that are not blank."""
        return [each for each in self.further if not each.is_blank]

    @classmethod
    def parse(cls, fields: FormFields) -> "PostForm":
        """Return the parsed form. Raises PostInvalid, MediaInvalid."""
        key = fields.get("idempotency_key", "")
        parent_id, redraft_of = (parse_post_id(fields, name) for name in ("in_reply_to", "redraft_of"))
        if len(key) > MAX_IDEMPOTENCY_KEY_LENGTH:
            raise PostInvalid({"idempotency_key": _("This key is longer than 128 characters.")})
        details, poll = parse_details(fields), PollForm.parse(fields)
        media_ids = parse_media_ids(fields.values_of("media_ids"))
        audience = parse_audience(fields)
        text, changes = fields.get("text", ""), parse_media_changes(fields)
        content = draft_fields(fields)
        further = tuple(FurtherPost(each, parse_media_ids(ids.split())) for each, ids in further_fields(fields))
        return cls(
            text, parent_id, key or None, audience, details, poll, redraft_of, media_ids, changes, content, further
        )
