"""Errors of accounts and sessions."""

from django.utils.translation import gettext_lazy as _

from socialsite.errors import Conflict, Forbidden, Invalid, NotFound, Unauthorized, Unavailable
from socialsite.ids import AccountId


class FieldErrors(Invalid):
    """Inputs of a form are wrong. The error has one message for each of them, by the name of the input."""

    message = _("Please correct the marked fields.")


class HandleTaken(Conflict):
    """An account has this handle, or had it before it was deleted."""

    code = "handle_taken"
    message = _("This handle is taken.")
    field = "handle"


class AddressTaken(Conflict):
    """Another account has this mail address. Only the owner of the mailbox learns this."""

    code = "address_taken"
    message = _("Another account uses this mail address.")


class InvalidLink(NotFound):
    """The link of a mail is wrong, has expired or was used."""

    message = _("This link has expired or was used before. Please ask for a new one.")


class AccountNotFound(NotFound):
    """The account is absent, suspended or deleted. All three cases have the same response, which reveals nothing."""

    message = _("This account does not exist.")


class LastOwner(Conflict):
    """The site must have an owner, so the last one keeps its role."""

    code = "last_owner"
    message = _("This is the last owner of the site. Make another account an owner first.")


class StaffCapReached(Conflict):
    """The list of staff is full. It also contains accounts that lost their role."""

    code = "staff_cap"
    message = _("No more accounts can become staff on this site.")


class PasswordsBusy(Unavailable):
    """Too many passwords wait to be checked, so this password was not checked."""

    code = "busy"
    message = _("Many people are logging in right now. Please try again in a few seconds.")


class InvalidCredentials(Unauthorized):
    """The handle is unknown or the password is wrong. Both have the same response, also for a suspended account."""

    code = "wrong_login"
    message = _("Wrong handle, mail address or password.")


class FactorNeeded(Unauthorized):
    code = "factor_needed"
    message = _("Please enter a code of your app or a recovery code, or use a passkey.")


class FactorNotFound(NotFound):
    message = _("Your account has no such second factor.")


class PasskeyRefused(Unauthorized):
    """The passkey is unknown, its signature is wrong, or its challenge has expired or was used."""

    code = "passkey_refused"
    message = _("This passkey could not be checked. Please try again.")


class AccountSuspended(InvalidCredentials):
    """Handle and password are right, but the account is suspended. A wrong password never gets this response."""

    message = _("This account is suspended. Please contact the people who run this site.")

    def __init__(self, account_id: AccountId | None = None) -> None:
        super().__init__()
        self.account_id = account_id


class AccountWaiting(InvalidCredentials):
    """Handle and password are right, but staff has not approved the account."""

    code = "account_waiting"
    message = _("Your account waits for approval by the people who run this site.")

    def __init__(self, account_id: AccountId) -> None:
        super().__init__()
        self.account_id = account_id


class SignUpClosed(Forbidden):
    """The site accepts no new accounts, or only by invitation."""

    code = "sign_up_closed"
    message = _("This site accepts no new accounts at present.")


class InvitationNeeded(SignUpClosed):
    code = "invitation_needed"
    message = _("You need an invitation to create an account on this site.")


class InvitationInvalid(NotFound):
    """The code is wrong, used up, expired or ended, or the account that invited may not invite any more."""

    code = "invitation_invalid"
    message = _("This invitation is wrong, used up or has ended. Please ask for a new one.")


class AlreadyDecided(Conflict):
    code = "already_decided"

    def __init__(self, handle: str) -> None:
        super().__init__(_("This application was already decided by @%(handle)s.") % {"handle": handle})


class DeletionPending(InvalidCredentials):
    """Handle and password are right, but the owner of the account has requested its deletion."""

    code = "deletion_pending"
    message = _(
        "This account will be deleted soon. To keep it, choose “Keep my account” and enter your password again."
    )
    field = "keep"


class SanctionNotFound(NotFound):
    """The account has no such sanction, or the cap removed it."""

    message = _("This decision does not exist.")


class AlreadySuspended(Conflict):
    code = "already_suspended"
    message = _("This account is suspended already.")


class SanctionsCapReached(Conflict):
    """The account has as many sanctions as are stored, and each is in force or has an open appeal."""

    code = "sanctions_cap"
    message = _("This account has too many decisions in force. Please undo one of them first.")


class AppealNotPossible(Conflict):
    """The sanction has an appeal already, was undone, or is older than APPEAL_TIME_MS."""

    code = "appeal_not_possible"
    message = _("You cannot appeal this decision, or not any more.")


class InvalidToken(Unauthorized):
    """The request has no access token, or one that has ended."""

    code = "invalid_token"
    message = _("The access token is invalid")

    def __init__(self, *, is_missing: bool = False) -> None:
        super().__init__()
        self.headers = _challenge() if is_missing else _challenge(error="invalid_token")


class MissingScope(Forbidden):
    """The access token does not have the scope that the endpoint needs."""

    message = _("This action is outside the authorized scopes")

    def __init__(self, scope: str = "") -> None:
        super().__init__()
        self.headers = _challenge(error="insufficient_scope", **({"scope": scope} if scope else {}))


class AccountRequired(Invalid):
    """The access token belongs to an app, but the endpoint needs an account."""

    message = _("This method requires an authenticated user")


def _challenge(**parameters: str) -> dict[str, str]:
    """Return the header that asks for an access token, and why (RFC 6750, 3)."""
    pairs = {"realm": "API", **parameters}.items()
    return {"WWW-Authenticate": "Bearer " + ", ".join(f'{name}="{value}"' for name, value in pairs)}
