"""Identifies the viewer of a websocket by the cookie of its handshake."""

from contextlib import suppress
from dataclasses import dataclass

from django.conf import settings

from accounts.sessions.service import SessionService
from socialsite.errors import SignInRequired
from socialsite.ids import AccountId
from socialsite.limits import ActionLimits, Caller
from socialsite.site.service import SiteService
from socialsite.store.errors import StoreError
from socialsite.web.asgi_types import Scope
from socialsite.web.middleware.address import find_scope_address
from socialsite.web.middleware.django_async import choose_language
from socialsite.web.services import SiteServices
from socialsite.web.websocket import get_header, parse_socket_cookies


@dataclass(frozen=True, slots=True)
class SocketViewer:
    """The viewer of a socket. `session_id` is the hex digest of the token. For a visitor both ids are None."""

    account_id: AccountId | None
    session_id: str | None
    language: str
    address: str


async def authenticate_socket(scope: Scope, services: SiteServices) -> SocketViewer:
    """Read the viewer, and count the handshake for its address.

    Raises RateLimited, StoreUnavailable, and SignInRequired for a visitor of a members-only site.
    """
    cookies, address = parse_socket_cookies(scope), find_scope_address(scope)
    with suppress(StoreError):  # visitors can read public timelines even if the limits are unavailable
        await services[ActionLimits].enforce(Caller(None, address), "address")
    cookie = cookies.get(settings.SESSION_COOKIE_NAME)
    account, session = await services[SessionService].load(cookie, services.clock.now_ms())
    accepted, site = get_header(scope, b"accept-language"), services[SiteService].settings
    if account is None and site.members_only:
        raise SignInRequired
    return SocketViewer(
        account_id=AccountId(account.id) if account else None,
        session_id=session.session_id if account else None,
        language=choose_language(cookies.get(settings.LANGUAGE_COOKIE_NAME, ""), accepted, site.default_language),
        address=address,
    )
