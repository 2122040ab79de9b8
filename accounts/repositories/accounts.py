"""Accounts and their handles. An account changes only by scripts on its own key, a handle is claimed once."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final

from accounts import keys
from accounts.domain import ACTIVE, AccountId, Author, State
from accounts.errors import AccountNotFound
from accounts.models import Account
from socialsite.store.batches import Encoded
from socialsite.store.node import Reply
from socialsite.store.question import Question
from socialsite.store.scripts import Command, Prepared, Script, load, prepared
from socialsite.store.store import Store

CREATE = load("create_account.lua", __package__)
EDIT = load("edit_profile.lua", __package__)
CHANGE_STATE = load("change_state.lua", __package__)
SET_PASSWORD = load("set_password.lua", __package__)

FIELDS: Final = (
    "handle",
    "display_name",
    "bio",
    "link",
    "password",
    "created_ms",
    "state",
    "staff",
    "version",
    "private",
)
AUTHOR_FIELDS: Final = ("handle", "display_name", "state", "version", "private")
STATES: Final[Mapping[bytes, State]] = {b"active": "active", b"suspended": "suspended", b"deleted": "deleted"}
NOBODY = AccountId(0)
"""Never given out: INCR starts at 1."""


class AccountRepository:
    def __init__(self, store: Store) -> None:
        self._accounts = store.component("accounts")

    async def create(self, account: Account) -> Account | None:
        """Store a new account and claim its handle; None when the handle is somebody's.

        The account is whole before its handle leads to it. Without an answer to the claim nothing is taken
        back: it may have succeeded, and an account without a handle is out of everybody's reach.
        """
        await self._write_under_new_ids([account])
        handle = keys.handle(account.handle)
        if await self._accounts[handle].execute("SET", handle, account.id, "NX") is not None:
            return account
        unclaimed = keys.account(AccountId(account.id))
        await self._accounts[unclaimed].execute("DEL", unclaimed)
        return None

    async def create_many(self, accounts: Sequence[Account]) -> dict[str, AccountId]:
        """Whose each handle is afterwards. As `create`, for many at once: four round trips a node in all."""
        handles = [keys.handle(account.handle) for account in accounts]
        await self._write_under_new_ids(accounts)
        claims = zip(handles, accounts, strict=True)
        won = await self.gather([("SET", key, account.id, "NX") for key, account in claims])
        lost = [account for account, reply in zip(accounts, won, strict=True) if reply is None]
        await self.gather([("DEL", keys.account(AccountId(account.id))) for account in lost])
        return await self.owners([account.handle for account in accounts])

    async def owners(self, handles: Iterable[str]) -> dict[str, AccountId]:
        """The ids of the accounts that have or had these handles; free ones are left out."""
        asked = list(handles)
        replies = await self.gather([("GET", keys.handle(handle)) for handle in asked])
        found = zip(asked, replies, strict=True)
        return {handle: AccountId(int(reply)) for handle, reply in found if reply is not None}

    async def is_claimed(self, handle: str) -> bool:
        """Whether an account has or had this handle."""
        key = keys.handle(handle)
        return bool(await self._accounts[key].execute("EXISTS", key))

    async def find_by_handle(self, handle: str) -> Account | None:
        """Two round trips whether or not the handle is anybody's, so that the time tells nothing."""
        key = keys.handle(handle)
        found = await self._accounts[key].execute("GET", key)
        return await self.find(AccountId(int(found)) if found is not None else NOBODY)

    async def find(self, account_id: AccountId) -> Account | None:
        command = self.read_command(account_id)
        (reply,) = await self._accounts.gather([command])
        return self.account_of(account_id, reply)

    async def find_many(self, account_ids: Iterable[AccountId]) -> dict[AccountId, Account]:
        """Accounts by id, in one round trip a node; absent ones are left out."""
        ids = list(dict.fromkeys(account_ids))
        replies = await self._accounts.gather([self.read_command(account_id) for account_id in ids])
        found = ((i, self.account_of(i, reply)) for i, reply in zip(ids, replies, strict=True))
        return {account_id: account for account_id, account in found if account is not None}

    async def authors(self, account_ids: Iterable[AccountId]) -> dict[AccountId, Author]:
        """What pages show of these accounts, in one round trip a node; absent ones are left out."""
        question = self.authors_question(account_ids)
        return question.understand(await self._accounts.gather(question.commands))

    def authors_question(self, account_ids: Iterable[AccountId]) -> Question[dict[AccountId, Author]]:
        """`authors`, for a round trip that asks other things too."""
        ids = list(dict.fromkeys(account_ids))

        def understand(replies: Sequence[Reply]) -> dict[AccountId, Author]:
            authors = map(_author, ids, *zip(*replies, strict=True))  # a loop of C alone
            return {author.id: author for author in authors if author is not None}

        wire = b"".join(map(_author_wire, ids))
        return Question(Encoded(wire, len(ids), lambda: list(map(_author_command, ids))), understand)

    async def edit(self, account_id: AccountId, fields: Mapping[str, str]) -> bool:
        """Whether any of the fields changed. Raises AccountNotFound, also for a deleted account."""
        return _changed(await self._run(EDIT, account_id, *_flat(fields)))

    async def change_state(self, account_id: AccountId, state: State, fields: Mapping[str, str]) -> bool:
        """Whether the state changed, `fields` with it. Raises AccountNotFound, also for leaving "deleted"."""
        key = keys.account(account_id)
        command = CHANGE_STATE.command([key], [state, *_flat(fields)])
        (reply,) = await self._accounts.write(key, command)  # a replica must not bring back who was suspended
        return _changed(reply)

    async def set_password(self, account_id: AccountId, encoded: str, *, replaces: str = "") -> bool:
        """Whether the hash was stored: not when `replaces` is given and another stands there by now."""
        return _changed(await self._run(SET_PASSWORD, account_id, encoded, replaces))

    async def gather(self, commands: Sequence[Command]) -> list[Reply]:
        """Commands of the repositories on any keys, one round trip a node."""
        return await self._accounts.gather(commands)

    async def last_id(self) -> int:
        """The highest id given out; walks over all accounts end there."""
        key = keys.account_ids()
        return int(await self._accounts[key].execute("GET", key) or 0)

    def read_command(self, account_id: AccountId) -> Command:
        """For a pipeline; `account_of` reads its reply."""
        return _read_command(account_id)

    def account_of(self, account_id: AccountId, reply: Reply) -> Account | None:
        return None if reply[0] is None else _account(account_id, *reply).twin()

    async def _write_under_new_ids(self, accounts: Sequence[Account]) -> None:
        counter, unwritten = keys.account_ids(), list(accounts)
        while unwritten:
            last = int(await self._accounts[counter].execute("INCRBY", counter, len(unwritten)))
            for account_id, account in enumerate(unwritten, last - len(unwritten) + 1):
                account.id = account_id
            replies = await self.gather([_create_command(account) for account in unwritten])
            unwritten = [account for account, new in zip(unwritten, replies, strict=True) if not new]

    async def _run(self, script: Script, account_id: AccountId, *args: str) -> int:
        key = keys.account(account_id)
        reply: int = await self._accounts[key].run(script, [key], args)
        return reply


