"""The form of a new post."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

from socialsite.ids import PostId, parse_id
from timelines.errors import PostInvalid
from timelines.posts.post import AUDIENCE_BY_NAME


def parse_audience(fields: Mapping[str, str]) -> int | None:
    """Return the chosen audience, or None if the field is empty. Raises PostInvalid if the name is unknown."""
    name = fields.get("audience", "")
    if not name:
        return None
    if name not in AUDIENCE_BY_NAME:
        raise PostInvalid({"audience": _("This must be one of: public, unlisted, followers.")})
    return AUDIENCE_BY_NAME[name]


MAX_IDEMPOTENCY_KEY_LENGTH = 128  # characters of an idempotency key


@dataclass(frozen=True, slots=True)
class PostForm:
    """The fields of a new post as the client sent them. PublishingService checks `text`."""

    text: str
    in_reply_to: PostId | None
    idempotency_key: str | None
    audience: int | None = None

    @classmethod
    def parse(cls, fields: Mapping[str, str]) -> "PostForm":
        """Return the parsed form. Raises PostInvalid."""
        parent, key = fields.get("in_reply_to", ""), fields.get("idempotency_key", "")
        post_id = parse_id(parent)
        if parent and post_id is None:
            raise PostInvalid({"in_reply_to": _("This is not the id of a post.")})
        if len(key) > MAX_IDEMPOTENCY_KEY_LENGTH:
            raise PostInvalid({"idempotency_key": _("This key is longer than 128 characters.")})
        parent_id = PostId(post_id) if post_id is not None else None
        return cls(fields.get("text", ""), parent_id, key or None, parse_audience(fields))
