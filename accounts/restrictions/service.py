"""Restrictions that staff puts on an account. Each is written durably, and in force from the next read on."""

from dataclasses import dataclass
from typing import Final

import structlog

from accounts.accounts.repository import AccountRepository
from accounts.domain import LIMITED, MARKS_PICTURES
from socialsite.ids import AccountId

RESTRICTIONS_FIELD: Final = "restrictions"
SILENCE_FIELD: Final = "silenced_until_ms"

log = structlog.get_logger("accounts.security")


@dataclass(kw_only=True, slots=True)
class RestrictionService:
    """Changes restrictions. Each method returns whether the account changed, and raises AccountNotFound.

    Limited: only followers see the posts, and only followers are notified of the account. Silenced: the account may
    not write until a time. Marked pictures: its pictures are shown as sensitive.
    """

    accounts: AccountRepository

    async def limit(self, account_id: AccountId, *, is_limited: bool = True) -> bool:
        return await self._set("limited" if is_limited else "unlimited", account_id, LIMITED, is_limited)

    async def silence(self, account_id: AccountId, until_ms: int) -> bool:
        """Let the account not write until the time, or write again if it is 0. It ends by itself."""
        changed = await self.accounts.set_restriction(account_id, SILENCE_FIELD, 0, until_ms)
        log.info("silenced", account=account_id, until_ms=until_ms)
        return changed

    async def mark_pictures(self, account_id: AccountId, *, are_marked: bool = True) -> bool:
        event = "pictures_marked" if are_marked else "pictures_unmarked"
        return await self._set(event, account_id, MARKS_PICTURES, are_marked)

    async def _set(self, event: str, account_id: AccountId, bit: int, is_set: bool) -> bool:
        changed = await self.accounts.set_restriction(account_id, RESTRICTIONS_FIELD, bit, int(is_set))
        log.info(event, account=account_id)
        return changed
