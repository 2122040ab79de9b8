"""Mails that sum up the unread notifications of an account, daily or weekly, if the account chose them."""

from collections.abc import Sequence

from django.conf import settings
from django.utils.translation import override

from accounts.mail.repository import MailRepository
from accounts.mail.service import MailService
from accounts.mail.values import DIGEST_PERIODS_MS
from socialsite.batches import group_by
from socialsite.ids import AccountId, TimeSource
from socialsite.recipes.periodic_tasks import PeriodicTask
from socialsite.service import Part
from timelines.notifications.kinds import KINDS, NotificationKind
from timelines.notifications.notification import VisibleNotification
from timelines.notifications.service import NotificationService

DUE_INTERVAL_S = 60.0
DUE_PER_BATCH = 50
NOTIFICATIONS_PER_DIGEST = 50
NAMES_PER_LINE = 3


class DigestService(Part):
    mails: MailRepository
    mail: MailService
    notifications: NotificationService
    clock: TimeSource

    @property
    def periodic_tasks(self) -> tuple[PeriodicTask, ...]:
        return (PeriodicTask("digests", DUE_INTERVAL_S, self.send_due),)

    async def send_due(self) -> None:
        """Add the mails that are due. The id of a mail names its period, so a repetition sends no second mail.

        The next digest is scheduled first, so that an unreadable account delays no others. If the process
        crashes after that, this digest is not sent.
        """
        for account_id, due_ms in await self.mails.digests.oldest(DUE_PER_BATCH, until_ms=self.clock.now_ms()):
            row = await self.mails.find(account_id)
            period_ms = DIGEST_PERIODS_MS.get(row.digest)
            if period_ms is None or not row.address:
                await self.mails.digests.remove(account_id)
                continue
            # A period without a running worker is left out.
            missed = (self.clock.now_ms() - due_ms) // period_ms
            await self.mails.digests.add(account_id, due_ms + (missed + 1) * period_ms)
            account = await self.mail.accounts.find(account_id)
            is_active = account is not None and account.is_active  # no mail while suspended; the next stays scheduled
            lines = await self._write_lines(account_id, self.clock.now_ms() - period_ms, row.language)
            if lines and is_active:
                context, mail_id = {"lines": "\n".join(lines)}, f"{due_ms:014d}-digest"
                await self.mail.add_mail(account_id, "digest", row, context, mail_id)

    async def _write_lines(self, account_id: AccountId, since_ms: int, language: str) -> Sequence[str]:
        """Return a line for each kind of unread notifications since that time. Hidden ones do not count."""
        page = await self.notifications.page(account_id, limit=NOTIFICATIONS_PER_DIGEST)
        unread = (entry for entry in page.entries if not entry.is_read and entry.created_ms > since_ms)
        by_kind = group_by(unread, lambda entry: entry.kind)
        with override(language or settings.LANGUAGE_CODE):
            return [_write_line(kind, by_kind[kind]) for kind in KINDS.values() if kind in by_kind]


def _write_line(kind: NotificationKind, entries: Sequence[VisibleNotification]) -> str:
    """Return a line such as "Likes: 5 (@bob, @carol, …)", without the text of a post."""
    names = list(dict.fromkeys(f"@{entry.author.handle}" for entry in entries))
    listed_names = names[:NAMES_PER_LINE] + ["…"] * (len(names) > NAMES_PER_LINE)
    return f"{kind.digest_label or kind.label}: {len(entries)} ({', '.join(listed_names)})"
