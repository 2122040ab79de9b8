"""The types `Post`, `PostDetails` and `PostCounts`, the audiences of posts, and the declaration of their fields."""

from typing import Final

import msgspec
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.domain import QuotePolicy
from socialsite.ids import AccountId, PostId, ms_from_id
from timelines.posts.fields import (
    PostField,
    ShortText,
    ValueField,
    parse_flag,
    parse_language,
    parse_post_id,
    parse_quote_policy,
    single_text,
)
from timelines.text.linkify import find_hashtags

SCHEMA_VERSION = 1
PUBLIC: Final = 0
"""Everybody may see the post. It appears on the public timeline, hashtag timelines, in search and feeds."""
UNLISTED: Final = 1
"""Everybody may see the post, but it is not on the public timeline, hashtag timelines, in search or feeds."""
FOLLOWERS: Final = 2
"""Only the author and the author's followers may see the post."""
AUDIENCE_BY_NAME: Final = {"public": PUBLIC, "unlisted": UNLISTED, "followers": FOLLOWERS}
"""The audiences by the names that clients send."""
NAME_BY_AUDIENCE: Final = {number: name for name, number in AUDIENCE_BY_NAME.items()}


class MediaAttachment(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One picture of a post, with all data that pages show. New fields are added at the end."""

    id: int
    secret: str
    """128 random bits, safe in URLs. Each URL of the picture contains them."""
    width: int
    height: int
    blurhash: str
    alt: str = ""
    focus: tuple[float, float] = (0.0, 0.0)
    """The point to keep in view when the picture is cropped, each coordinate from -1.0 to 1.0 (Mastodon's `focus`)."""
    is_animated: bool = False
    extension: str = "webp"


class Poll(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The question of a post, without its votes. New fields are added at the end."""

    options: tuple[str, ...]
    multiple: bool
    ends_ms: int
    round: int = 0
    """The version that began this poll. The votes of earlier polls of the post do not count."""
    hide_totals: bool = True


class PostDetails(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The fields that few posts have. New fields are added at the end, and declared in FIELDS.

    Struct and fields are hashable, because caches of HTML and JSON have the post as their key.
    """

    spoiler_text: str = ""
    """The content warning. It folds the post until the reader opens it."""
    sensitive: bool = False
    """True if the pictures are blurred until the reader asks for them."""
    language: str | None = None
    """The language of the text, as an ISO 639 code (languages.py)."""
    media: tuple[MediaAttachment, ...] = ()
    poll: Poll | None = None
    quote_of: PostId | None = None
    quoted_author_id: AccountId | None = None
    version: int = 0
    """The number of edits before this version."""
    edited_ms: int | None = None
    unindexed_hashtags: tuple[str, ...] = ()
    """New hashtags beyond the author's number for the day. They are links only."""
    quote_policy: QuotePolicy | None = None
    """The accounts that may quote the post, or None for the preference of its author."""
    is_folded: bool = False
    """True if staff put the content warning on the post. Its author can change the warning, but not remove it."""


NO_DETAILS: Final = PostDetails()


class Post(msgspec.Struct, frozen=True, array_like=True, gc=False, cache_hash=True):
    """The value of `posts:{<id>}:post`: a MessagePack array of these fields, in this order.

    A boost is a post with an empty text; `boost_of` is the id of its original.
    """

    id: PostId
    author_id: AccountId
    text: str
    in_reply_to: PostId | None = None
    schema: int = SCHEMA_VERSION
    audience: int = PUBLIC
    boost_of: PostId | None = None
    boosted_author_id: AccountId | None = None
    reply_to_author_id: AccountId | None = None
    root_id: PostId | None = None
    """The first post of the thread. None if this post is the first, or if an old import did not store it."""
    details: PostDetails | None = None
    """None if every detail has its default, so that such a post stays small. `extra` is never None."""

    @property
    def extra(self) -> PostDetails:
        """The details of the post, or the defaults."""
        return self.details or NO_DETAILS

    @property
    def searchable_text(self) -> str:
        """All texts that readers see, in which search and keyword filters find words, one below the other."""
        if self.details is None:
            return self.text
        return "\n".join(text for _field, text in texts_of(self.text, self.details) if text)

    @property
    def short_texts(self) -> list[tuple[ShortText, str]]:
        """The short texts of the post with their fields."""
        return [(each, text) for each in SHORT_TEXTS if (text := getattr(self.extra, each.name))]

    @property
    def thread_id(self) -> PostId:
        """The id of the first post of the thread, which may be this post."""
        return self.root_id or self.id

    @property
    def created_ms(self) -> int:
        """The time of creation in Unix ms, which is part of the id."""
        return ms_from_id(self.id)

    @property
    def is_discoverable(self) -> bool:
        """Return whether the post appears on the public timeline, hashtag timelines, in search and feeds."""
        return self.audience == PUBLIC and self.boost_of is None

    @property
    def indexed_hashtags(self) -> list[str]:
        """The normalized hashtags with this post on their timeline, in order."""
        tags = find_hashtags(self.text) if self.is_discoverable else []
        return tags if self.details is None else [tag for tag in tags if tag not in self.details.unindexed_hashtags]

    @property
    def shown_id(self) -> PostId:
        """The id of the post whose text and counts an entry shows. For a boost this is its original."""
        return self.id if self.boost_of is None else self.boost_of


def _yes_if(value: object) -> str:
    return gettext("Yes") if value else ""


def _sensitive_history(post: Post) -> str:
    return (_yes_if(post.extra.sensitive) or gettext("No")) if post.extra.media else ""


def _pictures_history(post: Post) -> str:
    return "\n".join(media.alt or gettext("Picture without a description") for media in post.extra.media)


FIELDS: Final[tuple[PostField, ...]] = (
    ShortText(
        "spoiler_text", ("spoiler_text",), _("Content warning"), icon="warning", activity_name="summary", folds=True,
        hint=_("What is this about? The post stays folded below it."),
    ),
    PostField("is_folded", (), _("Content warning by staff"), history=lambda post: _yes_if(post.extra.is_folded)),
    PostField("text", ("text",), texts=single_text, is_content=True),
    PostField(
        "media", ("media_ids",), _("Pictures"), lambda media: [each.alt for each in media], _pictures_history,
        is_content=True,
    ),
    ValueField(
        "sensitive", ("sensitive",), _("Sensitive pictures"), None, _sensitive_history, is_content=True,
        parse=parse_flag,
    ),
    PostField(
        "poll", ("poll[options]", "poll[expires_in]", "poll[multiple]"), _("Poll"),
        lambda poll: () if poll is None else poll.options, is_content=True,
    ),
    ValueField(
        "language", ("language",), _("Language"), None, lambda post: post.extra.language or "", parse=parse_language
    ),
    ValueField("quote_of", ("quoted_status_id",), is_edited=False, parse=parse_post_id),
    ValueField("quote_policy", ("quote_approval_policy",), parse=parse_quote_policy),
    PostField("audience", ("audience", "visibility"), is_edited=False),
    PostField("in_reply_to", ("in_reply_to",), is_edited=False),
)  # fmt: skip
"""The fields that people set, in the order in which they read them."""
SITE_FIELDS: Final = frozenset({"quoted_author_id", "version", "edited_ms", "unindexed_hashtags"})
"""The details that the site computes."""
UNEDITED_DETAILS: Final = SITE_FIELDS.union(
    each.name for each in FIELDS if not each.is_edited and each.name in PostDetails.__struct_fields__
)
VALUE_FIELDS: Final = tuple([each for each in FIELDS if isinstance(each, ValueField)])
EDITED_VALUES: Final = tuple([each for each in VALUE_FIELDS if each.is_edited])
SHORT_TEXTS: Final = tuple([each for each in VALUE_FIELDS if isinstance(each, ShortText)])
LINES: Final = tuple([each for each in SHORT_TEXTS if not each.folds])
"""The short texts that are shown below the text of a post."""
FURTHER_TEXTS: Final = "more"
FURTHER_MEDIA: Final = "more_media"
"""The form fields of the further posts of a thread that is published at once: their texts, and the ids of the pictures
of each post between spaces."""
FORM_NAMES: Final = (*(name for each in FIELDS for name in each.form_names), FURTHER_TEXTS, FURTHER_MEDIA)
"""The names of the form fields that a draft keeps. The other fields belong to the page that sends the post."""
_TEXTS: Final = tuple([(each.name, each.form_names[0], each.texts) for each in FIELDS if each.texts is not None])
TEXT_FORM_NAMES: Final = frozenset((*(form_name for _name, form_name, _texts in _TEXTS), FURTHER_TEXTS, FURTHER_MEDIA))


def texts_of(text: str, details: PostDetails) -> list[tuple[str, str]]:
    """Return all texts of a post that people read, with the names of their form fields."""
    return [
        (form_name, each)
        for name, form_name, texts in _TEXTS
        for each in texts(text if name == "text" else getattr(details, name))
    ]


def check_declarations() -> None:
    """Raise TypeError if a field of PostDetails is not declared, or a text is not declared as ShortText."""
    names, short_texts = {each.name for each in FIELDS} | SITE_FIELDS, {each.name for each in SHORT_TEXTS}
    undeclared = names ^ {*PostDetails.__struct_fields__, "text", "audience", "in_reply_to"}
    undeclared |= short_texts ^ {name for name, kind in PostDetails.__annotations__.items() if kind is str}
    if undeclared:
        raise TypeError(f"FIELDS does not declare these fields as PostDetails has them: {sorted(undeclared)}")


check_declarations()

FIRST_BYTES: Final = frozenset(bytes((first,)) for first in range(0x90, 0xA0))
"""The possible first bytes of a post that was never edited: a MessagePack array with a header of one byte."""
EDITED_FIRST_BYTE: Final = b"\xdc"
"""The first byte of an edited post: a MessagePack array with a header of three bytes.

Reads of cached posts return only the first byte, which so shows that a post was edited (stored_values.py).
"""

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Post)


def encode_post(post: Post) -> bytes:
    """Return the post as MessagePack. Its first byte shows whether the post was edited."""
    value = _encoder.encode(post)
    return EDITED_FIRST_BYTE + bytes((0, value[0] & 0x0F)) + value[1:] if post.extra.version else value


decode_post = _decoder.decode


class PostCounts(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    replies: int = 0
    boosts: int = 0
    likes: int = 0
