"""Announcements of staff, which people see above their home until they dismiss them."""

from collections.abc import Collection

import msgspec
from django.utils.translation import gettext_lazy as _

from socialsite.characters import VISIBLE
from socialsite.errors import Conflict, Invalid
from socialsite.site.settings import clean_text, too_long

ANNOUNCEMENTS_CAP = 20
TEXT_LENGTH = 1_000


class Announcement(msgspec.Struct, frozen=True):
    """A text that is shown from `starts_ms` until `ends_ms`, or for good if that is 0. Ids ascend."""

    id: int
    text: str
    published_ms: int
    starts_ms: int = 0
    ends_ms: int = 0

    def is_current(self, now_ms: int) -> bool:
        return self.starts_ms <= now_ms and not self.is_over(now_ms)

    def is_over(self, now_ms: int) -> bool:
        return 0 < self.ends_ms <= now_ms


Announcements = tuple[Announcement, ...]


def unread(announcements: Announcements, dismissed_ids: Collection[int], now_ms: int) -> Announcements:
    """Return the current announcements that an account did not dismiss."""
    return tuple(each for each in announcements if each.id not in dismissed_ids and each.is_current(now_ms))


def add(stored: Announcements, text: str, starts_ms: int, ends_ms: int, now_ms: int) -> Announcements:
    """Return the announcements with a new one, without those that are over. A repetition adds nothing.

    Raises Invalid, Conflict.
    """
    text = clean_text(text).strip()
    if not VISIBLE.search(text):
        raise Invalid({"text": _("Write a text.")})
    if len(text) > TEXT_LENGTH:
        raise too_long("text", TEXT_LENGTH)
    if ends_ms and ends_ms <= max(now_ms, starts_ms):
        raise Invalid({"ends": _("The end must be later than the beginning and than now.")})
    left = tuple(each for each in stored if not each.is_over(now_ms))
    if (text, starts_ms, ends_ms) in ((each.text, each.starts_ms, each.ends_ms) for each in left):
        return left
    if len(left) >= ANNOUNCEMENTS_CAP:
        raise Conflict(_("There are too many announcements. Remove one first."))
    number = max([*(each.id for each in stored), now_ms])  # the id of a removed announcement is not used again
    return (*left, Announcement(number + 1, text, now_ms, starts_ms, ends_ms))
