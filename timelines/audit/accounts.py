"""Checks accounts, their handles, the counter of their ids, their sessions and their notifications."""

from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial

from accounts import keys as account_keys
from accounts.accounts.repository import ACCOUNT_FIELDS
from accounts.domain import DELETED, SUSPENDED
from accounts.profile_texts import PROFILE_TEXTS
from accounts.sessions.values import ACCESS_TOKENS_CAP, ACCOUNT_ID_MAX_LENGTH
from socialsite.ids import AccountId, ClientId
from socialsite.store import Command, Key, Reply
from timelines import keys
from timelines.audit.context import Checks
from timelines.audit.discrepancy import Discrepancy, detail_of
from timelines.audit.reader import ABSENT, AuditReader
from timelines.notifications.notification import Notification

OPTIONAL_FIELDS = frozenset(
    {
        *("avatar", "header", "preferences", "delete_ms"),
        *("restrictions", "silenced_until_ms", "role", "sanctions"),
        *PROFILE_TEXTS,
    }
    - {"display_name"}
)
"""The fields that an account may lack. Pages read its name without them."""
NUMBER_FIELDS = frozenset({"created_ms", "staff", "version"})
SIGN_UP_MS = 60_000  # a younger account may not have its handle yet, because its sign-up is not finished


class AccountChecks(Checks):
    async def accounts(self, reader: AuditReader, checked: Sequence[Key]) -> AsyncIterator[Discrepancy]:
        """Check that each account has all its fields, an id up to the counter, and its handle.

        Check also that a deleted account has no other keys.
        """
        counter = account_keys.account_ids()
        last_id, highest = await reader.read_counter(counter), max(checked, key=lambda key: int(key.tag))
        if last_id is not None and int(highest.tag) > last_id:
            repair = self._context.raise_counter(counter, int(highest.tag))
            yield Discrepancy("account_counter_low", highest, repair=repair)
        accounts: dict[Key, dict[str, str]] = {}
        for key, (row,) in await reader.read_each(checked, ("HMGET", *ACCOUNT_FIELDS)):
            if row.count(None) == len(ACCOUNT_FIELDS):
                continue  # deleted since the walk found the key
            if missing := find_missing_fields(row):
                yield Discrepancy("account_half", key, ",".join(missing), partial(self.fill, key, missing))
            else:
                accounts[key] = {f: (v or b"").decode() for f, v in zip(ACCOUNT_FIELDS, row, strict=True)}
        async for found in self._check_handles(reader, accounts):
            yield found
        deleted = [key for key, fields in accounts.items() if fields["state"] == DELETED]
        async for found in self._find_unpurged(reader, deleted):
            yield found

    async def handles(self, reader: AuditReader, checked: Sequence[Key]) -> AsyncIterator[Discrepancy]:
        """Check that each handle refers to an account that has this handle."""
        owners: dict[Key, int] = {}
        for key, (owner,) in await reader.read_each(checked, ("GET",)):
            if owner is not None and owner.isdigit():
                owners[key] = int(owner)
            elif owner is not None:
                yield Discrepancy("handle_of_nobody", key, "", self._context.run(("DEL", key)))
        handles = await reader.execute_all(
            ("HGET", account_keys.account(AccountId(i)), "handle") for i in owners.values()
        )
        existing = await reader.existing_accounts(owners.values())
        for (key, owner), handle in zip(owners.items(), handles, strict=True):
            delete = self._context.run(("DEL", key))
            if handle is None and owner not in existing:
                yield Discrepancy("handle_without_account", key, str(owner), delete)
            elif handle is not None and account_keys.handle(handle.decode()) != key:
                yield Discrepancy("handle_of_nobody", key, str(owner), delete)

    async def _check_handles(
        self, reader: AuditReader, accounts: Mapping[Key, Mapping[str, str]]
    ) -> AsyncIterator[Discrepancy]:
        """Check that each account is found by its handle."""
        handle_keys = [account_keys.handle(fields["handle"]) for fields in accounts.values()]
        owners = await reader.execute_all(("GET", handle_key) for handle_key in handle_keys)
        signed_up_ms = self._context.clock.now_ms() - SIGN_UP_MS
        for (key, fields), handle_key, owner in zip(accounts.items(), handle_keys, owners, strict=True):
            if owner is None and int(fields["created_ms"]) <= signed_up_ms:
                repair = self._context.run(("SET", handle_key, key.tag, "NX"))
                yield Discrepancy("account_without_handle", key, repair=repair)
            elif owner is not None and owner != key.tag.encode():
                rename = partial(self._rename, key, handle_key, int(owner), fields["handle"])
                yield Discrepancy("handle_of_another", key, owner.decode(), rename)

    async def fill(self, key: Key, missing: Sequence[str] = ACCOUNT_FIELDS) -> None:
        """Fill the missing fields of an account so that it can be read.

        An account without a state becomes suspended, and one without the field `private` becomes private, so that a
        repair exposes nothing.
        """
        handle = f"lost_{key.tag}"
        values = dict.fromkeys(ACCOUNT_FIELDS, "") | {
            "handle": handle, "display_name": handle, "password": "!", "created_ms": "0",
            "state": SUSPENDED, "staff": "0", "version": "1", "private": "1",
        }  # fmt: skip
        drops = [("HDEL", key, name) for name in missing if name in NUMBER_FIELDS]
        await self._context.store.execute_all([*drops, *(("HSETNX", key, name, values[name]) for name in missing)])
        if "handle" in missing:
            await self._context.store.execute_all([("SET", account_keys.handle(handle), key.tag, "NX")])

    async def _rename(self, key: Key, handle_key: Key, owner: int, handle: str) -> None:
        """Repair two accounts with one handle.

        The account whose id is stored at the key of the handle keeps the handle, if its fields name it.
        """
        (other,) = await self._context.store.execute_all([("HGET", account_keys.account(AccountId(owner)), "handle")])
        if other == handle.encode():
            free = f"lost_{key.tag}"
            commands: list[Command] = [
                ("HSET", key, "handle", free), ("HINCRBY", key, "version", 1),
                ("SET", account_keys.handle(free), key.tag, "NX"),
            ]  # fmt: skip
            await self._context.store.execute_all(commands)
        else:
            await self._context.store.execute_all([("SET", handle_key, key.tag)])

    async def _find_unpurged(self, reader: AuditReader, deleted: Sequence[Key]) -> AsyncIterator[Discrepancy]:
        """Check that a deleted account has no keys left after the worker has purged it."""
        partitions = range(self._context.config.follow_partitions)
        for key in deleted:
            account_id = int(key.tag)
            if not await reader.is_unpurged(account_id):
                continue
            owned = [*self._context.profiles.keys.timeline_keys(account_id), keys.list_index(account_id)]
            for key_of in (keys.following, keys.followers, keys.lists_with_account):
                owned += [key_of(f"p{number}", account_id) for number in partitions]
            left = sum(await reader.execute_all(("ZCARD", each) for each in owned))
            if left:  # `detail` is the number of keys, which falls between the two checks if a purge is running
                yield Discrepancy("account_unswept", key, str(left), self._context.purge(account_id))

    async def sessions(self, reader: AuditReader, checked: Sequence[Key]) -> AsyncIterator[Discrepancy]:
        """Check that each session expires, is readable, is in the index, and has an account if it is not of an app."""
        indexes = [(_index_of(key), key.rpartition(":")[2]) for key in checked]
        scores = await reader.execute_all((("ZSCORE", index, session_id) for index, session_id in indexes))
        ownerless = await _find_ownerless(reader, checked)
        rows = await reader.read_each(checked, ("GET",), ("PTTL",))
        for (key, (value, ttl_ms)), score in zip(rows, scores, strict=True):
            if value is None:
                continue
            delete = self._context.run(("DEL", key))
            if key in ownerless:
                yield Discrepancy("session_of_nobody", key, repair=delete)
            elif ttl_ms == -1:
                yield Discrepancy("session_eternal", key, repair=delete)
            elif self._context.sessions.parse_session(b"0", value) is None:
                yield Discrepancy("session_unreadable", key, repair=delete)
            elif score is None:
                yield Discrepancy("session_unindexed", key, repair=delete, is_damage=False)

    async def session_indexes(self, reader: AuditReader, checked: Sequence[Key]) -> AsyncIterator[Discrepancy]:
        """Check that each entry refers to a session. If the session has expired, its entry is a leftover."""
        ownerless = await _find_ownerless(reader, checked)
        for key, (members, ttl_ms) in await reader.read_each(checked, ("ZRANGE", 0, 2 * ACCESS_TOKENS_CAP), ("PTTL",)):
            if not members:
                continue
            if key in ownerless:
                yield Discrepancy("sessions_of_nobody", key, repair=self._context.run(("DEL", key)))
                continue
            if ttl_ms == -1:
                expire = self._context.run(("PEXPIRE", key, self._context.sessions.limits.idle_timeout_ms))
                yield Discrepancy("session_index_eternal", key, repair=expire)
            ids = [member.decode() for member in members]
            key_of = account_keys.access_token if key.endswith(":tokens") else account_keys.session
            owner = _owner_of(key)
            exist = await reader.execute_all(("EXISTS", key_of(owner, session_id)) for session_id in ids)
            for session_id, exists in zip(ids, exist, strict=True):
                if not exists:
                    remove = self._context.remove(key, session_id)
                    yield Discrepancy("session_gone", key, session_id, remove, is_damage=False)

    async def notifications(self, reader: AuditReader, checked: Sequence[Key]) -> AsyncIterator[Discrepancy]:
        """Check that each entry is a notification by and for accounts that exist.

        A deleted post of a notification is no damage, because readers check the post.
        """
        async for key, members in reader.pages_of_many(checked):
            parsed = {member: Notification.parse(member, score) for member, score in members}
            ids = {int(key.tag), *(each.account_id for each in parsed.values() if each is not None)}
            existing = await reader.existing_accounts(ids)
            for member, notification in parsed.items():
                remove = self._context.remove(key, member)
                if notification is None:
                    yield Discrepancy("notification_garbage", key, detail_of(member), remove)
                elif not {int(key.tag), notification.account_id} <= existing:
                    yield Discrepancy("notification_of_nobody", key, detail_of(member), remove)


