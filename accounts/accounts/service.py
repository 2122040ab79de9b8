"""Accounts: sign-up, credentials, profiles, suspension and deletion."""

from collections.abc import Mapping, Sequence

import structlog
from django.utils.translation import gettext_lazy as _
from django.views.decorators.debug import sensitive_variables

from accounts import domain, ports
from accounts.accounts import passwords
from accounts.accounts.lookup import AccountLookup
from accounts.accounts.staff import StaffService
from accounts.accounts.validation import (
    normalize_login_name,
    validate_handle,
    validate_languages,
    validate_profile_texts,
)
from accounts.errors import AccountSuspended, AccountWaiting, DeletionPending, FieldErrors, HandleTaken
from accounts.models import Account
from accounts.profile_texts import PROFILE_TEXTS, keep_checks, split_texts
from accounts.roles import OWNER
from accounts.security.browsers import BrowserRegistry, KnownBrowser
from accounts.security.events import SecurityEvents
from socialsite.analytics.metrics import SIGNUPS
from socialsite.analytics.stats import Statistics
from socialsite.batches import batches
from socialsite.errors import RateLimited
from socialsite.ids import AccountId, TimeSource
from socialsite.limits import NETWORKS_PER_HANDLE, ActionLimits, Caller, address_factors
from socialsite.recipes.buffer import Entity
from socialsite.recipes.periodic_tasks import PeriodicTask
from socialsite.recipes.rate_limit import Identifier
from socialsite.service import Service

ACCOUNTS_PER_IMPORT_BATCH = 1000
DELETIONS_PER_ROUND, DELETIONS_INTERVAL_S = 100, 60.0
WRONG_PASSWORD = {"old_password": _("That is not your current password.")}

log = structlog.get_logger("accounts.security")


