"""Gives and takes the roles of staff. The list of staff is the source, and each account has a copy of its role.

One script changes the list, so that two owners who remove each other at the same time leave one owner. The copy of a
higher role is written before the list, so that a crash leaves no listed owner without rights.
"""

from contextlib import suppress

import structlog

from accounts.accounts.repository import AccountRepository
from accounts.errors import AccountNotFound, LastOwner, StaffCapReached
from accounts.models import Account
from accounts.roles import OWNER, ROLES, Role, rank
from socialsite.ids import AccountId
from socialsite.service import Service

MAX_COMPARISONS = 10
"""The maximum number of comparisons of the list and the copy while other requests change the role."""

log = structlog.get_logger("accounts.security")


class StaffService(Service):
    accounts: AccountRepository

    async def set_role(self, account_id: AccountId, role: Role) -> bool:
        """Give an account a role, or take it with "". Returns whether the role changed.

        Raises AccountNotFound if the account is deleted, or if a suspended account would get a role. Raises LastOwner
        and StaffCapReached.
        """
        account = await self._require(account_id, role)
        if rank(role) > rank(account.role):
            await self._copy(account_id, role)
        try:
            try:
                result = await self.accounts.set_staff_role(account_id, account.role, role)
            finally:
                await self._sync_copy(account_id, account.role)
            await self._require(account_id, role)
        except AccountNotFound:  # a concurrent suspension or deletion has taken the role before
            await self.release_hidden(account_id)
            raise
        if result < 0:
            raise LastOwner if result == -1 else StaffCapReached
        log.info("role_changed", account=account_id, role=role, former=account.role)
        return result == 1

    async def release(self, account: Account) -> None:
        """Take the role of an account that is suspended or deleted. Raises LastOwner."""
        if account.role:
            await self.set_role(AccountId(account.id), "")

    async def release_hidden(self, account_id: AccountId) -> None:
        """Take a role that was given while the account was being suspended or deleted."""
        if await self.accounts.staff_role(account_id):
            await self.accounts.set_staff_role(account_id, "", "")
            with suppress(AccountNotFound):  # a deleted account has no copy
                await self._sync_copy(account_id, "")

    async def list_roles(self) -> dict[AccountId, Role]:
        """Return the staff by account id, the highest role first."""
        roles = sorted((await self.accounts.staff_roles()).items())
        return {id: role for role in reversed(ROLES) for id, listed in roles if listed == role}

    async def has_owner(self) -> bool:
        return OWNER in (await self.list_roles()).values()

    async def has_listed_role(self, account: Account) -> bool:
        """Return whether the list agrees with the copy of the role. If not, a crash left the copy, which is corrected.

        An owner of a release without a list is added to it.
        """
        account_id = AccountId(account.id)
        listed = await self.accounts.staff_role(account_id)
        if listed is None and account.role == OWNER:
            await self.accounts.add_owner(account_id)
        elif listed != account.role:
            await self._sync_copy(account_id, "")
            return False
        return True

    async def _require(self, account_id: AccountId, role: Role) -> Account:
        account = await self.accounts.find(account_id)
        if account is None or account.state == "deleted" or (role and not account.is_active):
            raise AccountNotFound
        return account

    async def _copy(self, account_id: AccountId, role: str) -> None:
        await self.accounts.edit(account_id, {"role": role, "staff": "1" if role else "0"})

    async def _sync_copy(self, account_id: AccountId, unlisted_role: str) -> None:
        for _attempt in range(MAX_COMPARISONS):
            role = (await self.accounts.staff_roles()).get(account_id, unlisted_role)
            await self._copy(account_id, role)
            if (await self.accounts.staff_roles()).get(account_id, unlisted_role) == role:
                return
