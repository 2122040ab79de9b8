"""Errors of the staff site."""

from django.utils.translation import gettext_lazy as _

from socialsite.errors import Conflict, NotFound


class CannotModerateSelf(Conflict):
    """Staff cannot moderate their own account."""

    code = "own_account"
    message = _("This is your own account. Ask somebody else of the staff.")


class DeadLetterNotFound(NotFound):
    """The dead letter was retried, deleted, or removed by the cap."""

    message = _("This dead letter is not there any more.")