def _create_command(account: Account) -> Command:
    return CREATE.command([keys.account(AccountId(account.id))], _flat(_fields(account)))


def _fields(account: Account) -> dict[str, str]:
    return {
        "handle": account.handle,
        "display_name": account.display_name,
        "bio": account.bio,
        "link": account.link,
        "password": account.password,
        "created_ms": str(account.created_ms),
        "state": account.state or ACTIVE,
        "staff": "1" if account.is_staff else "0",
        "version": str(account.version),
        "private": "1" if account.is_private else "0",
    }


def _flat(fields: Mapping[str, str]) -> list[str]:
    return [part for pair in fields.items() for part in pair]


@lru_cache(maxsize=20_000)
def _read_command(account_id: AccountId) -> Prepared:
    return prepared("HMGET", keys.account(account_id), *FIELDS)


@lru_cache(maxsize=4_096)
def _account(
    account_id: AccountId,
    handle: bytes,
    display_name: bytes,
    bio: bytes,
    link: bytes,
    password: bytes,
    created_ms: bytes,
    state: bytes,
    staff: bytes,
    version: bytes,
    private: bytes | None,
) -> Account:
    """Facts read anew each time; only what they make is kept, and given out as twins."""
    return Account(
        id=account_id,
        handle=handle.decode(),
        display_name=display_name.decode(),
        bio=bio.decode(),
        link=link.decode(),
        password=password.decode(),
        created_ms=int(created_ms),
        state=state.decode(),
        is_staff=staff == b"1",
        version=int(version),
        is_private=private == b"1",
    )


@lru_cache(maxsize=20_000)
def _author_command(account_id: AccountId) -> Prepared:
    return prepared("HMGET", keys.account(account_id), *AUTHOR_FIELDS)


@lru_cache(maxsize=20_000)
def _author_wire(account_id: AccountId) -> bytes:
    return _author_command(account_id).wire


@lru_cache(maxsize=20_000)
def _author(
    account_id: AccountId,
    handle: bytes | None,
    display_name: bytes,
    state: bytes,
    version: bytes,
    private: bytes | None,
) -> Author | None:
    """Facts read anew each time; only their decoding is kept. None: there is no such account."""
    if handle is None:
        return None
    is_private = private == b"1"
    return Author(account_id, handle.decode(), display_name.decode(), STATES[state], int(version), is_private)


def _changed(reply: int) -> bool:
    if reply < 0:
        raise AccountNotFound
    return reply == 1
