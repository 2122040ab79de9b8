"""Log-ins that still need the second factor: the password was right, but there is no session yet.

The cookie has the form of a session's cookie and is no session: its digest is stored under another key.
"""

from dataclasses import dataclass
from typing import Final

import msgspec
from django.utils.crypto import constant_time_compare

from accounts import keys
from accounts.accounts.repository import AccountRepository
from accounts.domain import ACTIVE, SUSPENDED
from accounts.factors.repository import STORE_BRIEFLY_SCRIPT
from accounts.models import Account
from accounts.sessions.values import SessionToken
from socialsite.ids import AccountId
from socialsite.store.key import Key
from socialsite.store.store import Store

PENDING_LOGIN_TTL_MS: Final = 5 * 60_000


class PendingLogin(msgspec.Struct, frozen=True, array_like=True):
    """The hash of the session that the password permits. A new password ends the pending log-in."""

    auth_hash: str


@dataclass(kw_only=True, slots=True)
class PendingLogins:
    """Stores the log-ins that need the second factor."""

    store: Store
    accounts: AccountRepository

    async def begin(self, account: Account) -> str:
        """Return the cookie of a new pending log-in of the account."""
        token = SessionToken.generate(AccountId(account.id))
        key, value = _key(token), PendingLogin(account.get_session_auth_hash())
        args = (msgspec.msgpack.encode(value), PENDING_LOGIN_TTL_MS)
        await self.store.component("sessions")[key].run(STORE_BRIEFLY_SCRIPT, [key], args)
        return token.cookie_value

    async def find(self, cookie: str | None) -> Account | None:
        """Return the account of a pending log-in, or None if it has ended or the password has changed.

        It may be suspended: its owner then reads why after the second factor.
        """
        account = await self.find_in_any_state(cookie)
        is_usable = account is not None and account.state in (ACTIVE, SUSPENDED) and not account.delete_ms
        return account if is_usable else None

    async def find_in_any_state(self, cookie: str | None) -> Account | None:
        """Return the account as `find` does, for example of a person whose account waits for approval."""
        token = SessionToken.parse(cookie)
        if token is None:
            return None
        key = _key(token)
        value, fields = await self.store.gather([("GET", key), self.accounts.read_account_command(token.account_id)])
        account = self.accounts.parse_account(token.account_id, fields)
        if value is None or account is None:
            return None
        auth_hash = msgspec.msgpack.decode(value, type=PendingLogin).auth_hash
        return account if constant_time_compare(auth_hash, account.get_session_auth_hash()) else None

    async def finish(self, cookie: str | None) -> bool:
        """End a pending log-in. Only one of several concurrent calls returns True."""
        token = SessionToken.parse(cookie)
        if token is None:
            return False
        key = _key(token)
        (deleted,) = await self.store.write(key, ("DEL", key))
        return bool(deleted)


def _key(token: SessionToken) -> Key:
    return keys.pending_login(token.account_id, token.session_id)
