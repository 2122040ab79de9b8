"""Rules for the hosts and addresses that requests of the site may reach: only the public internet."""

import re
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

HOST_NAME = re.compile(r"(?=.{1,253}\Z)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]")
"""A domain name with a dot. The last label starts with a letter, so 2130706433, 0x7f.1 and 127.1 are no names."""
LOCAL_SUFFIXES = (".localhost", ".local", ".internal", ".intranet", ".lan", ".home", ".corp", ".home.arpa", ".invalid")
"""Endings of names that a resolver of a private network may answer, or that never exist (RFC 6761, 6.4).

Browsers replace the endpoint of a removed push subscription by a name that ends with `.invalid`.
"""

NAT64 = IPv6Network("64:ff9b::/96")  # RFC 6052: the last 32 bits are an IPv4 address
GLOBAL_UNICAST = IPv6Network("2000::/3")
REFUSED_NETWORKS = tuple(
    ip_network(network)
    for network in (
        "168.63.129.16/32",  # the services of Azure for its machines
        "192.0.0.0/24",  # protocol assignments, with metadata services among them
        "192.88.99.0/24",  # relays of 6to4
        "2001::/23",  # protocol assignments, with Teredo among them
        "2002::/16",  # 6to4, which contains an IPv4 address
        "3fff::/20",  # documentation
    )
)


def is_public(address: str) -> bool:
    """Return whether the text is an address of the public internet. IPv4 addresses written as IPv6 count as IPv4."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, IPv6Address):
        if parsed.ipv4_mapped is not None:
            parsed = parsed.ipv4_mapped
        elif parsed in NAT64:
            parsed = IPv4Address(int(parsed) & 0xFFFFFFFF)
        elif parsed not in GLOBAL_UNICAST:
            return False
    is_special = not parsed.is_global or parsed.is_multicast or parsed.is_reserved
    return not is_special and not any(parsed in network for network in REFUSED_NETWORKS)


def is_public_host(host: str) -> bool:
    """Return whether the host of a URL may be requested: a domain name, or a public address in its usual form.

    The addresses of a name are not known here, and are checked when it is resolved.
    """
    return is_public(host) or bool(HOST_NAME.fullmatch(host) and not host.endswith(LOCAL_SUFFIXES))
