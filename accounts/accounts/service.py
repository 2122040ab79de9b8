"""Accounts: signing up, their credentials, what they tell of themselves, and how they end."""

from collections.abc import Sequence
from typing import NoReturn

import structlog
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_variables

from accounts import passwords
from accounts.accounts.directory import AccountDirectory
from accounts.accounts.repository import AccountRepository
from accounts.domain import ACTIVE, DELETED, SUSPENDED
from accounts.errors import FieldErrors, HandleTaken
from accounts.models import Account
from accounts.ports import (
    OnAccountCreated,
    OnAccountDeleted,
    OnNamesChanged,
    OnSessionsEnded,
    ignore_account_created,
    ignore_account_deleted,
    ignore_names_changed,
    ignore_sessions_ended,
    notify_sessions_ended,
)
from accounts.sessions.repository import SessionRepository
from accounts.settings.profile_validation import validate_handle, validate_profile_texts
from socialsite.clock import Clock, FixedClock
from socialsite.ids import AccountId

ACCOUNTS_PER_IMPORT_BATCH = 1000

log = structlog.get_logger("accounts.security")


class AccountService(AccountDirectory):
    """The directory, and all that changes an account."""

    def __init__(
        self,
        accounts: AccountRepository,
        sessions: SessionRepository,
        clock: Clock | FixedClock,
        on_sessions_ended: OnSessionsEnded = ignore_sessions_ended,
        on_account_deleted: OnAccountDeleted = ignore_account_deleted,
        on_account_created: OnAccountCreated = ignore_account_created,
        on_names_changed: OnNamesChanged = ignore_names_changed,
    ) -> None:
        super().__init__(accounts)
        self._sessions = sessions
        self._clock = clock
        self._on_sessions_ended = on_sessions_ended
        self._on_account_deleted = on_account_deleted
        self._on_account_created = on_account_created
        self._on_names_changed = on_names_changed

    @sensitive_variables("password")
    async def sign_up(
        self,
        *,
        handle: str,
        password: str | None,
        display_name: str = "",
        now_ms: int,
        staff: bool = False,
        allow_reserved: bool = False,
    ) -> Account:
        """A new account; without a password nobody can sign in to it. Raises FieldErrors, HandleTaken.

        Reserved handles bind sign-up, not the operator's commands. Password rules are the form's.
        """
        handle = validate_handle(handle, allow_reserved=allow_reserved)
        texts = validate_profile_texts({"display_name": display_name if display_name.strip() else handle})
        if await self._accounts.is_handle_claimed(handle):  # before a hash is paid for; the claim itself decides
            raise HandleTaken
        account = Account(
            handle=handle,
            password=await passwords.hash_password(password),
            created_ms=now_ms,
            is_staff=staff,
            **texts,
        )
        if await self._accounts.create(account) is None:
            raise HandleTaken
        self._on_account_created()
        await self._on_names_changed([AccountId(account.id)])
        log.info("signed_up", account=account.id)
        return account

    async def import_accounts(self, *, handles: Sequence[str], now_ms: int) -> dict[str, AccountId]:
        """The ids of these handles' accounts; new ones where there were none, that nobody can sign in to.

        For imports and demonstrations: any handle, no hash to pay for, safe to repeat. Raises FieldErrors.
        """
        wanted = list(dict.fromkeys(validate_handle(handle, allow_reserved=True) for handle in handles))
        owners: dict[str, AccountId] = {}
        for start in range(0, len(wanted), ACCOUNTS_PER_IMPORT_BATCH):
            some = wanted[start : start + ACCOUNTS_PER_IMPORT_BATCH]
            owners |= await self._accounts.find_ids_by_handle(some)
            new = [await _account_without_password(handle, now_ms) for handle in some if handle not in owners]
            owners |= await self._accounts.create_many(new)
            await self._on_names_changed([owners[account.handle] for account in new])
        return owners

    # Credentials

    @sensitive_variables("password")
    async def authenticate(self, handle: str, password: str) -> Account | None:
        """The active account of this handle and password. None takes the same time whatever was wrong."""
        account = await self.find_by_handle(handle)
        right = await self.check_password(account, password)
        if account is None or not right or not account.is_active:
            log.info("sign_in_refused", account=account.id if account else None)
            return None
        return account

    @sensitive_variables("raw")
    async def check_password(self, account: Account | None, raw: str) -> bool:
        """Whether this is the account's password; a hash by older rules is renewed on the way."""
        stored = account.password if account else None
        right, outdated = await passwords.check_password(raw, stored)
        if account and right and outdated:
            renewed = await passwords.hash_password(raw)
            if await self._accounts.set_password(AccountId(account.id), renewed, expected_hash=account.password):
                account.password = renewed
        return right

    @sensitive_variables("old", "new")
    async def change_password(
        self, *, account: Account, old: str, new: str, keep_session_id: str | None = None
    ) -> Account:
        """The account with its new password; its sessions end, all but the one with the id `keep`."""
        if not await self.check_password(account, old):
            _raise_wrong_password("old_password")
        return await self._replace_password(account, new, keep_session_id, expected_hash=account.password)

    @sensitive_variables("new")
    async def set_password(self, *, account: Account, new: str, keep_session_id: str | None = None) -> Account:
        """As change_password, by an operator: without the old one."""
        return await self._replace_password(account, new, keep_session_id, expected_hash="")

    # What an account tells of itself, and its end

    async def edit_profile(
        self,
        *,
        account_id: AccountId,
        display_name: str,
        bio: str,
        link: str,
        private: bool | None = None,
    ) -> Account:
        """The account as it is then. `private` None: as it was.

        Its followers stay, either way; of those who wait to be let in, none is when it opens to everybody.
        Raises FieldErrors, AccountNotFound (also for a deleted account).
        """
        texts = validate_profile_texts({"display_name": display_name, "bio": bio, "link": link})
        if private is not None:
            texts["private"] = "1" if private else "0"
        await self._accounts.edit(account_id, texts)
        await self._on_names_changed([account_id])
        return await self.get(account_id)

    async def suspend(self, *, account_id: AccountId) -> bool:
        """Hide the account and sign it out everywhere, until it is reinstated. Whether that is new."""
        changed = await self._accounts.change_state(account_id, SUSPENDED, {})
        await self._end_sessions(account_id)
        await self._on_names_changed([account_id])
        log.info("suspended", account=account_id)
        return changed

    async def reinstate(self, *, account_id: AccountId) -> bool:
        """Undo a suspension. Whether there was one."""
        changed = await self._accounts.change_state(account_id, ACTIVE, {})
        await self._on_names_changed([account_id])
        log.info("reinstated", account=account_id)
        return changed

    async def delete(self, *, account_id: AccountId, now_ms: int) -> bool:
        """End the account for good; its handle is never given out again. Whether that is new.

        The state goes first: from then on every reader hides it. What follows only tidies up and may be
        repeated, so a repeated delete does all of it again.
        """
        nothing = {"display_name": "", "bio": "", "link": "", "staff": "0"}
        unusable = await passwords.hash_password(None)
        changed = await self._accounts.change_state(account_id, DELETED, {**nothing, "password": unusable})
        await self._end_sessions(account_id)
        await self._on_account_deleted(account_id)
        await self._on_names_changed([account_id])
        log.info("deleted", account=account_id, at_ms=now_ms)
        return changed

    async def _replace_password(
        self, account: Account, new: str, keep_session_id: str | None, *, expected_hash: str
    ) -> Account:
        account_id, encoded = AccountId(account.id), await passwords.hash_password(new)
        if not await self._accounts.set_password(account_id, encoded, expected_hash=expected_hash):
            _raise_wrong_password("old_password")  # another change came first: this one is no longer the password
        await self._end_sessions(account_id, keep_session_id=keep_session_id)
        log.info("password_changed", account=account_id)
        return await self.get(account_id)

    async def _end_sessions(self, account_id: AccountId, keep_session_id: str | None = None) -> None:
        ended = await self._sessions.end_all(account_id, except_id=keep_session_id)
        for session_id in ended if keep_session_id else (None,):
            await notify_sessions_ended(self._on_sessions_ended, account_id, session_id)


async def _account_without_password(handle: str, now_ms: int) -> Account:
    unusable = await passwords.hash_password(None)
    return Account(handle=handle, display_name=handle, password=unusable, created_ms=now_ms)


def _raise_wrong_password(field: str) -> NoReturn:
    raise FieldErrors({field: _("This is not your password.")})
