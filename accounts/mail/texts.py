"""The texts of all mails, in the language that is active."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from accounts.mail.values import MailKind

SECURITY_PATH, PASSWORD_PATH, MAIL_PATH = "/accounts/sessions/", "/accounts/password/", "/accounts/mail/"


@dataclass(frozen=True, slots=True)
class MailText:
    """The subject, the paragraphs, and the label and the path of the button, if there is one."""

    subject: str
    paragraphs: Sequence[str]
    button: tuple[str, str] | None = None


def write_mail(kind: MailKind, facts: Mapping[str, str]) -> MailText:
    """Return the text of a mail. `facts` has the site's name, the handle, the time and the facts of the kind."""
    return _WRITERS[kind](facts)


def _confirm_address(facts: Mapping[str, str]) -> MailText:
    return MailText(
        _("Confirm your mail address for %(site)s") % facts,
        [
            _("The account @%(handle)s on %(site)s wants to use this address.") % facts,
            _("If this is your account, open the page and confirm the address. The link works for one day."),
            _("If it is not, you need not do anything: without the confirmation the address is not used."),
        ],
        (_("Confirm the address"), facts["path"]),
    )


def _reset(facts: Mapping[str, str]) -> MailText:
    return MailText(
        _("Reset your password for %(site)s") % facts,
        [
            _("Somebody asked to reset the password of @%(handle)s on %(site)s.") % facts,
            _("If it was you, open the page and choose a new password. The link works once, within one hour."),
            _("If it was not you, you need not do anything: your password stays as it is."),
        ],
        (_("Choose a new password"), facts["path"]),
    )


def _new_device(facts: Mapping[str, str]) -> MailText:
    return MailText(
        _("New log-in to @%(handle)s on %(site)s") % facts,
        [
            _("Your account @%(handle)s was logged in on %(time)s in a new browser: %(device)s.") % facts,
            _("If it was you, you need not do anything. If it was not, change your password now and end the session."),
        ],
        (_("See your sessions"), SECURITY_PATH),
    )


def _password_changed(facts: Mapping[str, str]) -> MailText:
    return MailText(
        _("Your password for %(site)s was changed") % facts,
        [
            _("The password of @%(handle)s was changed on %(time)s. Other sessions and apps were logged out.") % facts,
            _("If it was not you, reset the password now, and then check the sessions and apps of your account."),
        ],
        (_("Reset the password"), "/accounts/reset/"),
    )


def _new_app(facts: Mapping[str, str]) -> MailText:
    return MailText(
        _("A new app can use @%(handle)s on %(site)s") % facts,
        [
            _("The app “%(app)s” got access to your account @%(handle)s on %(time)s.") % facts,
            _("If it was not you, end the access of the app and change your password."),
        ],
        (_("See your apps"), SECURITY_PATH),
    )


def _factor_changed(facts: Mapping[str, str]) -> MailText:
    return MailText(
        _("The second factor of @%(handle)s on %(site)s was changed") % facts,
        [
            _("The second factors of your account @%(handle)s were changed on %(time)s.") % facts,
            _("If it was not you, change your password now and check the sessions of your account."),
        ],
        (_("See your sessions"), SECURITY_PATH),
    )


def _address_changed(facts: Mapping[str, str]) -> MailText:
    return MailText(
        _("@%(handle)s on %(site)s no longer uses this address") % facts,
        [
            _("The mail address of your account @%(handle)s was changed or removed on %(time)s.") % facts,
            _("This address gets no further mails. If it was not you, change your password now."),
        ],
        (_("Change the password"), PASSWORD_PATH),
    )


def _archive_ready(facts: Mapping[str, str]) -> MailText:
    return MailText(
        _("Your archive of @%(handle)s is ready") % facts,
        [_("The archive that you asked for can be downloaded. It is deleted after some days.")],
        (_("Download the archive"), facts.get("path", "/accounts/")),
    )


def _import_done(facts: Mapping[str, str]) -> MailText:
    return MailText(
        _("Your import into @%(handle)s is finished") % facts,
        [_("The page of the import shows what was imported and what was refused.")],
        (_("See the import"), facts.get("path", "/accounts/")),
    )


def _deletion_requested(facts: Mapping[str, str]) -> MailText:
    return MailText(
        _("@%(handle)s on %(site)s will be deleted") % facts,
        [
            _("Somebody asked on %(time)s to delete your account @%(handle)s.") % facts,
            _("If it was not you, or if you want to keep the account, log in before the deletion and cancel it."),
        ],
        (_("Log in"), facts.get("path", "/accounts/")),
    )


def _digest(facts: Mapping[str, str]) -> MailText:
    lines = facts.get("lines", "").splitlines()
    return MailText(
        _("Your news from %(site)s") % facts,
        [_("This happened since your last visit, @%(handle)s:") % facts, *lines],
        (_("See all notifications"), "/notifications/"),
    )


def _test(facts: Mapping[str, str]) -> MailText:
    return MailText(
        _("Test mail from %(site)s") % facts,
        [_("This is a test. The mail settings of %(site)s work.") % facts],
    )


_WRITERS = {
    "confirm_address": _confirm_address, "reset": _reset, "new_device": _new_device,
    "password_changed": _password_changed, "new_app": _new_app, "factor_changed": _factor_changed,
    "address_changed": _address_changed, "archive_ready": _archive_ready, "import_done": _import_done,
    "deletion_requested": _deletion_requested, "digest": _digest, "test": _test,
}  # fmt: skip
