"""The address of the client that sent a request.

Each proxy appends the address of its client to `X-Forwarded-For`. So the addresses are read from the right, starting
with the peer of the connection. The first address that is not in TRUSTED_PROXIES is the client; it may have forged the
entries to the left.
"""

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address

import structlog
from django.conf import settings
from django.http.response import HttpResponseBase

from socialsite.limits import request_address
from socialsite.settings_parsers import Network
from socialsite.web.asgi_types import Scope
from socialsite.web.middleware.base import Middleware
from socialsite.web.requests import SiteRequest

IPAddress = IPv4Address | IPv6Address
UNKNOWN_ADDRESS = "unknown"
HOPS_MAX = 20
FORWARDED_CACHE_MAX_LENGTH = 100  # characters of the longest X-Forwarded-For that is cached


def find_client_address(peer: str | None, forwarded_for: str, trusted: Sequence[Network]) -> str:
    """Return the address of the client as text, or UNKNOWN_ADDRESS.

    A peer without an address (a Unix socket) counts as a trusted proxy if any proxy is configured. An entry that is
    not an address ends the search: the last proxy with an address counts as the client.
    """
    address = _parse_address(peer or "")
    if not trusted or (address is not None and not _is_in_networks(address, trusted)):
        return str(address or UNKNOWN_ADDRESS)
    for text in reversed(forwarded_for.split(",")[-HOPS_MAX:] if forwarded_for else []):
        hop = _parse_address(text)
        if hop is None:
            break
        address = hop
        if not _is_in_networks(hop, trusted):
            break
    return str(address or UNKNOWN_ADDRESS)


cached_client_address = lru_cache(maxsize=4_096)(find_client_address)


def find_scope_address(scope: Scope) -> str:
    client = scope.get("client")
    forwarded_for = ",".join(value.decode("latin-1") for key, value in scope["headers"] if key == b"x-forwarded-for")
    return find_client_address(client[0] if client else None, forwarded_for, settings.TRUSTED_PROXIES)


def _parse_address(text: str) -> IPAddress | None:
    """Parse an address with or without a port. An IPv4-mapped IPv6 address becomes IPv4."""
    host = text.strip()
    if host.startswith("["):
        host = host[1:].partition("]")[0]
    elif host.count(":") == 1:
        host = host.partition(":")[0]
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _is_in_networks(address: IPAddress, networks: Sequence[Network]) -> bool:
    return any(address in network for network in networks)


class AddressMiddleware(Middleware):
    """Sets `request.client_address`, and adds it to the counted bytes and to every log line of the request."""

    async def __call__(self, request: SiteRequest) -> HttpResponseBase:
        meta = request.META
        forwarded_for = meta.get("HTTP_X_FORWARDED_FOR", "")
        trusted = tuple(settings.TRUSTED_PROXIES)
        is_short = len(forwarded_for) <= FORWARDED_CACHE_MAX_LENGTH
        find_address = cached_client_address if is_short else find_client_address
        request.client_address = find_address(meta.get("REMOTE_ADDR"), forwarded_for, trusted)
        request_address.set(request.client_address)
        structlog.contextvars.bind_contextvars(client=request.client_address)
        return await self.get_response(request)
