"""Checks the site, sends staff a mail or push message when an alert begins or ends, and a daily summary."""

import platform
from collections.abc import Sequence
from typing import NamedTuple

import structlog
from django.conf import settings
from django.utils.translation import override
from msgspec.structs import replace

from accounts.domain import NO_ACCOUNT_ID, Preferences
from accounts.mail.repository import MailAccount
from accounts.mail.values import SendMail
from accounts.roles import RIGHTS_BY_ROLE
from socialsite.alerts.board import AlertRepository, Board, Event
from socialsite.alerts.checks import Check, run_checks
from socialsite.alerts.messages import describe_event, log_events, make_mail, send_now, title_of
from socialsite.alerts.summary import read_summary
from socialsite.clock import DAY_MS
from socialsite.concurrency import run_together
from socialsite.container import Services
from socialsite.ids import AccountId
from socialsite.outgoing.requests import OutgoingFailed
from socialsite.recipes.job import RetryLater
from socialsite.store import StoreError
from timelines.push.service import PushText, encode_job

SUMMARY_MS = 6 * 3_600_000
"""The time of the daily summary, in ms after midnight (UTC)."""
MAILS_PER_DAY = 200
PUSH_LENGTH = 1_000
"""Maximum number of characters of a notification, since push services accept 4 kB."""
ALERTS_PATH = "/ops/alerts/"
MESSAGE_QUEUES = frozenset({"mail", "push"})
log = structlog.stdlib.get_logger("socialsite.alerts")


class Operator(NamedTuple):
    """An account that may see alerts, or an address of ALERT_MAIL, whose id is NO_ACCOUNT_ID."""

    account_id: AccountId
    mail: MailAccount
    chosen: Preferences


class AlertService:
    def __init__(self, services: Services, machine: str = "") -> None:
        """`machine` is the name of this machine in alerts, by default its host name."""
        self._services = services
        self._machine = machine or platform.node()
        self._alerts = AlertRepository(services.store)

    async def check(self) -> None:
        """Make all checks once. A crash between the messages and the new state repeats messages with the same ids."""
        now_ms = self._services.clock.now_ms()
        former = await self._alerts.load()
        results, replicas = await run_checks(Check(self._services, former, now_ms, self._machine))
        board, events = former.advance(results, now_ms)
        if events:
            late = results.get("queues")
            is_stuck = late is not None and not MESSAGE_QUEUES.isdisjoint(late.subject.split(", "))
            await self._tell(events, has_workers=results.get("workers") is None and not is_stuck)
        board = replace(board, replicas=replicas)
        await self._alerts.save(board)
        if (day_ms := (now_ms - SUMMARY_MS) // DAY_MS * DAY_MS) != former.summary_ms:
            try:
                await self._send_summary(board, day_ms)
            except (StoreError, OSError) as error:  # the next check tries it again
                log.warning("summary_not_sent", reason=type(error).__name__)
            else:
                await self._alerts.save(replace(board, summary_ms=day_ms))

    async def _tell(self, events: Sequence[Event], *, has_workers: bool) -> None:
        """Tell the operators, at the same time. If no worker sends the messages, this process does."""
        log_events(events)
        operators = (*operator_addresses(), *await self._find_staff())
        await run_together(*(self._tell_one(each, events, has_workers=has_workers) for each in operators))

    async def _tell_one(self, operator: Operator, events: Sequence[Event], *, has_workers: bool) -> None:
        choice = operator.chosen.alerts
        is_pushed = choice == "push" and await self._push(operator.account_id, events, has_workers=has_workers)
        if choice != "none" and not is_pushed and operator.mail.address:
            job = make_alert_mail(operator, events)
            if has_workers or not await send_now(job):
                await self._queue(job)

    async def _send_summary(self, board: Board, day_ms: int) -> None:
        operators = [each for each in await self._find_staff() if each.chosen.gets_summary and each.mail.address]
        write_lines = await read_summary(self._services, board) if operators else list
        for each in operators:
            mail = make_mail("summary", each.account_id, each.mail, f"{day_ms:014d}-summary", day_ms, write_lines)
            await self._queue(mail)

    async def _find_staff(self) -> list[Operator]:
        """Return the staff with the right to operate, or [] if the store of the accounts does not answer."""
        services = self._services
        try:
            roles = await services.staff.list_roles()
            ids = [id for id, role in roles.items() if "operations" in RIGHTS_BY_ROLE[role]]
            (accounts,) = await services.store.read(services.accounts.read_many(ids))
            return [Operator(id, await services.mail.find(id), accounts[id].preferences) for id in accounts]
        except StoreError:
            return []

    async def _queue(self, job: SendMail) -> None:
        """Add the mail to the queue, or send it now if the queue does not answer."""
        try:
            await self._services.mail.add_job(job, per_day=MAILS_PER_DAY)
        except StoreError:
            await send_now(job)

    async def _push(self, account_id: AccountId, events: Sequence[Event], *, has_workers: bool) -> bool:
        """Send a message to each browser of the account. Apps do not know this kind of message.

        Returns whether there is a browser.
        """
        try:
            devices = await self._services.repositories.push_subscriptions.find_all(account_id)
            jobs = []
            for session_id, device in devices.items():
                if not device.sealed_token:
                    with override(device.locale):
                        title, body = title_of(events[0]), "\n".join(map(describe_event, events))[:PUSH_LENGTH]
                    text = PushText(account_id, session_id, events[0].at_ms, title, body, ALERTS_PATH)
                    jobs.append(encode_job(text))
            are_sent = [False] * len(jobs) if has_workers else await run_together(*map(self._push_now, jobs))
            for job, is_sent in zip(jobs, are_sent, strict=True):
                if not is_sent:
                    await self._services.push_queue.add(job, sender=account_id)
        except StoreError as error:
            log.warning("alert_not_pushed", account=account_id, reason=type(error).__name__)
            return False
        return bool(jobs)

    async def _push_now(self, job: bytes) -> bool:
        """Send a message from this process. Returns whether a worker need not try it again."""
        try:
            await self._services.push_sending.handle(job)
        except (OutgoingFailed, RetryLater):
            return False
        return True


def operator_addresses() -> list[Operator]:
    return [Operator(NO_ACCOUNT_ID, MailAccount(address), Preferences()) for address in settings.ALERT_MAIL]


def make_alert_mail(operator: Operator, events: Sequence[Event]) -> SendMail:
    mail_id = "-".join([f"{events[0].at_ms:014d}", *(f"{each.name}.{each.kind}" for each in events)])
    return make_mail(
        "alert", operator.account_id, operator.mail, mail_id, events[0].at_ms,
        lambda: [describe_event(each) for each in events], lambda: title_of(events[0]),
    )  # fmt: skip
