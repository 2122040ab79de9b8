"""The handshake of a websocket: its Origin check, its cookies and its error responses.

Browsers send cookies with a websocket from any page, so the Origin is checked first. If the Origin is absent or belongs
to another site, the handshake ends with 403. If the session cannot be read, it ends with 503.
"""

from collections.abc import Awaitable, Collection
from contextlib import suppress
from http import HTTPStatus
from urllib.parse import urlsplit

import structlog
from django.conf import settings
from django.http.request import split_domain_port, validate_host
from django.utils.http import is_same_domain

from socialsite.errors import RateLimited
from socialsite.limits import ActionLimits, Caller
from socialsite.store.errors import StoreError
from socialsite.web.asgi_types import Application, Receive, Scope, Send
from socialsite.web.daphne.flow_control import find_daphne_protocol
from socialsite.web.middleware.address import find_scope_address
from socialsite.web.request_budget import parse_cookies
from socialsite.web.services import loop_services

HEADER_LOG_MAX_LENGTH = 200  # characters
log = structlog.stdlib.get_logger("accounts.security")


class OriginMiddleware:
    """Refuses sockets from pages of other sites, except those in CSRF_TRUSTED_ORIGINS.

    The sockets at `token_paths` read no cookie, so that pages of any site may open them.
    """

    def __init__(self, application: Application, token_paths: Collection[str] = ()) -> None:
        self._application = application
        self._token_paths = frozenset(token_paths)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Return the application's coroutine. Another coroutine around it would take memory for every open socket."""
        is_own = is_own_origin(get_header(scope, b"origin"), get_header(scope, b"host"))
        if is_own or scope["path"] in self._token_paths:
            return self._application(scope, receive, send)
        return reject_handshake(scope, receive, send)


def is_own_origin(origin: str, host: str) -> bool:
    """Return whether the origin is trusted, or is this site: an allowed Host with the scheme of settings.HTTPS."""
    origin, host = origin.lower(), host.lower()
    domain, _ = split_domain_port(host)
    if not origin or not domain or not validate_host(domain, settings.ALLOWED_HOSTS):
        return False
    scheme = "https" if settings.HTTPS else "http"
    return origin == f"{scheme}://{host}" or any(
        _is_trusted(origin, trusted) for trusted in settings.CSRF_TRUSTED_ORIGINS
    )


def _is_trusted(origin: str, trusted: str) -> bool:
    """Match an origin as Django does for CSRF_TRUSTED_ORIGINS: `https://*.example.org` matches every subdomain."""
    if "*" not in trusted:
        return origin == trusted.lower().rstrip("/")
    pattern, parts = urlsplit(trusted.lower()), urlsplit(origin)
    return pattern.scheme == parts.scheme and is_same_domain(parts.netloc, pattern.netloc.lstrip("*"))


def get_header(scope: Scope, name: bytes) -> str:
    """Return the value of a header, "" if it is absent or repeated."""
    values = [value for key, value in scope["headers"] if key == name]
    return values[0].decode("latin-1") if len(values) == 1 else ""


async def reject_handshake(scope: Scope, receive: Receive, send: Send) -> None:
    """Count the handshake for its address and end it with 403. Above the limit, end it with 429 and no log entry."""
    await receive()  # websocket.connect
    origin, host = (get_header(scope, name)[:HEADER_LOG_MAX_LENGTH] for name in (b"origin", b"host"))
    address = find_scope_address(scope)
    try:
        with suppress(StoreError):
            services = await loop_services.get()
            await services[ActionLimits].enforce(Caller(None, address), "address")
    except RateLimited:
        await reject_with_status(send, HTTPStatus.TOO_MANY_REQUESTS)
        return
    if not is_own_origin(origin, host):
        log.info("origin_refused", origin=origin, host=host, client=address)
    await send({"type": "websocket.close", "code": 1000})


async def reject_with_status(send: Send, status: HTTPStatus) -> None:
    """End the handshake with `status` under daphne, or with 403 under other servers, since ASGI has no other status."""
    protocol = find_daphne_protocol(send)
    if protocol is None or not hasattr(protocol, "handshake_deferred"):
        await send({"type": "websocket.close", "code": 1000})
        return
    from autobahn.websocket.types import ConnectionDeny

    deferred = protocol.handshake_deferred
    del protocol.handshake_deferred
    denied = ConnectionDeny(status.value, status.phrase)  # type: ignore[no-untyped-call]
    deferred.errback(denied)
    protocol.server.protocol_disconnected(protocol)


def parse_socket_cookies(scope: Scope) -> dict[str, str]:
    return parse_cookies(get_header(scope, b"cookie"))
