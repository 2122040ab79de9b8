"""The sanctions of an account as its owner sees them, and appeals. Staff decides in socialsite/admin/sanctions.py."""

import structlog
from django.utils.translation import gettext as _
from msgspec.structs import replace

from accounts.errors import AppealNotPossible, FieldErrors, SanctionNotFound
from accounts.sanctions.repository import SanctionRepository
from accounts.sanctions.sanction import (
    APPEAL_MAX_LENGTH,
    APPEAL_MIN_LENGTH,
    COMPLETION_DELAY_MS,
    Appeal,
    Sanction,
    SanctionId,
)
from socialsite.characters import normalize
from socialsite.ids import AccountId, TimeSource
from socialsite.limits import ActionLimits, Caller
from socialsite.service import Service

log = structlog.get_logger("accounts.security")


class SanctionRecords(Service):
    """Reads the sanctions of an account, and stores its appeals."""

    sanctions: SanctionRepository
    limits: ActionLimits
    clock: TimeSource

    async def open_all(self, account_id: AccountId) -> list[Sanction]:
        """Return the sanctions that the owner may read, newest first, and remove the notice about them.

        The notice is removed first, so that a sanction which is stored meanwhile has a notice again.
        """
        await self.sanctions.mark_read(account_id)
        return [each for each in await self.sanctions.list_all(account_id) if each.is_told]

    async def appeal(self, account_id: AccountId, id: SanctionId, text: str, caller: Caller | None = None) -> Sanction:
        """Store the appeal of a sanction, and add it to the queue of staff. An equal repetition changes nothing.

        The sanction is scheduled first: a worker adds the appeal to the queue if this process dies.
        Raises SanctionNotFound, AppealNotPossible, FieldErrors, RateLimited.
        """
        text, now_ms = normalize("NFC", text.strip()[: 2 * APPEAL_MAX_LENGTH]), self.clock.now_ms()
        if not APPEAL_MIN_LENGTH <= len(text) <= APPEAL_MAX_LENGTH:
            message = _("An appeal has %(lowest)d to %(highest)d characters.")
            raise FieldErrors({"text": message % {"lowest": APPEAL_MIN_LENGTH, "highest": APPEAL_MAX_LENGTH}})

        def add_appeal(sanction: Sanction) -> Sanction:
            if not sanction.is_told:
                raise SanctionNotFound
            if sanction.appeal is not None and sanction.appeal.text == text:
                return sanction
            if not sanction.is_appealable(now_ms):
                raise AppealNotPossible
            return replace(sanction, appeal=Appeal(text, now_ms))

        async with self.limits.refundable(caller, "appeal"):
            add_appeal(await self.sanctions.find(account_id, id))  # checked before anything is written
            await self.limits.enforce_bytes("appeals", account_id, len(text.encode()))
            await self.sanctions.due.add((account_id, id), now_ms + COMPLETION_DELAY_MS)
            sanction = await self.sanctions.change(account_id, id, add_appeal)
            if sanction.appeal is not None and sanction.is_appeal_open:
                await self.sanctions.appeals.add((account_id, id), sanction.appeal.at_ms)
        log.info("appealed", account=account_id, sanction=id)
        return sanction
