"""Finds accounts and their authors."""

from collections.abc import Awaitable, Callable

from accounts.accounts.repository import AccountRepository
from accounts.accounts.validation import InvalidHandle, normalize_handle
from accounts.domain import DELETED
from accounts.errors import AccountNotFound
from accounts.models import Account
from socialsite.ids import AccountId
from socialsite.service import Part


class AccountLookup(Part):
    """Finds accounts. The base of AccountService, which changes them."""

    accounts: AccountRepository

    def __post_init__(self) -> None:
        """Use the methods of the repository where a service has nothing to add."""
        accounts = self.accounts
        self.count, self.find, self.read_account = accounts.last_id, accounts.find, accounts.read_account
        self.find_authors, self.read_authors = accounts.find_authors, accounts.read_authors
        self.find_shown_authors, self.read_many = accounts.find_shown_authors, accounts.read_many
        self.read_undiscoverable, self.read_preferences = accounts.read_undiscoverable, accounts.read_preferences
        self.cached_id, self.find_ids_by_handle = accounts.cached_id, accounts.find_cached_ids

    async def get(self, account_id: AccountId) -> Account:
        """Return the account in any state. Raises AccountNotFound."""
        account = await self.accounts.find(account_id)
        if account is None:
            raise AccountNotFound
        return account

    async def find_by_handle(self, handle: str) -> Account | None:
        """Return the account in any state.

        It is slower than `get_by_handle`, because its time does not depend on the handle.
        """
        return await _find_normalized(self.accounts.find_by_handle, handle)

    async def get_by_handle(self, handle: str) -> Account:
        """Return the active account. Raises AccountNotFound if it is absent, suspended or deleted."""
        return _require_active(await _find_normalized(self.accounts.find_by_cached_handle, handle))

    async def get_active(self, account_id: AccountId) -> Account:
        """Return the account. Raises AccountNotFound if it is absent, suspended or deleted."""
        return _require_active(await self.find(account_id))

    async def get_undeleted(self, account_id: AccountId) -> Account:
        """Return an active or suspended account. Raises AccountNotFound."""
        return _require_undeleted(await self.find(account_id))

    async def get_undeleted_by_handle(self, handle: str) -> Account:
        """Return an active or suspended account, for example to unfollow it. Raises AccountNotFound."""
        return _require_undeleted(await _find_normalized(self.accounts.find_by_cached_handle, handle))


async def _find_normalized(find: Callable[[str], Awaitable[Account | None]], handle: str) -> Account | None:
    """Call `find` with the normalized handle. Returns None if the text is not a handle."""
    try:
        return await find(normalize_handle(handle))
    except InvalidHandle:
        return None


def _require_active(account: Account | None) -> Account:
    if account is None or not account.is_active:
        raise AccountNotFound
    return account


def _require_undeleted(account: Account | None) -> Account:
    if account is None or account.state == DELETED:
        raise AccountNotFound
    return account
