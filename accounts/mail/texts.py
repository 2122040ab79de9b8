"""The texts of all mails, in the language that is active."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.mail.values import MailKind

SECURITY_PATH, PASSWORD_PATH, MAIL_PATH = "/accounts/security/", "/accounts/password/", "/accounts/mail/"
SANCTIONS_PATH = "/accounts/sanctions/"
Text = str | Promise


@dataclass(frozen=True, slots=True)
class MailText:
    """The subject, the paragraphs, and the label and the path of the button. The path "" is that of the facts."""

    subject: Text
    paragraphs: tuple[Text, ...]
    label: Text = ""
    path: str = ""

    def fill(self, facts: Mapping[str, str]) -> "MailText":
        """Return the text with the site's name, the handle, the time and the facts of the kind."""
        lines = facts.get("lines", "").splitlines()
        paragraphs = (*(str(each) % facts for each in self.paragraphs), *lines)
        return MailText(str(self.subject) % facts, paragraphs, str(self.label), self.path or facts.get("path", "/"))


IF_NOT_YOU = _("If it was not you, change your password now and check the sessions of your account.")
TEXTS: Mapping[MailKind, MailText] = {
    "confirm_address": MailText(
        _("Confirm your mail address for %(site)s"),
        (
            _("The account @%(handle)s on %(site)s wants to use this address."),
            _("If this is your account, open the page and confirm the address. The link works for one day."),
            _("If it is not, you need not do anything: without the confirmation the address is not used."),
        ),
        _("Confirm the address"),
    ),
    "reset": MailText(
        _("Reset your password for %(site)s"),
        (
            _("Somebody asked to reset the password of @%(handle)s on %(site)s."),
            _("If it was you, open the page and choose a new password. The link works once, within one hour."),
            _("If it was not you, you need not do anything: your password stays as it is."),
        ),
        _("Choose a new password"),
    ),
    "new_device": MailText(
        _("New log-in to @%(handle)s on %(site)s"),
        (_("Your account @%(handle)s was logged in on %(time)s in a new browser: %(device)s."), IF_NOT_YOU),
        _("See your sessions"),
        SECURITY_PATH,
    ),
    "password_changed": MailText(
        _("Your password for %(site)s was changed"),
        (
            _("The password of @%(handle)s was changed on %(time)s. Other sessions and apps were logged out."),
            _("If it was not you, reset the password now, and then check the sessions and apps of your account."),
        ),
        _("Reset the password"),
        "/accounts/reset/",
    ),
    "new_app": MailText(
        _("A new app can use @%(handle)s on %(site)s"),
        (
            _("The app “%(app)s” got access to your account @%(handle)s on %(time)s."),
            _("If it was not you, end the access of the app and change your password."),
        ),
        _("See your apps"),
        SECURITY_PATH,
    ),
    "factor_changed": MailText(
        _("The second factor of @%(handle)s on %(site)s was changed"),
        (_("The second factors of your account @%(handle)s were changed on %(time)s."), IF_NOT_YOU),
        _("See your sessions"),
        SECURITY_PATH,
    ),
    "address_changed": MailText(
        _("@%(handle)s on %(site)s no longer uses this address"),
        (
            _("The mail address of your account @%(handle)s was changed or removed on %(time)s."),
            _("This address gets no further mails. If it was not you, change your password now."),
        ),
        _("Change the password"),
        PASSWORD_PATH,
    ),
    "archive_ready": MailText(
        _("Your archive of @%(handle)s is ready"),
        (_("The archive that you asked for can be downloaded. It is deleted after some days."),),
        _("Download the archive"),
        "/accounts/archive/",
    ),
    "import_done": MailText(
        _("Your import into @%(handle)s is finished"),
        (_("The page of the import shows what was imported and what was refused."),),
        _("See the import"),
        "/accounts/import/",
    ),
    "deletion_requested": MailText(
        _("@%(handle)s on %(site)s will be deleted"),
        (
            _("Somebody asked on %(time)s to delete your account @%(handle)s."),
            _("If it was not you, or if you want to keep the account, log in before the deletion and cancel it."),
        ),
        _("Log in"),
        "/accounts/delete/",
    ),
    "sanction": MailText(
        _("A decision about your account @%(handle)s on %(site)s"),
        (_("The people who run %(site)s have decided about your account @%(handle)s."),),
        _("Read the decision"),
        SANCTIONS_PATH,
    ),
    "sanction_undone": MailText(
        _("A decision about your account @%(handle)s on %(site)s was taken back"),
        (_("The people who run %(site)s have taken back a decision about your account @%(handle)s."),),
        _("Read the decision"),
        SANCTIONS_PATH,
    ),
    "appeal_decided": MailText(
        _("The answer to your appeal on %(site)s"),
        (_("The people who run %(site)s have decided about your appeal."),),
        _("Read the answer"),
        SANCTIONS_PATH,
    ),
    "approved": MailText(
        _("Welcome to %(site)s, @%(handle)s"),
        (_("The people who run %(site)s have approved your account @%(handle)s. You can log in now."),),
        _("Log in"),
        "/accounts/login/",
    ),
    "refused": MailText(
        _("Your application to %(site)s was refused"),
        (
            _("The people who run %(site)s have refused your account @%(handle)s. It will be deleted."),
            _("This is what they wrote:"),
        ),
        _("Log in to read it on the site"),
        "/accounts/login/",
    ),
    "digest": MailText(
        _("Your news from %(site)s"),
        (_("This happened since your last visit, @%(handle)s:"),),
        _("See all notifications"),
        "/notifications/",
    ),
    "alert": MailText(_("%(site)s: %(title)s"), (), _("See the alerts"), "/ops/alerts/"),
    "summary": MailText(_("The last day of %(site)s"), (), _("See the alerts"), "/ops/alerts/"),
    "test": MailText(_("Test mail from %(site)s"), (_("This is a test. The mail settings of %(site)s work."),)),
}
