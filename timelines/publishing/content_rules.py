"""The rules for the text of a post, and their messages."""

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from socialsite.characters import MARKS_PER_CLUSTER_CAP
from socialsite.errors import describe_newcomer_limits
from socialsite.limits import Caller
from timelines.errors import PostInvalid
from timelines.text.linkify import find_mentions
from timelines.text.post_text import TEXT_BYTES_CAP

NEWCOMER_MENTIONS_CAP = 5


def check_mentions(text: str, caller: Caller | None) -> None:
    """Raise PostInvalid if a new account mentions more accounts than it may."""
    if caller is None or not caller.newcomer_until_ms or len(find_mentions(text)) <= NEWCOMER_MENTIONS_CAP:
        return
    message = ngettext(
        "New accounts can mention at most %(most)d person in a post.",
        "New accounts can mention at most %(most)d people in a post.",
        NEWCOMER_MENTIONS_CAP,
    )
    raise PostInvalid(
        {"text": f"{message % {'most': NEWCOMER_MENTIONS_CAP}} {describe_newcomer_limits(caller.newcomer_until_ms)}"}
    )


def text_refusal(code: str, max_graphemes: int | None) -> str:
    """Return the translated error for the code of a TextRefused. A text with its own limit has no `max_graphemes`."""
    match code:
        case "empty":
            return _("Write something first.")
        case "too_long":
            if max_graphemes is None:
                return _("This text is too long.")
            return ngettext(
                "This is too long: a post has at most %(most)s character.",
                "This is too long: a post has at most %(most)s characters.",
                max_graphemes,
            ) % {"most": max_graphemes}
        case "too_large":
            return _("This is too large: a text has at most %(most)s bytes.") % {"most": TEXT_BYTES_CAP}
        case "marks":
            return _("One character can have at most %(most)s combining marks.") % {"most": MARKS_PER_CLUSTER_CAP}
        case _:
            return _("This text has characters that cannot be stored.")
