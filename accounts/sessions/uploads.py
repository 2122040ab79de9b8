"""Identifies the account of a request with files by its head, before its body is read."""

from django.conf import settings

from accounts.sessions.service import SessionService
from accounts.sessions.tokens import AccessTokenService, parse_bearer
from socialsite.errors import RateLimited
from socialsite.limits import ActionLimits, Caller
from socialsite.store.errors import StoreError
from socialsite.web.asgi_types import Scope
from socialsite.web.middleware.address import find_scope_address
from socialsite.web.requests import is_api_path
from socialsite.web.services import loop_services
from socialsite.web.websocket import get_header, parse_socket_cookies


async def find_uploader(scope: Scope) -> int | None:
    """Return the id of the account. Return None for a visitor, above the limit of the address, or if the store
    fails."""
    try:
        services = await loop_services.get()
        await services[ActionLimits].enforce(Caller(None, find_scope_address(scope)), "address")
        if is_api_path(scope["path"]):
            text = parse_bearer(get_header(scope, b"authorization")) or ""
            account, _ = await services[AccessTokenService].load(text)
        else:
            cookie = parse_socket_cookies(scope).get(settings.SESSION_COOKIE_NAME)
            account, _ = await services[SessionService].load(cookie, services.clock.now_ms())
    except (StoreError, RateLimited):
        return None
    return None if account is None else account.id
