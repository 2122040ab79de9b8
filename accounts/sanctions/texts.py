"""The words about sanctions for the person and for staff, in the language that is active."""

from collections.abc import Mapping
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.sanctions.sanction import SanctionKind
from socialsite.errors import write_time

KIND_LABELS: Final[Mapping[SanctionKind, str | Promise]] = {
    "note": _("Note for staff"),
    "warning": _("Warning"),
    "delete_posts": _("Posts deleted"),
    "fold_posts": _("Posts folded"),
    "mark_pictures": _("Pictures marked as sensitive"),
    "limit": _("Account limited"),
    "silence": _("Account silenced"),
    "suspend": _("Account suspended"),
    "delete": _("Account deleted"),
}
EFFECTS: Final[Mapping[SanctionKind, str | Promise]] = {
    "note": _("Only staff reads this note."),
    "warning": _("Nothing changes for your account."),
    "delete_posts": _("The posts named here are deleted. This cannot be undone."),
    "fold_posts": _("The posts named here are folded behind a content warning."),
    "mark_pictures": _("All your pictures are shown as sensitive, until the reader opens them."),
    "limit": _("Only your followers see your posts, and only accounts that follow you are notified of what you do."),
    "silence": _("You can log in and read. You cannot post, react or follow until %(time)s."),
    "suspend": _("Your account and your posts are hidden from everybody, and you cannot log in."),
    "delete": _("Your account and everything in it are deleted for good."),
}
"""What follows from a sanction, as the person reads it."""
STARTING_TEXTS: Final[Mapping[SanctionKind, str | Promise]] = {
    "note": "",
    "warning": _(
        "Something that you wrote here breaks the rules of this site. Please read the rules again, and keep to them. "
        "If it happens again, we will limit or suspend your account."
    ),
    "delete_posts": _("We have deleted posts of yours, because they break the rules of this site."),
    "fold_posts": _(
        "We have put a content warning on posts of yours, so that everybody can choose whether to read them."
    ),
    "mark_pictures": _(
        "Your pictures often show something that many people do not want to see unexpectedly. "
        "They are now shown after a click."
    ),
    "limit": _("Several of your posts break the rules of this site. We have limited who sees them."),
    "silence": _("Several of your posts break the rules of this site. You cannot post for some time."),
    "suspend": _("Your account has broken the rules of this site badly or repeatedly. We have suspended it."),
    "delete": _("Your account has broken the rules of this site badly or repeatedly. We are deleting it."),
}
"""The texts with which the form of staff begins. Staff edits a text before the person reads it."""


def describe_kind(kind: SanctionKind, until_ms: int) -> str:
    """Return the effect of a sanction as a sentence. `until_ms` is the end of a silence."""
    effect = str(EFFECTS[kind])
    return effect % {"time": f"{write_time(until_ms)} UTC"} if kind == "silence" else effect
