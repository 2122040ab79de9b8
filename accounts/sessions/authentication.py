"""Signs requests in and out through Django's `alogin` and `alogout`."""

import structlog
from django.contrib.auth import HASH_SESSION_KEY, alogin, alogout

from accounts.models import Account
from accounts.sessions.service import SessionStore
from accounts.sessions.values import describe_device
from socialsite.web.requests import SiteRequest, require_viewer

log = structlog.get_logger("accounts.security")


def require_account(request: SiteRequest) -> Account:
    """Return the signed-in account. Raises SignInRequired."""
    account = require_viewer(request)
    assert isinstance(account, Account)
    return account


def get_session(request: SiteRequest) -> SessionStore:
    session = request.session
    assert isinstance(session, SessionStore)
    return session


async def sign_in(request: SiteRequest, account: Account) -> None:
    """Open a session with a new token. The browser's earlier session ends, which prevents session fixation."""
    session = get_session(request)
    await session.aflush()
    session.device = describe_device(request.headers.get("User-Agent", ""))
    await alogin(request, account)
    request.account = account
    log.info("signed_in", account=account.id)


async def sign_out(request: SiteRequest) -> None:
    """End the session of this request if it has one."""
    account = request.account
    await alogout(request)
    request.account = None
    if account is not None:
        log.info("signed_out", account=account.id)


async def renew_session(request: SiteRequest, account: Account) -> None:
    """Continue the session after a change of the password, with a new token."""
    await request.session.acycle_key()
    await request.session.aset(HASH_SESSION_KEY, account.get_session_auth_hash())
    request.account = account
