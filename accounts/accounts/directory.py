"""Finding accounts: by id, by handle, one or many, whole or as the authors that pages show."""

from collections.abc import Awaitable, Callable, Iterable

from accounts import handles
from accounts.accounts.repository import AccountRepository
from accounts.domain import DELETED, Author
from accounts.errors import AccountNotFound
from accounts.models import Account
from socialsite.ids import AccountId
from socialsite.store.read import Read


class AccountDirectory:
    """Reads only."""

    def __init__(self, accounts: AccountRepository) -> None:
        self._accounts = accounts

    async def find(self, account_id: AccountId) -> Account | None:
        """In any state."""
        return await self._accounts.find(account_id)

    async def get(self, account_id: AccountId) -> Account:
        """In any state. Raises AccountNotFound."""
        account = await self._accounts.find(account_id)
        if account is None:
            raise AccountNotFound
        return account

    async def find_by_handle(self, handle: str) -> Account | None:
        """In any state."""
        return await find_normalized(self._accounts.find_by_handle, handle)

    async def get_by_handle(self, handle: str) -> Account:
        """Raises AccountNotFound for absent, suspended and deleted ones alike."""
        account = await find_normalized(self._accounts.find_by_cached_handle, handle)
        if account is None or not account.is_active:
            raise AccountNotFound
        return account

    def cached_id(self, handle: str) -> AccountId | None:
        """Whose the handle was when this process last looked: nearly sure, and not asked."""
        return self._accounts.cached_id(handle)

    async def get_undeleted_by_handle(self, handle: str) -> Account:
        """As get_by_handle, but a suspended account is found, too: whoever is tied to it may undo that."""
        account = await find_normalized(self._accounts.find_by_cached_handle, handle)
        if account is None or account.state == DELETED:
            raise AccountNotFound
        return account

    async def find_many(self, ids: Iterable[AccountId]) -> dict[AccountId, Account]:
        """In any state; absent ones are left out."""
        return await self._accounts.find_many(ids)

    def read_account(self, account_id: AccountId) -> Read[Account | None]:
        """`find`, for a round trip that asks other things too."""
        return self._accounts.read_account(account_id)

    def read_authors(self, ids: Iterable[AccountId]) -> Read[dict[AccountId, Author]]:
        """`authors`, for a round trip that asks other things too."""
        return self._accounts.read_authors(ids)

    async def find_authors(self, ids: Iterable[AccountId]) -> dict[AccountId, Author]:
        """What pages show of these accounts, in any state; absent ones are left out."""
        return await self._accounts.find_authors(ids)


async def find_normalized(find: Callable[[str], Awaitable[Account | None]], handle: str) -> Account | None:
    """What `find` says of a handle, however it is written; None, too, where no handle is written so."""
    try:
        return await find(handles.normalize_handle(handle))
    except handles.InvalidHandle:
        return None
