"""The state of mails, for pages and JSON (docs/reference/interface.md)."""

from collections.abc import Mapping, Sequence

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.addresses import mask_address
from accounts.mail.values import MailKind, MailState, SentMail
from socialsite.web.responses import select_fields

KIND_LABELS: Mapping[MailKind, str | Promise] = {
    "confirm_address": _("Confirmation of the address"),
    "reset": _("Reset of the password"),
    "new_device": _("New log-in"),
    "password_changed": _("Changed password"),
    "new_app": _("New app"),
    "factor_changed": _("Changed second factor"),
    "address_changed": _("Changed address"),
    "archive_ready": _("Archive"),
    "import_done": _("Import"),
    "deletion_requested": _("Deletion of the account"),
    "approved": _("Approved account"),
    "refused": _("Refused account"),
    "sanction": _("Decision about the account"),
    "sanction_undone": _("Decision taken back"),
    "appeal_decided": _("Answer to an appeal"),
    "digest": _("Summary"),
    "alert": _("Alert"),
    "summary": _("Daily summary for operators"),
    "test": _("Test"),
}
STATE_LABELS: Mapping[MailState, str | Promise] = {
    "queued": _("waiting"),
    "sending": _("being sent"),
    "sent": _("sent"),
    "delayed": _("not sent yet, will be tried again"),
    "refused": _("refused"),
    "failed": _("could not be sent"),
}


DIGEST_LABELS: Mapping[str, str | Promise] = {"off": _("Never"), "daily": _("Daily"), "weekly": _("Weekly")}


def mails_page(mails: Sequence[SentMail]) -> list[dict[str, object]]:
    """Return the rows of the page, with hidden names of addresses."""
    return [
        {
            "kind": KIND_LABELS[mail.kind],
            "state": STATE_LABELS[mail.state],
            "is_bad": mail.state in ("refused", "failed"),
            "address": mask_address(mail.address),
            "at_ms": mail.at_ms,
            "reason": mail.reason,
        }
        for mail in mails
    ]


def mails_json(mails: Sequence[SentMail]) -> list[dict[str, object]]:
    return [
        select_fields(mail, "kind state at", address=mask_address(mail.address), reason=mail.reason or None)
        for mail in mails
    ]
