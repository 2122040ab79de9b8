"""Host names in one form, so that all spellings of a blocked host are recognized."""

from functools import lru_cache
from urllib.parse import unquote, urlsplit

import idna


def normalize_host(host: str) -> str:
    """Return the host as browsers look it up (UTS 46), without port and final dot."""
    name = unquote(host).strip()
    try:
        name = name.lower() if name.isascii() else idna.uts46_remap(name, std3_rules=False, transitional=False)
    except idna.IDNAError:  # browsers cannot look up such a name
        return name
    if not name.startswith("["):
        name = name.partition(":")[0]
    labels = name.strip(".").split(".")
    return ".".join(each if each.isascii() else f"xn--{each.encode('punycode').decode()}" for each in labels)


def origin_of(url: str) -> str:
    """Return the origin of a URL as browsers write it: in lower case, with IDNA, without the default port.

    Source: RFC 6454, section 4. Raises ValueError.
    """
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port
    host = f"[{host}]" if ":" in host else normalize_host(host)
    default_port = {"http": 80, "https": 443}.get(parts.scheme)
    return f"{parts.scheme}://{host}" + (f":{port}" if port not in (None, default_port) else "")


@lru_cache(maxsize=8)
def compile_hosts(hosts: tuple[str, ...]) -> frozenset[str]:
    """Return the normalized hosts. Entries may be addresses of pages or mail addresses, or begin with "*."."""
    names = (host.rpartition("://")[2].partition("/")[0].rpartition("@")[2].removeprefix("*.") for host in hosts)
    return frozenset(filter(None, map(normalize_host, names)))


def is_blocked_host(host: str, blocked: frozenset[str]) -> bool:
    """Return whether the host, or a domain that contains it, is blocked."""
    labels = normalize_host(host).split(".") if blocked else []
    return any(".".join(labels[n:]) in blocked for n in range(len(labels)))