def _index_of(session: Key) -> Key:
    """Return the index that must contain a session or an access token."""
    owner = _owner_of(session)
    is_token = session.rpartition("}:")[2].startswith("token:")
    return account_keys.access_token_index(owner) if is_token else account_keys.session_index(owner)


def _owner_of(key: Key) -> AccountId | ClientId:
    """Return the owner of a session, a token or an index: an account, or an app with tokens for itself."""
    return AccountId(int(key.tag)) if len(key.tag) <= ACCOUNT_ID_MAX_LENGTH else ClientId(key.tag)


async def _find_ownerless(reader: AuditReader, checked: Sequence[Key]) -> set[Key]:
    """Return the keys whose account does not exist. A token of an app may outlive the app's registration."""
    owners = {key: owner for key in checked if isinstance(owner := _owner_of(key), int)}
    states = await reader.read_states(owners.values())
    return {key for key, owner in owners.items() if states[owner] in (ABSENT, DELETED)}


def find_missing_fields(row: Reply) -> list[str]:
    """Return the names of the fields that are absent, and of number fields whose value is not a number."""
    return [
        name
        for name, value in zip(ACCOUNT_FIELDS, row, strict=True)
        if (value is None and name not in OPTIONAL_FIELDS) or (name in NUMBER_FIELDS and value and not value.isdigit())
    ]
