"""Finds accounts and their authors."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from accounts.accounts.repository import AccountRepository
from accounts.accounts.validation import InvalidHandle, normalize_handle
from accounts.domain import DELETED, Author
from accounts.errors import AccountNotFound
from accounts.models import Account
from socialsite.ids import AccountId
from socialsite.store.read import Read


@dataclass(kw_only=True, slots=True)
class AccountLookup:
    """Finds accounts. The base of AccountService, which changes them."""

    accounts: AccountRepository

    async def find(self, account_id: AccountId) -> Account | None:
        """Return the account in any state."""
        return await self.accounts.find(account_id)

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

    async def count(self) -> int:
        """Return the number of accounts that were ever created."""
        return await self.accounts.last_id()

    def cached_id(self, handle: str) -> AccountId | None:
        """Return the account id that this process has cached for the handle. It is rarely outdated."""
        return self.accounts.cached_id(handle)

    async def find_ids_by_handle(self, handles: Iterable[str]) -> dict[str, AccountId]:
        """Return the account id of each normalized handle. It includes former handles and suspended accounts."""
        return await self.accounts.find_cached_ids(handles)

    async def get_undeleted_by_handle(self, handle: str) -> Account:
        """Return an active or suspended account, for example to unfollow it. Raises AccountNotFound."""
        return _require_undeleted(await _find_normalized(self.accounts.find_by_cached_handle, handle))

    def read_many(self, ids: Iterable[AccountId]) -> Read[dict[AccountId, Account]]:
        """Return a `Read` of the accounts that exist, in any state, by id."""
        return self.accounts.read_many(ids)

    async def find_authors(self, ids: Iterable[AccountId]) -> dict[AccountId, Author]:
        """Return the authors of the accounts that exist, in any state, by id."""
        return await self.accounts.find_authors(ids)

    async def find_shown_authors(self, ids: Iterable[AccountId]) -> dict[AccountId, Author]:
        """Return the authors like `find_authors`, for a page: without accounts whose key has a wrong type."""
        return await self.accounts.find_shown_authors(ids)

    def read_account(self, account_id: AccountId) -> Read[Account | None]:
        """Return the `Read` that `find` executes."""
        return self.accounts.read_account(account_id)

    def read_authors(self, ids: Iterable[AccountId]) -> Read[dict[AccountId, Author]]:
        """Return the read that `find_authors` executes."""
        return self.accounts.read_authors(ids)

    def read_undiscoverable(self, ids: Iterable[AccountId]) -> Read[set[AccountId]]:
        """Return the read of those accounts that chose not to be suggested or found."""
        return self.accounts.read_undiscoverable(ids)


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
