"""The poll of a new post: its form fields, with the names of Mastodon, and the rules for its options."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from socialsite.clock import DAY_MS
from socialsite.web.requests import FormFields
from timelines.errors import PostInvalid
from timelines.posts.post import Poll
from timelines.text.post_text import TextRefused, check_text

OPTION_MAX_LENGTH = 50  # graphemes, as in Mastodon
MIN_DURATION_S, MAX_DURATION_S = 300, 30 * DAY_MS // 1000
DEFAULT_DURATION_S = DAY_MS // 1000
DURATIONS: Final = (
    (300, gettext_lazy("5 minutes")),
    (3_600, gettext_lazy("1 hour")),
    (6 * 3_600, gettext_lazy("6 hours")),
    (DEFAULT_DURATION_S, gettext_lazy("1 day")),
    (3 * DEFAULT_DURATION_S, gettext_lazy("3 days")),
    (7 * DEFAULT_DURATION_S, gettext_lazy("7 days")),
)
"""The choices of the composer: seconds and their text."""


@dataclass(frozen=True, slots=True)
class PollForm:
    """The fields of a new poll as the client sent them. `build` checks them."""

    options: tuple[str, ...]
    expires_in: str = ""
    multiple: bool = False

    @classmethod
    def parse(cls, fields: FormFields) -> "PollForm | None":
        """Return the form, or None if all options are empty."""
        texts = tuple(text.strip() for text in fields.values_of("poll[options]") if text.strip())
        if not texts:
            return None
        is_multiple = fields.get("poll[multiple]", "") in ("on", "1", "true", "True")
        return cls(texts, fields.get("poll[expires_in]", ""), is_multiple)

    def build(self, now_ms: int, max_options: int) -> Poll:
        """Return the poll. Raises PostInvalid."""
        seconds = parse_duration(self.expires_in) if self.expires_in else DEFAULT_DURATION_S
        if not MIN_DURATION_S <= seconds <= MAX_DURATION_S:
            raise PostInvalid({"poll[expires_in]": _("A poll is open for 5 minutes to 30 days.")})
        return Poll(check_options(self.options, max_options), self.multiple, now_ms + seconds * 1000)


def parse_duration(text: str) -> int:
    """Return a number of seconds, or 0 if the text is no such number."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def check_options(options: Sequence[str], max_options: int) -> tuple[str, ...]:
    """Return the options in their stored form. Raises PostInvalid."""
    if not 2 <= len(options) <= max_options:
        message = ngettext("A poll has 2 to %(most)s option.", "A poll has 2 to %(most)s options.", max_options) % {
            "most": max_options
        }
        raise PostInvalid({"poll[options]": message})
    try:
        texts = tuple(" ".join(check_text(option, OPTION_MAX_LENGTH).split()) for option in options)
    except TextRefused as refused:
        message = ngettext(
            "An option has at most %(most)s character.", "An option has at most %(most)s characters.", OPTION_MAX_LENGTH
        ) % {"most": OPTION_MAX_LENGTH}
        raise PostInvalid({"poll[options]": message}) from refused
    if len(set(texts)) < len(texts):
        raise PostInvalid({"poll[options]": _("Two options are the same.")})
    return texts
