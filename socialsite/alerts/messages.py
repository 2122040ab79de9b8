"""What operators read about alerts: titles, sentences that say what to do, mails and lines of the log."""

import asyncio
import smtplib
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import structlog
from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import gettext as translate
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy, override

from accounts.mail.message import build_message
from accounts.mail.repository import MailAccount
from accounts.mail.values import MailKind, SendMail
from socialsite.alerts.board import Event, Finding
from socialsite.ids import AccountId

log = structlog.stdlib.get_logger("socialsite.alerts")
_threads = ThreadPoolExecutor(max_workers=2, thread_name_prefix="alerts")
"""A mail server that never ends a reply keeps a thread. The threads of the event loop have other work."""

TITLES: Mapping[str, str | Promise] = {
    "store": _("The store has a fault"),
    "persistence": _("Redis cannot write its data to disk"),
    "memory": _("The memory of Redis is nearly full"),
    "replication": _("A replica is lost or late"),
    "disk": _("A disk is nearly full"),
    "backup": _("The last backup is old"),
    "certificate": _("The certificate ends soon"),
    "workers": _("No worker runs"),
    "queues": _("Jobs wait too long"),
    "dead_letters": _("Jobs failed"),
    "mails": _("Mails are not sent"),
    "integrity": _("The integrity check found problems"),
    "reports": _("Reports wait for an answer"),
    "appeals": _("Appeals wait for a decision"),
}
SENTENCES: Mapping[str, str | Promise] = {
    "store": _("Not in order: %(subject)s. Check that the servers of these parts run, and read their log."),
    "persistence": _("Check the free space and the permissions of the folders of these servers: %(subject)s."),
    "memory": _("Give these servers more memory, or archive old posts: %(subject)s."),
    "replication": _("Check the replicas of %(subject)s. The alert of a removed replica ends after a day."),
    "disk": _("Less than 10 percent or 1 GB is free for %(subject)s. Delete files, or use a larger disk."),
    "backup": ngettext_lazy(
        "There was no backup for %(count)s hour. Run the command backup, and check its timer.",
        "There was no backup for %(count)s hours. Run the command backup, and check its timer.",
        "count",
    ),
    "certificate": ngettext_lazy(
        "Renew the certificate of %(subject)s: browsers accept it for %(count)s more day.",
        "Renew the certificate of %(subject)s: browsers accept it for %(count)s more days.",
        "count",
    ),
    "workers": _("New posts reach no home, and no mail is sent. Start a worker with the command syndicate."),
    "queues": _("Start more workers, or read their log. Jobs of these queues are too old: %(subject)s."),
    "dead_letters": ngettext_lazy(
        "%(count)s job failed in every try. The page of failed jobs has its reason, and can retry it.",
        "%(count)s jobs failed in every try. The page of failed jobs has their reasons, and can retry them.",
        "count",
    ),
    "mails": ngettext_lazy(
        "%(count)s mail is late or failed. Check the mail server with the command check_mail.",
        "%(count)s mails are late or failed. Check the mail server with the command check_mail.",
        "count",
    ),
    "integrity": ngettext_lazy(
        "Run the command audit, which shows and repairs %(count)s problem.",
        "Run the command audit, which shows and repairs %(count)s problems.",
        "count",
    ),
    "reports": ngettext_lazy(
        "%(count)s report is open, for more than a day. Answer it on the page of reports.",
        "%(count)s reports are open, the oldest for more than a day. Answer them on the page of reports.",
        "count",
    ),
    "appeals": ngettext_lazy(
        "%(count)s appeal waits for a decision.", "%(count)s appeals wait for a decision.", "count"
    ),
}


def describe(name: str, finding: Finding) -> str:
    """Return the sentence of an alert in the active language."""
    return str(SENTENCES[name] % {"count": finding.count, "subject": finding.subject})


def title_of(event: Event) -> str:
    title = TITLES[event.name]
    return translate("Ended: %(title)s") % {"title": title} if event.kind == "end" else str(title)


def describe_event(event: Event) -> str:
    return title_of(event) if event.kind == "end" else describe(event.name, event.alert.finding)


def log_events(events: Iterable[Event]) -> None:
    for name, kind, alert, _at_ms in events:
        log.warning("alert", alert=name, state=kind, since_ms=alert.since_ms, text=describe(name, alert.finding))


def make_mail(
    kind: MailKind,
    account_id: AccountId,
    receiver: MailAccount,
    mail_id: str,
    at_ms: int,
    write_lines: Callable[[], Sequence[str]],
    write_title: Callable[[], str] = str,
) -> SendMail:
    """Return a mail in the receiver's language. The functions write its paragraphs and title in that language."""
    with override(receiver.language or settings.LANGUAGE_CODE):
        context = {"lines": "\n".join(write_lines()), "title": write_title()}
    return SendMail(account_id, mail_id, kind, receiver.address, receiver.language, at_ms, context)


async def send_now(job: SendMail) -> bool:
    """Send a mail from this process, with the host as the name of the site. Returns whether the mail server took it.

    A server that answers slowly delays the other checks by at most the time of two steps of the dialogue.
    """
    try:
        async with asyncio.timeout(2 * settings.EMAIL_TIMEOUT):
            message = build_message(job, {}, urlsplit(settings.SITE_URL).hostname or "")
            await asyncio.get_running_loop().run_in_executor(_threads, message.send)
    except (OSError, smtplib.SMTPException) as error:
        log.error("alert_not_sent", mail=job.id, reason=str(error) or type(error).__name__)
        return False
    return True
