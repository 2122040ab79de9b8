"""Performs the jobs of the queue `mail`: sends each mail in a thread, and stores its state.

The state is "sending" before a try and "sent" after it. If the worker dies between, the mail may have been sent; it is
sent again with the same Message-ID, so that mail programs can show it once.
"""

import asyncio
import dataclasses
import smtplib
from concurrent.futures import ThreadPoolExecutor
from typing import NoReturn

import structlog
from msgspec.structs import replace

from accounts.accounts.repository import AccountRepository
from accounts.domain import DELETED, NO_ACCOUNT_ID
from accounts.mail import values
from accounts.mail.links import confirmation_token, reset_token, unsubscribe_token
from accounts.mail.message import UNSUBSCRIBE_PATH, build_message
from accounts.mail.queue import DUE_INTERVAL_S, MAILS_AT_ONCE, MailQueue
from accounts.mail.repository import MailRepository
from accounts.mail.service import MailService
from accounts.models import Account
from socialsite.ids import AccountId, TimeSource
from socialsite.recipes.job import PermanentFailure
from socialsite.recipes.periodic_tasks import PeriodicTask
from socialsite.service import Part
from socialsite.site.service import SiteService

JOB_TIMEOUT_S = 120.0
"""Longer than a dialogue with a mail server, each step of which may take settings.EMAIL_TIMEOUT."""

log = structlog.stdlib.get_logger("accounts.mail")
_threads = ThreadPoolExecutor(max_workers=MAILS_AT_ONCE, thread_name_prefix="mail")


class MailSending(Part):
    """Performs the jobs, and moves mails to the queue when the time of their next try has come."""

    mails: MailRepository
    mail_queue: MailQueue
    mail: MailService
    accounts: AccountRepository
    site: SiteService
    clock: TimeSource

    @property
    def periodic_tasks(self) -> tuple[PeriodicTask, ...]:
        return (PeriodicTask("mails", DUE_INTERVAL_S, self.move_due),)

    async def move_due(self) -> int:
        return await self.mail_queue.move_due(self.clock.now_ms())

    async def handle(self, payload: bytes) -> tuple[bytes, ...]:
        """Perform one job. Raises PermanentFailure if it can never succeed."""
        job = values.decode_job(payload)
        if isinstance(job, values.RequestReset):
            await self._add_reset_mail(job)
            return ()
        account = await self.accounts.find(job.account_id)
        if job.kind == "digest" and (await self.mails.find(job.account_id)).digest == "off":
            await self.mails.delete_mail(job.account_id, job.id)  # the reader unsubscribed during the delay
            return ()
        if job.account_id == NO_ACCOUNT_ID or (account is not None and account.state != DELETED):
            await self._send(job, account, payload)
        return ()

    async def _add_reset_mail(self, request: values.RequestReset) -> None:
        """Add a mail with the link of a reset, if an account has the address. A repetition adds no second mail."""
        account = await self.mail.find_by_address(request.address)
        is_old = self.clock.now_ms() - request.created_ms > values.MAIL_MAX_AGE_MS
        if account is not None and account.can_reset_password and not is_old:
            receiver = await self.mail.find(AccountId(account.id))
            receiver = dataclasses.replace(receiver, language=request.language)
            await self.mail.add_mail(AccountId(account.id), "reset", receiver, mail_id=request.id)

    async def _send(self, job: values.SendMail, account: Account | None, payload: bytes) -> None:
        stored = await self.mails.find_mail(job.account_id, job.id)
        if stored is not None and stored.state == "sent":
            return
        now_ms, tries = self.clock.now_ms(), (stored.tries if stored else 0) + 1
        mail = values.SentMail(job.kind, job.address, "sending", now_ms, tries)
        if now_ms - job.created_ms > values.MAIL_MAX_AGE_MS:
            await self._fail(job, mail, "the mail is too old")
        await self.mails.store_mail(job.account_id, job.id, mail)
        try:
            message = build_message(job, self._find_facts(job, account), self.site.settings.title)
            await asyncio.get_running_loop().run_in_executor(_threads, message.send)
        except (OSError, smtplib.SMTPException) as error:
            await self._handle_failure(job, mail, payload, error)
            return
        except ValueError as error:  # a header that cannot be written
            await self._fail(job, mail, str(error), error)
        await self._store(job, mail, "sent")
        log.info("mail_sent", account=job.account_id, kind=job.kind, mail=job.id, tries=tries)

    async def _handle_failure(
        self, job: values.SendMail, mail: values.SentMail, payload: bytes, error: Exception
    ) -> None:
        """Postpone the mail. Raises PermanentFailure if a server refused it for good, or if this was the last try."""
        if refusal := find_refusal(error):
            await self._store(job, replace(mail, reason=refusal), "refused")
            raise PermanentFailure(f"refused: {refusal}") from error
        if mail.tries > len(values.RETRY_DELAYS_MS):
            await self._fail(job, mail, f"{mail.tries} tries failed, the last one with {error}", error)
        log.warning("mail_delayed", account=job.account_id, mail=job.id, tries=mail.tries, error=str(error))
        await self.mail_queue.postpone(payload, self.clock.now_ms() + values.RETRY_DELAYS_MS[mail.tries - 1])
        await self._store(job, mail, "delayed")

    async def _fail(
        self, job: values.SendMail, mail: values.SentMail, reason: str, cause: Exception | None = None
    ) -> NoReturn:
        await self._store(job, replace(mail, tries=0), "failed")
        raise PermanentFailure(reason) from cause

    async def _store(self, job: values.SendMail, mail: values.SentMail, state: values.MailState) -> None:
        await self.mails.store_mail(job.account_id, job.id, replace(mail, state=state, at_ms=self.clock.now_ms()))

    def _find_facts(self, job: values.SendMail, account: Account | None) -> dict[str, str]:
        """Return the handle and the link of the mail."""
        facts = {} if account is None else {"handle": account.handle}
        if job.kind == "confirm_address":
            facts["path"] = f"/accounts/mail/confirm/?token={confirmation_token(job.account_id, job.address)}"
        elif job.kind == "reset" and account is not None:
            facts["path"] = f"/accounts/reset/confirm/?token={reset_token(account, job.address)}"
        elif job.kind == "digest":
            facts["unsubscribe"] = f"{UNSUBSCRIBE_PATH}?token={unsubscribe_token(job.account_id)}"
        return facts


def find_refusal(error: Exception) -> str | None:
    """Return the answer of a mail server that refused the recipient or the mail for good (5xx), else None."""
    answer: bytes | str
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        code, answer = next(iter(error.recipients.values()))
    elif isinstance(error, smtplib.SMTPSenderRefused | smtplib.SMTPDataError):
        code, answer = error.smtp_code, error.smtp_error
    else:
        return None
    words = answer.decode(errors="replace") if isinstance(answer, bytes) else answer
    plain = "".join(character if character.isprintable() else " " for character in words)
    return f"{code} {plain}"[: values.REASON_MAX_LENGTH] if 500 <= code < 600 else None
