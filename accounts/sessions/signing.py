"""Signing a request in and out: Django's alogin and alogout, and what they leave to the site."""

import structlog
from django.contrib.auth import HASH_SESSION_KEY, alogin, alogout

from accounts.models import Account
from accounts.sessions.device import describe_device
from accounts.sessions.django_store import SessionStore
from socialsite.web.requests import SiteRequest

log = structlog.get_logger("accounts.security")


def get_session(request: SiteRequest) -> SessionStore:
    """The session that the middleware has set."""
    session = request.session
    assert isinstance(session, SessionStore)
    return session


async def sign_in(request: SiteRequest, account: Account) -> None:
    """Open a session in a token of its own. Whatever session the browser came with ends (no fixation)."""
    session = get_session(request)
    await session.aflush()
    session.device = describe_device(request.headers.get("User-Agent", ""))
    await alogin(request, account)
    request.account = account
    log.info("signed_in", account=account.id)


async def sign_out(request: SiteRequest) -> None:
    """End the session of this request, if it has one."""
    account = request.account
    await alogout(request)
    request.account = None
    if account is not None:
        log.info("signed_out", account=account.id)


async def renew_session(request: SiteRequest, account: Account) -> None:
    """Go on with the account's new password, in a new token."""
    await request.session.acycle_key()
    await request.session.aset(HASH_SESSION_KEY, account.get_session_auth_hash())
    request.account = account
