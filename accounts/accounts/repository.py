"""Stores each account as a Redis hash, and claims handles.

An account changes only by scripts on its own key. A claimed handle stays with its account. It becomes free again only
if the account is deleted before staff approved it. Decoded accounts and authors are cached by their stored bytes, so a
cached value is never outdated.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final, cast, get_args

from accounts import keys
from accounts.domain import (
    ACTIVE,
    DELETED,
    LIMITED,
    MARKS_PICTURES,
    NO_ACCOUNT_ID,
    AccountState,
    Author,
    Preferences,
    PreferencesChange,
    Restriction,
    decode_preferences,
    encode_preferences,
)
from accounts.errors import AccountNotFound
from accounts.models import Account
from accounts.profile_texts import PROFILE_TEXTS
from accounts.roles import OWNER, Role
from socialsite.ids import AccountId
from socialsite.recipes.time_queue import TimeQueue
from socialsite.store.commands import Command, PreparedCommand, Reply, Script, load_script, prepare_command
from socialsite.store.key import KEY_CACHE_SIZE
from socialsite.store.key_families import list_private_keys
from socialsite.store.read import Read
from socialsite.store.replies import parse_hash
from socialsite.store.site_marks import RAISE_NUMBER, record_account_id
from socialsite.store.store import Store

CREATE, EDIT, CHANGE_STATE, FREE = (
    load_script(f"{name}.lua", __package__)
    for name in ("create_account", "edit_profile", "change_state", "free_account")
)
REPLACE_TEXT, SET_PASSWORD, SET_RESTRICTION, SET_ROLE = (
    load_script(f"{name}.lua", __package__) for name in ("replace_text", "set_password", "set_restriction", "set_role")
)

STAFF_CAP = 1_000  # accounts that have or had a role
CACHED_HANDLES_MAX = 50_000  # account ids that a process caches by handle: about 7 MB
TEXT_FIELDS: Final = ("handle", "password", "state", "avatar", "header", *PROFILE_TEXTS)
ALWAYS_STORED = frozenset({"display_name", "bio", "link"})
"""Texts that are stored even if they are empty: processes of release 0.1.0 need them during a rolling upgrade."""
ACCOUNT_FIELDS: Final = (
    *TEXT_FIELDS, "created_ms", "staff", "version", "private", "preferences", "delete_ms", "restrictions",
    "silenced_until_ms", "role", "sanctions",
)  # fmt: skip
AUTHOR_FIELDS: Final = ("handle", "display_name", "state", "version", "private", "avatar", "restrictions")
RESTRICTIONS: Final[Mapping[Restriction, tuple[str, int]]] = {
    "limit": ("restrictions", LIMITED), "mark_pictures": ("restrictions", MARKS_PICTURES),
    "silence": ("silenced_until_ms", 0),
}  # fmt: skip
"""Restriction -> its field and its bit, or 0 if the field is a number."""
STATE_BY_BYTES: Final[Mapping[bytes, AccountState]] = {state.encode(): state for state in get_args(AccountState)}


class AccountRepository:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._accounts = store.component("accounts")
        self._ids_by_handle: dict[str, AccountId] = {}
        self.deletions = TimeQueue(store, keys.due_deletions(), lambda member: AccountId(int(member)))
        """The accounts whose deletion is requested, by the time at which they are deleted."""

    async def create(self, account: Account, facts: Mapping[str, str] | None = None) -> Account | None:
        """Store a new account with more fields (`facts`) and claim its handle. Returns None if the handle is taken.

        The account is written before its handle is claimed. If the reply to the claim is lost, the account is kept,
        because the claim may have succeeded. If it failed, nothing refers to the account. The handle of a freed account
        keeps its id, which processes have cached: the new account replaces the freed one.
        """
        await self._write_with_new_ids([account], facts)
        handle = keys.handle(account.handle)
        if await self._accounts.execute("SET", handle, account.id, "NX") is not None:
            return account
        await self._accounts.execute("DEL", keys.account(AccountId(account.id)))
        account.id = int(await self._accounts.execute("GET", handle) or NO_ACCOUNT_ID)
        if account.id != NO_ACCOUNT_ID and await self._is_free(AccountId(account.id)):
            (written,) = await self.execute_all([create_account_command(account, facts)])
            return account if written else None
        return None

    async def free(self, account_id: AccountId, fields: Mapping[str, str]) -> bool:
        """Delete an account that waits, so that its handle is free again. Return False if it does not wait."""
        account = [keys.account(account_id)]
        return bool(await self._accounts.write(*FREE.command(account, flatten_fields(fields))))

    async def delete_private_keys(self, account_id: AccountId) -> None:
        """Delete the keys of a deleted account to which no other key refers."""
        await self._accounts.write("UNLINK", *list_private_keys("accounts", account_id))

    async def _is_free(self, account_id: AccountId) -> bool:
        state, freed = await self._accounts.execute("HMGET", keys.account(account_id), "state", "freed")
        return bool(freed == b"1" and state == DELETED.encode())

    async def create_many(self, accounts: Sequence[Account]) -> dict[str, AccountId]:
        """Create the accounts in three round trips per node. Returns the account id of each handle, new or not."""
        await self._write_with_new_ids(accounts)
        ids = {account.handle: AccountId(account.id) for account in accounts}
        claims = await self.execute_all([("SET", keys.handle(handle), id, "NX") for handle, id in ids.items()])
        lost = [handle for handle, reply in zip(ids, claims, strict=True) if reply is None]
        if lost:  # another account has the handle
            await self.execute_all([("DEL", keys.account(ids.pop(handle))) for handle in lost])
            ids |= await self.find_ids_by_handle(lost)
        return ids

    async def find_ids_by_handle(self, handles: Iterable[str]) -> dict[str, AccountId]:
        """Return the account id of each handle that an account has or had. Free handles are left out."""
        names = list(handles)
        replies = await self.execute_all([("GET", keys.handle(handle)) for handle in names])
        pairs = zip(names, replies, strict=True)
        return {handle: AccountId(int(reply)) for handle, reply in pairs if reply is not None}

    async def find_cached_ids(self, handles: Iterable[str]) -> dict[str, AccountId]:
        """Return the result of `find_ids_by_handle`, from the cache as far as possible. See `cached_id`.

        It includes former handles and suspended accounts.
        """
        names = list(handles)
        if unknown := [handle for handle in names if handle not in self._ids_by_handle]:
            for handle, account_id in (await self.find_ids_by_handle(unknown)).items():
                self._cache_id(handle, account_id)
        return {handle: self._ids_by_handle[handle] for handle in names if handle in self._ids_by_handle}

    async def is_handle_claimed(self, handle: str) -> bool:
        """Return whether an account has or had this handle, unless it was freed."""
        owner = await self._accounts.execute("GET", keys.handle(handle))
        return owner is not None and not await self._is_free(AccountId(int(owner)))

    async def find_by_handle(self, handle: str) -> Account | None:
        """Return the account. A free handle also takes two round trips, so that the time does not reveal it."""
        reply = await self._accounts.execute("GET", keys.handle(handle))
        return await self.find(AccountId(int(reply)) if reply is not None else NO_ACCOUNT_ID)

    async def find_by_cached_handle(self, handle: str) -> Account | None:
        """Return the account in one round trip if this process has cached its id, else as `find_by_handle` does.

        Do not use it to check passwords: the time reveals whether this process has looked for the handle before.
        """
        cached_id = self._ids_by_handle.get(handle)
        account = None if cached_id is None else await self.find(cached_id)
        if account is None or account.handle != handle:  # not cached, or outdated by a restore of another backup
            account = await self.find_by_handle(handle)
            if account is not None:
                self._cache_id(handle, AccountId(account.id))
        return account

    def cached_id(self, handle: str) -> AccountId | None:
        """Return the cached account id of the handle. The id is wrong only after a restore of another backup."""
        return self._ids_by_handle.get(handle)

    async def find(self, account_id: AccountId) -> Account | None:
        """Return the account in any state."""
        read = self.read_account(account_id)
        return read.parse(await self._accounts.execute_all(read.commands))

    def read_account(self, account_id: AccountId) -> Read[Account | None]:
        """Return the read of an account, whose result is None if the account does not exist."""
        return Read([read_account_command(account_id)], lambda replies: self.parse_account(account_id, replies[0]))

    def read_many(self, account_ids: Iterable[AccountId]) -> Read[dict[AccountId, Account]]:
        """Return the read of the accounts that exist, by id, for a page. Keys of a wrong type are left out."""
        ids = list(dict.fromkeys(account_ids))

        def parse(replies: Sequence[Reply]) -> dict[AccountId, Account]:
            accounts = ((i, self.parse_account(i, reply)) for i, reply in zip(ids, replies, strict=True))
            return {account_id: account for account_id, account in accounts if account is not None}

        return Read(list(map(read_account_command, ids)), parse, wrong_type_reply=[None] * len(ACCOUNT_FIELDS))

    async def find_authors(self, account_ids: Iterable[AccountId]) -> dict[AccountId, Author]:
        """Return the authors of the accounts that exist, by account id, in one round trip per node."""
        question = self.read_authors(account_ids)
        return question.parse(await self._accounts.execute_all(question.commands))

    def read_authors(self, account_ids: Iterable[AccountId]) -> Read[dict[AccountId, Author]]:
        """Return the read that `find_authors` executes.

        `Store.read` leaves out accounts whose key has a wrong type, and `find_authors` raises WrongType.
        """
        ids = list(account_ids)

        def parse(replies: Sequence[Reply]) -> dict[AccountId, Author]:
            authors = map(decode_author, ids, *zip(*replies, strict=True))  # `map` and `zip` loop in C
            authors_by_id = dict(zip(ids, authors, strict=True))
            if None in authors_by_id.values():
                authors_by_id = {id: author for id, author in authors_by_id.items() if author is not None}
            return cast("dict[AccountId, Author]", authors_by_id)

        return Read(list(map(read_author_command, ids)), parse, wrong_type_reply=[None] * len(AUTHOR_FIELDS))

    async def find_shown_authors(self, account_ids: Iterable[AccountId]) -> dict[AccountId, Author]:
        """Return the authors like `find_authors`, for a page: without accounts whose key has a wrong type."""
        (authors,) = await self._store.read(self.read_authors(account_ids))
        return cast("dict[AccountId, Author]", authors)

    def read_preferences(self, account_id: AccountId) -> Read[Preferences]:
        """Return the read of the preferences. An absent account has the defaults."""
        return Read([read_preferences_command(account_id)], lambda replies: decode_preferences(replies[0] or ""))

    def read_undiscoverable(self, account_ids: Iterable[AccountId]) -> Read[set[AccountId]]:
        """Return the read of those accounts that chose not to be suggested or found."""
        ids = list(account_ids)

        def parse(replies: Sequence[Reply]) -> set[AccountId]:
            pairs = zip(ids, replies, strict=True)
            return {id for id, reply in pairs if reply and not decode_preferences(reply).is_discoverable}

        return Read(list(map(read_preferences_command, ids)), parse, wrong_type_reply=None)

    async def edit(self, account_id: AccountId, fields: Mapping[str, str]) -> bool:
        """Change fields of the account. Return whether any field changed.

        Raises AccountNotFound if it is absent or deleted.
        """
        return _parse_changed(await self._run_script(EDIT, account_id, *flatten_fields(fields)))

    async def change_preferences(self, account_id: AccountId, change: PreferencesChange) -> Preferences:
        """Store and return the changed preferences. Raises AccountNotFound if the account is absent or deleted."""
        while True:
            stored: bytes = await self._accounts.execute("HGET", keys.account(account_id), "preferences") or b""
            changed = change(decode_preferences(stored))
            if await self.replace_text(account_id, "preferences", encode_preferences(changed), stored.decode()):
                return changed

    async def replace_text(self, account_id: AccountId, name: str, text: str, former: str) -> bool:
        """Store a field if it still has the former text. Return whether it has the new one. Raises AccountNotFound."""
        return _parse_changed(await self._run_script(REPLACE_TEXT, account_id, name, text, former))

    async def change_state(
        self, account_id: AccountId, state: AccountState, fields: Mapping[str, str], *, if_leaving: bool = False
    ) -> bool:
        """Set the state, and also `fields` if the state changes. Returns whether the state changed.

        If `if_leaving`, nothing changes unless the owner has requested the deletion of the account. Raises
        AccountNotFound if the account is deleted.
        """
        account, args = [keys.account(account_id)], [state, int(if_leaving), *flatten_fields(fields)]
        # This waits for replicas: a failover must not undo a suspension.
        return _parse_changed(await self._accounts.write(*CHANGE_STATE.command(account, args)))

    async def set_password(self, account_id: AccountId, encoded: str, *, expected_hash: str = "") -> bool:
        """Store a password hash, if `expected_hash` is empty or the stored hash. Returns whether it was stored."""
        return _parse_changed(await self._run_script(SET_PASSWORD, account_id, encoded, expected_hash))

    async def set_restriction(self, account_id: AccountId, restriction: Restriction, value: int) -> bool:
        """Set a restriction to 0 or 1, or to the end of a silence. Returns whether it changed.

        Raises AccountNotFound if the account is absent or deleted.
        """
        account, args = [keys.account(account_id)], [*RESTRICTIONS[restriction], value]
        # This waits for replicas, as `change_state` does.
        return _parse_changed(await self._accounts.write(*SET_RESTRICTION.command(account, args)))

    # Roles of staff

    async def set_staff_role(self, account_id: AccountId, former_role: str, role: Role) -> int:
        """Set the role in the list of staff. Returns 1, 0 if it has the role, -1 for the last owner, -2 at the cap.

        `former_role` is the role of an account that the list does not contain yet.
        """
        args = [account_id, former_role, role, STAFF_CAP]
        return int(await self._accounts.write(*SET_ROLE.command([keys.staff()], args)))

    async def staff_roles(self) -> dict[AccountId, str]:
        """Return the roles by account id, also "" for accounts that lost their role."""
        roles = parse_hash(await self._accounts.execute("HGETALL", keys.staff()))
        return {AccountId(int(id)): role for id, role in roles.items()}

    async def staff_role(self, account_id: AccountId) -> str | None:
        """Return the role in the list, "" if the account lost it, or None if the list does not contain the account."""
        role = await self._accounts.execute("HGET", keys.staff(), account_id)
        return None if role is None else role.decode()

    async def add_owner(self, account_id: AccountId) -> None:
        """Add an owner of an earlier release to the list of staff, unless the list had the account before."""
        await self._accounts.execute("HSETNX", keys.staff(), account_id, OWNER)

    async def execute_all(self, commands: Sequence[Command]) -> list[Reply]:
        """Execute commands on any keys in one round trip per node."""
        return await self._accounts.execute_all(commands)

    async def last_id(self) -> int:
        """Return the highest account id, which is the number of accounts that were ever created."""
        return int(await self._accounts.execute("GET", keys.account_ids()) or 0)

    def parse_account(self, account_id: AccountId, reply: Reply) -> Account | None:
        return None if reply[0] is None else decode_account(account_id, *reply).copy()

    def _cache_id(self, handle: str, account_id: AccountId) -> None:
        if len(self._ids_by_handle) >= CACHED_HANDLES_MAX:
            self._ids_by_handle.clear()
        self._ids_by_handle[handle] = account_id

    async def _write_with_new_ids(self, accounts: Sequence[Account], facts: Mapping[str, str] | None = None) -> None:
        counter, unwritten = keys.account_ids(), list(accounts)
        while unwritten:
            last = int(await self._accounts.execute("INCRBY", counter, len(unwritten)))
            recorded = await record_account_id(self._store, last)
            if recorded > last - len(unwritten):  # the counter lost writes, or a concurrent sign-up took the ids
                await self._accounts[counter].execute(*RAISE_NUMBER.command([counter], [recorded]))
                continue
            for account_id, account in enumerate(unwritten, last - len(unwritten) + 1):
                account.id = account_id
            replies = await self.execute_all([create_account_command(account, facts) for account in unwritten])
            unwritten = [account for account, new in zip(unwritten, replies, strict=True) if not new]

    async def _run_script(self, script: Script, account_id: AccountId, *args: str) -> int:
        key = keys.account(account_id)
        reply: int = await self._accounts[key].execute(*script.command([key], args))
        return reply


def _parse_changed(reply: int) -> bool:
    if reply < 0:
        raise AccountNotFound
    return reply == 1


def create_account_command(account: Account, facts: Mapping[str, str] | None = None) -> Command:
    """Return a command for a pipeline. Its reply says whether the id was free."""
    fields = {**encode_account(account), **(facts or {})}
    return CREATE.command([keys.account(AccountId(account.id))], flatten_fields(fields))


def encode_account(account: Account) -> dict[str, str]:
    return {
        **{name: getattr(account, name) for name in ("handle", "password")},
        **{text.name: value for text, value in account.texts.items() if value or text.name in ALWAYS_STORED},
        **{name: str(getattr(account, name)) for name in ("created_ms", "version")},
        "state": account.state or ACTIVE,
        "staff": "1" if account.is_staff else "0",
        "private": "1" if account.is_private else "0",
        **({"role": account.role} if account.role else {}),
        **({"preferences": account.encoded_preferences} if account.encoded_preferences else {}),
    }


def flatten_fields(fields: Mapping[str, str]) -> list[str]:
    """Return the list [field, value, field, value, ...], which the scripts take as arguments."""
    return [part for pair in fields.items() for part in pair]


@lru_cache(maxsize=KEY_CACHE_SIZE)
def read_account_command(account_id: AccountId) -> PreparedCommand:
    """Return the command that reads ACCOUNT_FIELDS. `AccountRepository.parse_account` takes its reply."""
    return prepare_command("HMGET", keys.account(account_id), *ACCOUNT_FIELDS)


@lru_cache(maxsize=2_048)
def decode_account(account_id: AccountId, *row: bytes | None) -> Account:
    """Return the account with these values of ACCOUNT_FIELDS.

    The caller copies the account before use, since Django models are mutable. Staff without a stored role are owners.
    """
    stored = {name: (value or b"").decode() for name, value in zip(ACCOUNT_FIELDS, row, strict=True)}
    is_staff, bits = stored["staff"] == "1", int(stored["restrictions"] or 0)
    return Account(
        id=account_id,
        **{name: stored[name] for name in TEXT_FIELDS},
        **{name: int(stored[name] or 0) for name in ("created_ms", "version", "delete_ms", "silenced_until_ms")},
        is_staff=is_staff,
        is_private=stored["private"] == "1",
        encoded_preferences=stored["preferences"],
        limited=bool(bits & LIMITED),
        marks_pictures=bool(bits & MARKS_PICTURES),
        role=stored["role"] or (OWNER if is_staff else ""),
        has_sanctions=bool(stored["sanctions"]),
    )


@lru_cache(maxsize=KEY_CACHE_SIZE)
def read_author_command(account_id: AccountId) -> PreparedCommand:
    """Return the command that reads AUTHOR_FIELDS. `decode_author` takes its reply."""
    return prepare_command("HMGET", keys.account(account_id), *AUTHOR_FIELDS)


@lru_cache(maxsize=KEY_CACHE_SIZE)
def read_preferences_command(account_id: AccountId) -> PreparedCommand:
    return prepare_command("HGET", keys.account(account_id), "preferences")


@lru_cache(maxsize=2_048)
def decode_author(
    account_id: AccountId,
    handle: bytes | None,
    display_name: bytes,
    state: bytes,
    version: bytes,
    private: bytes | None,
    avatar: bytes | None,
    restrictions: bytes | None,
) -> Author | None:
    """Return the author of a reply, or None if there is no such account."""
    if handle is None:
        return None
    bits = int(restrictions or 0)
    return Author(
        account_id,
        handle.decode(),
        display_name.decode(),
        STATE_BY_BYTES[state],
        int(version),
        private == b"1",
        avatar.decode() if avatar else "",
        bool(bits & LIMITED),
        bool(bits & MARKS_PICTURES),
    )
