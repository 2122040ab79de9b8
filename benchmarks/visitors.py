"""Accounts that are signed in."""

from collections.abc import Iterable

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY

from accounts.sessions.service import SessionStore
from socialsite.container import Services
from socialsite.ids import AccountId


async def sign_in(services: Services, ids: Iterable[AccountId]) -> dict[AccountId, str]:
    """Return a session cookie for each account, as the log-in page would set it."""
    cookies: dict[AccountId, str] = {}
    for account_id in ids:
        account = await services.accounts.find(account_id)
        assert account is not None
        session = SessionStore(None, sessions=services.sessions)
        session.make_anonymous()
        await session.aset(SESSION_KEY, str(account_id))
        await session.aset(BACKEND_SESSION_KEY, settings.AUTHENTICATION_BACKENDS[0])
        await session.aset(HASH_SESSION_KEY, account.get_session_auth_hash())
        await session.asave()
        assert session.session_key is not None
        cookies[account_id] = session.session_key
    return cookies
