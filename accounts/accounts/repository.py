"""Accounts and their handles. An account changes only by scripts on its own key, a handle is claimed once."""

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from accounts import keys
from accounts.accounts.stored_values import (
    create_account_command,
    decode_account,
    decode_author,
    encode_author_command,
    flatten_fields,
    read_account_command,
    read_author_command,
)
from accounts.domain import AccountState, Author
from accounts.errors import AccountNotFound
from accounts.models import Account
from socialsite.ids import AccountId
from socialsite.store.commands import Command, Reply, Script, load_script
from socialsite.store.encoding import EncodedPipeline
from socialsite.store.read import Read
from socialsite.store.store import Store

EDIT_PROFILE_SCRIPT = load_script("edit_profile.lua", __package__)
CHANGE_STATE_SCRIPT = load_script("change_state.lua", __package__)
SET_PASSWORD_SCRIPT = load_script("set_password.lua", __package__)

NO_ACCOUNT_ID = AccountId(0)
"""Never given out: INCR starts at 1."""
CACHED_HANDLES_MAX = 50_000  # handles whose accounts a process remembers: about 7 MB when full


class AccountRepository:
    def __init__(self, store: Store) -> None:
        self._accounts = store.component("accounts")
        self._ids_by_handle: dict[str, AccountId] = {}

    async def create(self, account: Account) -> Account | None:
        """Store a new account and claim its handle; None when the handle is somebody's.

        The account is whole before its handle leads to it. Without an answer to the claim nothing is taken
        back: it may have succeeded, and an account without a handle is out of everybody's reach.
        """
        await self._write_with_new_ids([account])
        handle = keys.handle(account.handle)
        if await self._accounts[handle].execute("SET", handle, account.id, "NX") is not None:
            return account
        unclaimed = keys.account(AccountId(account.id))
        await self._accounts[unclaimed].execute("DEL", unclaimed)
        return None

    async def create_many(self, accounts: Sequence[Account]) -> dict[str, AccountId]:
        """Whose each handle is afterwards. As `create`, for many at once: four round trips a node in all."""
        handles = [keys.handle(account.handle) for account in accounts]
        await self._write_with_new_ids(accounts)
        claims = zip(handles, accounts, strict=True)
        won = await self.gather([("SET", key, account.id, "NX") for key, account in claims])
        lost = [account for account, reply in zip(accounts, won, strict=True) if reply is None]
        await self.gather([("DEL", keys.account(AccountId(account.id))) for account in lost])
        return await self.find_ids_by_handle([account.handle for account in accounts])

    async def find_ids_by_handle(self, handles: Iterable[str]) -> dict[str, AccountId]:
        """The ids of the accounts that have or had these handles; free ones are left out."""
        asked = list(handles)
        replies = await self.gather([("GET", keys.handle(handle)) for handle in asked])
        found = zip(asked, replies, strict=True)
        return {handle: AccountId(int(reply)) for handle, reply in found if reply is not None}

    async def is_handle_claimed(self, handle: str) -> bool:
        """Whether an account has or had this handle."""
        key = keys.handle(handle)
        return bool(await self._accounts[key].execute("EXISTS", key))

    async def find_by_handle(self, handle: str) -> Account | None:
        """Two round trips whether or not the handle is anybody's, so that the time tells nothing."""
        key = keys.handle(handle)
        found = await self._accounts[key].execute("GET", key)
        return await self.find(AccountId(int(found)) if found is not None else NO_ACCOUNT_ID)

    async def find_by_cached_handle(self, handle: str) -> Account | None:
        """As `find_by_handle`, in one round trip where this process knows the handle: none is given twice.

        The account is read each time. Not for checking passwords: the time tells whether anybody looked for
        the handle here before.
        """
        known = self._ids_by_handle.get(handle)
        account = None if known is None else await self.find(known)
        if account is None or account.handle != handle:  # another site was restored here meanwhile
            account = await self.find_by_handle(handle)
            if account is not None:
                self._cache_id(handle, AccountId(account.id))
        return account

    def cached_id(self, handle: str) -> AccountId | None:
        """Whose this process knows the handle to be: nearly sure, and not asked."""
        return self._ids_by_handle.get(handle)

    async def find(self, account_id: AccountId) -> Account | None:
        question = self.read_account(account_id)
        return question.parse(await self._accounts.gather(question.commands))

    def read_account(self, account_id: AccountId) -> Read[Account | None]:
        """`find`, for a round trip that asks other things too."""
        return Read([read_account_command(account_id)], lambda replies: self.parse_account(account_id, replies[0]))

    async def find_many(self, account_ids: Iterable[AccountId]) -> dict[AccountId, Account]:
        """Accounts by id, in one round trip a node; absent ones are left out."""
        ids = list(dict.fromkeys(account_ids))
        replies = await self._accounts.gather([self.read_account_command(account_id) for account_id in ids])
        found = ((i, self.parse_account(i, reply)) for i, reply in zip(ids, replies, strict=True))
        return {account_id: account for account_id, account in found if account is not None}

    async def find_authors(self, account_ids: Iterable[AccountId]) -> dict[AccountId, Author]:
        """What pages show of these accounts, in one round trip a node; absent ones are left out."""
        question = self.read_authors(account_ids)
        return question.parse(await self._accounts.gather(question.commands))

    def read_authors(self, account_ids: Iterable[AccountId]) -> Read[dict[AccountId, Author]]:
        """`authors`, for a round trip that asks other things too."""
        ids = list(account_ids)

        def understand(replies: Sequence[Reply]) -> dict[AccountId, Author]:
            authors = map(decode_author, ids, *zip(*replies, strict=True))  # a loop of C alone
            found = dict(zip(ids, authors, strict=True))
            if None in found.values():
                found = {id: author for id, author in found.items() if author is not None}
            return cast("dict[AccountId, Author]", found)

        wire = b"".join(map(encode_author_command, ids))
        return Read(EncodedPipeline(wire, len(ids), lambda: list(map(read_author_command, ids))), understand)

    async def edit(self, account_id: AccountId, fields: Mapping[str, str]) -> bool:
        """Whether any of the fields changed. Raises AccountNotFound, also for a deleted account."""
        return _parse_changed(await self._run_script(EDIT_PROFILE_SCRIPT, account_id, *flatten_fields(fields)))

    async def change_state(self, account_id: AccountId, state: AccountState, fields: Mapping[str, str]) -> bool:
        """Whether the state changed, `fields` with it. Raises AccountNotFound, also for leaving "deleted"."""
        key = keys.account(account_id)
        command = CHANGE_STATE_SCRIPT.command([key], [state, *flatten_fields(fields)])
        (reply,) = await self._accounts.write(key, command)  # a replica must not bring back who was suspended
        return _parse_changed(reply)

    async def set_password(self, account_id: AccountId, encoded: str, *, expected_hash: str = "") -> bool:
        """Whether the hash was stored: not when `expected_hash` is given and another stands there by now."""
        return _parse_changed(await self._run_script(SET_PASSWORD_SCRIPT, account_id, encoded, expected_hash))

    async def gather(self, commands: Sequence[Command]) -> list[Reply]:
        """Commands of the repositories on any keys, one round trip a node."""
        return await self._accounts.gather(commands)

    async def last_id(self) -> int:
        """The highest id given out; walks over all accounts end there."""
        key = keys.account_ids()
        return int(await self._accounts[key].execute("GET", key) or 0)

    def read_account_command(self, account_id: AccountId) -> Command:
        """For a pipeline; `account_of` reads its reply."""
        return read_account_command(account_id)

    def parse_account(self, account_id: AccountId, reply: Reply) -> Account | None:
        return None if reply[0] is None else decode_account(account_id, *reply).copy()

    def _cache_id(self, handle: str, account_id: AccountId) -> None:
        if len(self._ids_by_handle) >= CACHED_HANDLES_MAX:
            self._ids_by_handle.clear()
        self._ids_by_handle[handle] = account_id

    async def _write_with_new_ids(self, accounts: Sequence[Account]) -> None:
        counter, unwritten = keys.account_ids(), list(accounts)
        while unwritten:
            last = int(await self._accounts[counter].execute("INCRBY", counter, len(unwritten)))
            for account_id, account in enumerate(unwritten, last - len(unwritten) + 1):
                account.id = account_id
            replies = await self.gather([create_account_command(account) for account in unwritten])
            unwritten = [account for account, new in zip(unwritten, replies, strict=True) if not new]

    async def _run_script(self, script: Script, account_id: AccountId, *args: str) -> int:
        key = keys.account(account_id)
        reply: int = await self._accounts[key].run(script, [key], args)
        return reply


def _parse_changed(reply: int) -> bool:
    if reply < 0:
        raise AccountNotFound
    return reply == 1
