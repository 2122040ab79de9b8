"""Whose request this is, as the network tells it.

`X-Forwarded-For` grows to the right: each proxy appends whom it heard from. What stands left of the first
address that is no proxy of ours was written by the client, who may write anything. So the list is read from
the right, beginning with the peer of the connection, for as long as the addresses are in TRUSTED_PROXIES.
"""

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address

import structlog
from django.conf import settings
from django.http.response import HttpResponseBase

from socialsite.settings_parsers import Network
from socialsite.web.middleware.base import Middleware
from socialsite.web.requests import SiteRequest

IPAddress = IPv4Address | IPv6Address
UNKNOWN_ADDRESS = "unknown"
HOPS_MAX = 20
FORWARDED_CACHE_MAX_LENGTH = 100  # characters of X-Forwarded-For up to which the answer is kept


def find_client_address(peer: str | None, forwarded_for: str, trusted: Sequence[Network]) -> str:
    """The address of the client, as text.

    A peer without an address (a unix socket) is our own proxy where any are trusted. A hop that is no address
    ends the walk: the last proxy that could be read stands for everyone behind it.
    """
    found = _parse_address(peer or "")
    if not trusted or (found is not None and not _is_in_networks(found, trusted)):
        return str(found or UNKNOWN_ADDRESS)
    for text in reversed(forwarded_for.split(",")[-HOPS_MAX:] if forwarded_for else []):
        hop = _parse_address(text)
        if hop is None:
            break
        found = hop
        if not _is_in_networks(hop, trusted):
            break
    return str(found or UNKNOWN_ADDRESS)


cached_client_address = lru_cache(maxsize=4_096)(find_client_address)


def _parse_address(text: str) -> IPAddress | None:
    """An address, with or without a port; IPv4 in IPv6 clothes counts as IPv4."""
    bare = text.strip()
    if bare.startswith("["):
        bare = bare[1:].partition("]")[0]
    elif bare.count(":") == 1:
        bare = bare.partition(":")[0]
    try:
        address = ip_address(bare.partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _is_in_networks(address: IPAddress, networks: Sequence[Network]) -> bool:
    return any(address in network for network in networks)


class AddressMiddleware(Middleware):
    """Sets `request.client_address`, also for every line that is logged of the request."""

    async def __call__(self, request: SiteRequest) -> HttpResponseBase:
        meta = request.META
        forwarded_for = meta.get("HTTP_X_FORWARDED_FOR", "")
        trusted = tuple(settings.TRUSTED_PROXIES)
        read = cached_client_address if len(forwarded_for) <= FORWARDED_CACHE_MAX_LENGTH else find_client_address
        request.client_address = read(meta.get("REMOTE_ADDR"), forwarded_for, trusted)
        structlog.contextvars.bind_contextvars(client=request.client_address)
        return await self.get_response(request)
