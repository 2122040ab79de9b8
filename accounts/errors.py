"""What can go wrong with accounts and sessions.

One class a rule; services raise them. What HTTP status each becomes stands in ONE table,
socialsite/web/middleware/errors.py.
"""

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

from socialsite.errors import ApiError, LazyText


class AccountsError(ApiError):
    """Base of every refusal of this app."""

    code = "accounts_error"


class FieldErrors(AccountsError):
    """Inputs that break a rule, by name. 422."""

    code = "invalid"
    message = _("Please correct what is marked.")

    def __init__(self, fields: Mapping[str, LazyText], message: LazyText | None = None) -> None:
        super().__init__(message, fields=fields)


class HandleTaken(AccountsError):
    """Somebody has this handle, or had it before their account was deleted. 409."""

    code = "handle_taken"
    message = _("This handle is taken.")

    def __init__(self) -> None:
        super().__init__(fields={"handle": type(self).message})


class AccountNotFound(AccountsError):
    """Absent, suspended or deleted: one answer, so that it tells nothing. 404."""

    code = "not_found"
    message = _("This account does not exist.")


class InvalidCredentials(AccountsError):
    """No such account, a wrong password or a suspended account: one text for all. 401."""

    code = "wrong_login"
    message = _("Handle and password do not match.")


class SignInRequired(AccountsError):
    """The page is for people who are signed in. 401, in HTML 303 to the log-in page."""

    code = "sign_in_needed"
    message = _("Please sign in first.")
