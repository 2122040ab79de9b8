"""Log-ins that still need the second factor: the password was right, but there is no session yet.

The cookie has the form of a session's cookie and is no session: its digest is stored under another key.
"""

from typing import Final

from django.utils.crypto import constant_time_compare

from accounts import keys
from accounts.accounts.repository import AccountRepository, read_account_command
from accounts.factors.repository import STORE_BRIEFLY_SCRIPT
from accounts.models import Account
from accounts.sessions.values import SessionToken
from socialsite.ids import AccountId
from socialsite.service import Service
from socialsite.store.key import Key
from socialsite.store.store import Store

PENDING_LOGIN_TTL_MS: Final = 5 * 60_000


class PendingLogins(Service):
    """Stores pending log-ins. A new password and a request of deletion end them."""

    store: Store
    accounts: AccountRepository

    async def begin(self, account: Account) -> str:
        """Return the cookie of a new pending log-in of the account."""
        token = SessionToken.generate(AccountId(account.id))
        key, args = _key(token), (_permission(account), PENDING_LOGIN_TTL_MS)
        await self.store.component("sessions")[key].execute(*STORE_BRIEFLY_SCRIPT.command([key], args))
        return token.cookie_value

    async def find(self, cookie: str | None) -> Account | None:
        """Return the account of a pending log-in, in any state, or None if it has ended or the password has changed."""
        token = SessionToken.parse(cookie)
        if token is None:
            return None
        value, fields = await self.store.execute_all([("GET", _key(token)), read_account_command(token.owner)])
        account = self.accounts.parse_account(token.owner, fields)
        if value is None or account is None:
            return None
        return account if constant_time_compare(value, _permission(account)) else None

    async def finish(self, cookie: str | None) -> bool:
        """End a pending log-in. Only one of several concurrent calls returns True."""
        token = SessionToken.parse(cookie)
        return token is not None and bool(await self.store.write("DEL", _key(token)))


def _permission(account: Account) -> str:
    """Return the session hash of the account and the time of its requested deletion, which the log-in takes back."""
    return account.get_session_auth_hash() + (f" {account.delete_ms}" if account.is_leaving else "")


def _key(token: SessionToken) -> Key:
    return keys.pending_login(token.owner, token.session_id)