class AccountService(AccountLookup, Service):
    """Reads and changes accounts. The field `end_sessions` is the method SessionService.end_all."""

    end_sessions: ports.EndSessions
    limits: ActionLimits
    events: SecurityEvents
    browsers: BrowserRegistry
    staff: StaffService
    on_deletion_requested: ports.OnAccountDeleted
    on_account_deleted: Sequence[ports.OnAccountDeleted]
    statistics: Statistics
    on_names_changed: ports.OnNamesChanged
    on_profile_edited: ports.OnProfileEdited
    clock: TimeSource
    deletion_grace_ms: int = 0
    on_password_changed: ports.OnPasswordChanged
    find_by_address: ports.FindByAddress
    check_texts: ports.CheckTexts

    # Creating accounts

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
        is_known: bool = True,
        preferences: domain.Preferences | None = None,
        waits: bool = False,
        facts: Mapping[str, str] | None = None,
    ) -> Account:
        """Create an account. An account without a password cannot sign in.

        The caller has counted the attempt and checked the rules for passwords. `is_known` is False for visitors. If
        `waits` is set, the account waits for approval. Raises FieldErrors, HandleTaken, PasswordsBusy.
        """
        handle, texts = self.check_new(handle, display_name, allow_reserved=allow_reserved)
        if await self.accounts.is_handle_claimed(handle):  # avoids the slow hash; the later claim decides
            raise HandleTaken
        account = Account(
            handle=handle,
            password=await passwords.hash_password(password, is_known=is_known),
            created_ms=now_ms,
            state=domain.WAITING if waits else domain.ACTIVE,
            encoded_preferences="" if preferences is None else domain.encode_preferences(preferences),
            **texts,
        )
        if await self.accounts.create(account, facts) is None:
            raise HandleTaken
        if staff:
            await self.staff.set_role(AccountId(account.id), OWNER)
            account = await self.get(AccountId(account.id))
        self.statistics.meter.count(SIGNUPS)
        await self.on_names_changed([AccountId(account.id)])
        log.info("signed_up", account=account.id)
        return account

    def check_new(self, handle: str, display_name: str, *, allow_reserved: bool = False) -> tuple[str, dict[str, str]]:
        """Return the stored form of the handle and of the texts of a new account. Raises FieldErrors."""
        handle = validate_handle(handle, allow_reserved=allow_reserved)
        texts = validate_profile_texts({"display_name": display_name if display_name.strip() else handle})
        self.check_texts({"handle": handle, **texts})
        return handle, texts

    async def import_accounts(self, *, handles: Sequence[str], now_ms: int) -> dict[str, AccountId]:
        """Return the account ids of the handles, and create absent accounts without a password. Raises FieldErrors.

        Imports and the demo use it. Reserved handles are allowed, and a repetition changes nothing.
        """
        names = dict.fromkeys(validate_handle(handle, allow_reserved=True) for handle in handles)
        ids_by_handle: dict[str, AccountId] = {}
        for batch in batches(names, ACCOUNTS_PER_IMPORT_BATCH):
            ids_by_handle |= await self.accounts.find_ids_by_handle(batch)
            new = [await _account_without_password(handle, now_ms) for handle in batch if handle not in ids_by_handle]
            ids_by_handle |= await self.accounts.create_many(new)
            await self.on_names_changed([ids_by_handle[account.handle] for account in new])
        return ids_by_handle

    # Credentials

    @sensitive_variables("password")
    async def authenticate(
        self,
        name: str,
        password: str,
        *,
        caller: Caller | None = None,
        browser: KnownBrowser | None = None,
        keep: bool = False,
    ) -> Account | None:
        """Return the active account with this handle, or confirmed mail address, and password, or None.

        Every failure takes the same time.

        The attempt is counted for the browser if the account was signed in with it before. Otherwise it is counted
        for the network. A failed attempt of this kind is also counted for the name, even if the name is unknown. A
        handle and a mail address have two counters: one counter would show that they belong to one account.
        Raises RateLimited, PasswordsBusy. If the password is right, raises AccountWaiting, AccountSuspended, or
        DeletionPending if the owner has requested the deletion. With `keep`, the account with a requested deletion is
        returned, and the caller takes the request back.
        """
        account = await self.find_by_address(name) or await self.find_by_handle(name)
        is_known = caller is None or (
            account is not None and await self.browsers.is_known(AccountId(account.id), browser)
        )
        by_handle = Identifier.handle(normalize_login_name(name))
        at_ms = await self._count_login(account, caller, by_handle, browser if is_known else None)
        is_right = await self._check_password(account, password, is_known=is_known)
        if account is None or not is_right or not (account.is_active or (keep and account.is_leaving)):
            is_suspended = account is not None and is_right and account.state == domain.SUSPENDED
            reason = "unknown_handle" if account is None else "suspended" if is_suspended else "wrong_password"
            log.info("sign_in_refused", account=account.id if account else None, reason=reason)
            await self.events.record(AccountId(account.id) if account else None, "login_refused", caller)
            if account is not None and is_right and account.state == domain.WAITING:
                raise AccountWaiting(AccountId(account.id))
            if is_suspended and account is not None:
                raise DeletionPending if account.is_leaving else AccountSuspended(AccountId(account.id))
            return None
        if caller is not None and not is_known:
            await self.limits.refund_for(by_handle, "login", at_ms)
        return account

    async def _count_login(
        self, account: Account | None, caller: Caller | None, by_handle: Identifier, browser: KnownBrowser | None
    ) -> int:
        """Count a log-in for the known browser, or for the address and the handle. Return the time for a refund."""
        if caller is None:
            return 0
        factors = address_factors(caller.address) | {by_handle: NETWORKS_PER_HANDLE}
        if browser is not None:
            factors = {Identifier.browser(browser.secret): 1}
        try:
            return await self.limits.enforce_for(factors, "login")
        except RateLimited:
            log.info("sign_in_limited", account=account.id if account else None)
            raise

    @sensitive_variables("raw")
    async def check_password(self, account: Account | None, raw: str, *, caller: Caller | None = None) -> bool:
        """Return whether this is the account's password, and replace an outdated hash.

        The check is counted as a log-in of the caller. Raises RateLimited, PasswordsBusy.
        """
        await self.limits.enforce(caller, "login")
        is_right = await self._check_password(account, raw)
        if account and not is_right:
            log.info("password_refused", account=account.id)
            await self.events.record(AccountId(account.id), "confirmation_refused", caller)
        return is_right

    @sensitive_variables("raw")
    async def _check_password(self, account: Account | None, raw: str, *, is_known: bool = True) -> bool:
        stored = account.password if account else None
        is_right, is_outdated = await passwords.check_password(raw, stored, is_known=is_known)
        if account and is_right and is_outdated:
            renewed = await passwords.hash_password(raw)
            if await self.accounts.set_password(AccountId(account.id), renewed, expected_hash=account.password):
                account.password = renewed
        return is_right

    @sensitive_variables("old", "new")
    async def change_password(
        self, *, account: Account, old: str, new: str, keep_session_id: str | None = None, caller: Caller | None = None
    ) -> Account:
        """Change the password, and return the changed account. Raises FieldErrors.

        All sessions of the account end, except `keep_session_id`.
        """
        if not await self.check_password(account, old, caller=caller):
            raise FieldErrors(WRONG_PASSWORD)
        return await self._replace_password(account, new, account.password, keep_session_id, caller)

    @sensitive_variables("new")
    async def set_password(self, *, account: Account, new: str) -> Account:
        """Change the password as an operator, without the old password."""
        return await self._replace_password(account, new, "")

    @sensitive_variables("new")
    async def reset_password(self, *, account: Account, new: str, caller: Caller | None) -> Account:
        """Change the password after a link of a mail. Raises FieldErrors if it was changed since `account` was read."""
        return await self._replace_password(account, new, account.password, caller=caller)

    # Profile and state

    async def edit_profile(
        self, *, account_id: AccountId, private: bool | None = None, caller: Caller | None = None, **sent: str | None
    ) -> Account:
        """Change the texts by their names, and the privacy, unless they are None.

        Raises FieldErrors, AccountNotFound if the account is deleted, and AccountSilenced if the caller is silenced and
        changes a text. Followers stay if the account becomes private or public. If it becomes public, pending follow
        requests are not accepted automatically.
        """
        texts = validate_profile_texts({name: text for name, text in sent.items() if text is not None})
        self.check_texts(split_texts(texts))
        if "fields" in texts:
            former = await self.get(account_id)
            texts["fields"] = keep_checks(texts["fields"], former.fields)
        if caller is not None and caller.silenced_until_ms:
            account = await self.get(account_id)
            if any(getattr(account, name) != text for name, text in texts.items()):
                self.limits.require_may_write(caller)
        await self.limits.enforce_bytes("profiles", caller, len("".join(texts.values()).encode()))
        if private is not None:
            texts["private"] = "1" if private else "0"
        await self.accounts.edit(account_id, texts)
        if private is not None:
            log.info("privacy_changed", account=account_id, private=private)
        await self.on_names_changed([account_id])
        edited = await self.get(account_id)
        await self.on_profile_edited(edited)
        return edited

    async def set_picture(self, *, account_id: AccountId, kind: domain.PictureKind, name: str) -> None:
        """Set the name of the avatar or header; "" removes it. Raises AccountNotFound."""
        await self.accounts.edit(account_id, {kind: name})

    async def change_preferences(
        self, *, account_id: AccountId, change: domain.PreferencesChange
    ) -> domain.Preferences:
        """Store and return the changed preferences. Raises AccountNotFound, and FieldErrors for an unknown language."""
        return await self.accounts.change_preferences(account_id, lambda old: validate_languages(change(old)))

    async def suspend(self, *, account_id: AccountId) -> bool:
        """Hide the account and sign it out everywhere until it is reinstated. Returns whether the state changed.

        A suspended account loses its role. Raises LastOwner.
        """
        await self.staff.release(await self.get(account_id))
        changed = await self.accounts.change_state(account_id, domain.SUSPENDED, {"delete_ms": "0"})
        if not changed:  # a requested deletion cannot cancel a suspension
            await self.accounts.edit(account_id, {"delete_ms": "0"})
        await self._sign_out_hidden(account_id)
        log.info("suspended", account=account_id)
        return changed

    async def reinstate(self, *, account_id: AccountId, if_leaving: bool = False) -> bool:
        """Undo a suspension or a requested deletion. Returns whether the account was suspended.

        An account that was not approved waits again; JoiningService.reinstate adds it to the queue.
        If `if_leaving`, only a requested deletion is undone, and no suspension that came meanwhile.
        """
        changed = await self.accounts.change_state(account_id, domain.ACTIVE, {"delete_ms": "0"}, if_leaving=if_leaving)
        await self.on_names_changed([account_id])
        log.info("reinstated", account=account_id)
        return changed

    async def restrict(self, account_id: AccountId, restriction: domain.Restriction, value: int) -> bool:
        """Limit the account or mark its pictures (1 or 0), or silence it until a time (0: it may write again).

        Limited: only followers see the posts, and only followers are notified of the account. Marked pictures are shown
        as sensitive. Returns whether the account changed. Raises AccountNotFound.
        """
        changed = await self.accounts.set_restriction(account_id, restriction, value)
        log.info("restricted", account=account_id, restriction=restriction, value=value)
        return changed

    async def request_deletion(self, *, account_id: AccountId) -> int:
        """Hide the account and sign it out now, and delete it after the grace period. Returns the time, or 0 for now.

        The due entry is stored first, so that no crash leaves a hidden account that is never deleted. The account
        loses its role. Raises LastOwner.
        """
        await self.staff.release(await self.get(account_id))
        if not self.deletion_grace_ms:
            await self.delete(account_id=account_id)
            return 0
        delete_ms = self.clock.now_ms() + self.deletion_grace_ms
        await self.accounts.deletions.add(account_id, delete_ms)
        await self.accounts.change_state(account_id, domain.SUSPENDED, {"delete_ms": str(delete_ms)})
        await self._sign_out_hidden(account_id)
        log.info("deletion_requested", account=account_id)
        return delete_ms

    async def _sign_out_hidden(self, account_id: AccountId) -> None:
        await self.staff.release_hidden(account_id)
        await self.end_sessions(account_id)
        await self.on_names_changed([account_id])

    async def delete_due(self) -> None:
        """Delete the accounts whose grace period is over, unless the request was taken back."""
        now_ms = self.clock.now_ms()
        for account_id, _at_ms in await self.accounts.deletions.oldest(DELETIONS_PER_ROUND, until_ms=now_ms):
            account = await self.find(account_id)
            if account is not None and account.state != domain.ACTIVE and account.delete_ms:
                if account.delete_ms > now_ms:  # requested again later
                    await self.accounts.deletions.add(account_id, account.delete_ms)
                    continue
                if account.state == domain.WAITING:
                    await self.free(account_id=account_id)
                elif account.state == domain.DELETED or await self._delete_leaving(account_id):
                    await self.delete(account_id=account_id)
            await self.accounts.deletions.remove(account_id)

    async def _delete_leaving(self, account_id: AccountId) -> bool:
        """Set the state of an account that is leaving to deleted. Return False if a log-in has taken that back."""
        return await self.accounts.change_state(account_id, domain.DELETED, await _deleted_fields(), if_leaving=True)

    async def withdraw(self, *, account_id: AccountId) -> bool:
        """Delete an account that waits for approval, on its owner's request. Return whether it waited.

        The intent is stored first: a worker finishes what a crash interrupts.
        """
        if (await self.get(account_id)).state != domain.WAITING:
            return False
        await self.accounts.deletions.add(account_id, self.clock.now_ms())
        await self.accounts.edit(account_id, {"delete_ms": str(self.clock.now_ms())})  # staff can no longer approve it
        if (await self.get(account_id)).state != domain.WAITING:  # staff has approved the account meanwhile
            await self.accounts.edit(account_id, {"delete_ms": "0"})
            return False
        return await self.free(account_id=account_id)

    async def free(self, *, account_id: AccountId) -> bool:
        """Delete an account that waits for approval, and free its handle. Return whether it waited.

        It has never had a session, a post or a follow, so its id can be used again with its handle.
        """
        await self.end_sessions(account_id)  # tokens of apps, which begin to work with the approval
        await self._delete_data(account_id)
        is_freed = await self.accounts.free(account_id, await _deleted_fields())
        log.info("freed", account=account_id)
        return is_freed

    @property
    def periodic_tasks(self) -> tuple[PeriodicTask, ...]:
        return (PeriodicTask("deletions", DELETIONS_INTERVAL_S, self.delete_due),)

    async def delete(self, *, account_id: AccountId) -> bool:
        """Delete the account for good; its handle is never assigned again. Returns whether the state changed.

        A job is stored first, so that a worker completes the deletion if this process crashes. The call may be
        repeated. Raises AccountNotFound if there is no such account, and LastOwner.
        """
        await self.staff.release(await self.get(account_id))
        await self.on_deletion_requested(account_id)
        return await self.complete_deletion(account_id)

    async def complete_deletion(self, account_id: AccountId) -> bool:
        """Perform a deletion whose job is stored. Returns whether the state changed. Raises AccountNotFound.

        The state changes first, and every page then hides the account. A repetition performs all steps again.
        """
        changed = await self.accounts.change_state(account_id, domain.DELETED, await _deleted_fields())
        await self.staff.release_hidden(account_id)
        await self.end_sessions(account_id)
        await self._delete_data(account_id)
        await self.on_names_changed([account_id])
        log.info("deleted", account=account_id)
        return changed

    async def _delete_data(self, account_id: AccountId) -> None:
        """Close the sockets of a deleted account, and delete its private keys and counters."""
        for delete in self.on_account_deleted:
            await delete(account_id)
        await self.events.leave_networks(account_id)
        await self.accounts.delete_private_keys(account_id)
        await self.statistics.stats.delete_counters(Entity("account", account_id))

    async def _replace_password(
        self, account: Account, new: str, former: str, keep_session_id: str | None = None, caller: Caller | None = None
    ) -> Account:
        account_id, encoded = AccountId(account.id), await passwords.hash_password(new)
        if not await self.accounts.set_password(account_id, encoded, expected_hash=former):
            raise FieldErrors(WRONG_PASSWORD)  # another request changed the password meanwhile
        await self.end_sessions(account_id, keep_session_id)
        log.info("password_changed", account=account_id)
        await self.events.record(account_id, "password_changed", caller)
        await self.on_password_changed(account_id)
        return await self.get(account_id)


async def _deleted_fields() -> dict[str, str]:
    """Return the fields of a deleted account: no profile, no application, no rights, no password."""
    names = *PROFILE_TEXTS, "avatar", "header", "preferences", "role", "reason", "refusal", "network"
    empty_profile = dict.fromkeys(names, "") | {"staff": "0"}
    return {**empty_profile, "password": await passwords.hash_password(None)}


async def _account_without_password(handle: str, now_ms: int) -> Account:
    password = await passwords.hash_password(None)
    return Account(handle=handle, display_name=handle, password=password, created_ms=now_ms)
