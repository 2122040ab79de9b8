"""What can be wrong with an order of staff. HTTP statuses stand in socialsite/web/middleware/errors.py."""

from django.utils.translation import gettext_lazy as _

from socialsite.errors import RequestError


class CannotModerateSelf(RequestError):
    """Staff does not lock itself out, nor look into its own case. 409."""

    code = "own_account"
    message = _("This is your own account. Ask somebody else of the staff.")


class DeadLetterNotFound(RequestError):
    """Somebody else retried or dropped it, or newer ones pushed it out. 404."""

    code = "not_found"
    message = _("This dead letter is not there any more.")
