"""What to tell a writer whose text was refused, in their language."""

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from timelines.text.post_text import MARKS_PER_CLUSTER_CAP, TEXT_BYTES_CAP, TextRefused


def text_refusal(refused: TextRefused, max_graphemes: int) -> str:
    """The sentence for the field's error."""
    match refused.code:
        case "empty":
            return _("Write something first.")
        case "too_long":
            return ngettext(
                "This is too long: a post has at most %(most)s character.",
                "This is too long: a post has at most %(most)s characters.",
                max_graphemes,
            ) % {"most": max_graphemes}
        case "too_large":
            return _("This is too large: a text has at most %(most)s bytes.") % {"most": TEXT_BYTES_CAP}
        case "marks":
            return _("At most %(most)s marks can stand on one character.") % {"most": MARKS_PER_CLUSTER_CAP}
        case _:
            return _("This text holds characters that cannot be stored.")
