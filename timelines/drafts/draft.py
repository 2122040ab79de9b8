"""The type `Draft`: an unfinished post of an account, or a post that is scheduled for later."""

import re
from datetime import UTC, datetime
from typing import Final

import msgspec
from django.utils.translation import gettext as _

from socialsite.ids import parse_id
from timelines.errors import TimeInvalid
from timelines.posts.post import FURTHER_MEDIA, TEXT_FORM_NAMES

DRAFTS_CAP: Final = 100
"""The number of drafts and scheduled posts of one account."""
DRAFT_BYTES_CAP: Final = 49_152
MEDIA_NAMES: Final = ("media_ids", FURTHER_MEDIA)
"""The form fields with ids of pictures: of the first post, and of the further posts of a thread."""


class Draft(msgspec.Struct, frozen=True, array_like=True):
    """A value of `timelines:{<account>}:drafts`. New fields are added at the end."""

    id: int
    fields: tuple[tuple[str, str], ...]
    """The names and values of the form as they were typed. They are parsed when the post is published."""
    saved_ms: int = 0
    scheduled_ms: int | None = None
    """The time at which the post is published, or None for a draft."""
    error: str = ""
    """The reason why the post could not be published at its time, or why staff refused it."""
    held_ms: int | None = None
    """The time since which the post waits for a look by staff, or None."""
    is_released: bool = False
    """True if staff has looked at the post and it may be published."""
    language: str = ""
    """The language of the page on which it was saved, and of `error`."""

    def value(self, name: str) -> str:
        """Return the value of a field, or "" if it is absent."""
        return dict(self.fields).get(name, "")

    @property
    def media_ids(self) -> list[int]:
        """The ids of the pictures of all posts of the draft, in their order."""
        texts = [value for name in MEDIA_NAMES for each, value in self.fields if each == name]
        return [int(id) for text in texts for id in text.split() if parse_id(id)]

    @property
    def texts(self) -> list[str]:
        """The texts of the post that people will read, without those of its pictures."""
        return [value for name, value in self.fields if name in TEXT_FORM_NAMES and name not in MEDIA_NAMES and value]

    @property
    def is_empty(self) -> bool:
        """Return whether all fields have the values of a new form."""
        return not any(value.strip() for name, value in self.fields if name in TEXT_FORM_NAMES)


encode_draft = msgspec.msgpack.Encoder().encode
decode_draft = msgspec.msgpack.Decoder(Draft).decode
LEAP_SECOND, ZONE_NAME = re.compile(r"(?<=[T ]\d\d:\d\d:)60"), re.compile(r"(Z|[+-]\d\d:?\d\d)(?:\[[^][]+\])+\Z")
LATEST_MS = 253_402_214_400_000
"""The beginning of 9999-12-31 in UTC: pages cannot show a time after that year in any time zone."""


def parse_time(text: str) -> int | None:
    """Return the time (Unix ms) of an ISO 8601 text, by default in UTC, or None for "". Raises TimeInvalid.

    A leap second (RFC 3339, 5.7) becomes the second before. The name of a zone after its offset (RFC 9557) is ignored.
    """
    if not text:
        return None
    try:
        text = LEAP_SECOND.sub("59", ZONE_NAME.sub(r"\1", text.upper()))  # RFC 3339 allows t and z
        at = datetime.fromisoformat(text)
        at_ms = round((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        at_ms = -1
    if not 0 <= at_ms < LATEST_MS:
        raise TimeInvalid({"scheduled_at": _("This is not a date and time.")})
    return at_ms
