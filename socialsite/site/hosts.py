"""Host names in one form, so that all spellings of a blocked host are recognized."""

from functools import lru_cache
from urllib.parse import unquote

_DOTS = str.maketrans("。．｡", "...")


def normalize_host(host: str) -> str:
    """Return the host in lower case and ASCII, without port and final dot."""
    name = unquote(host).translate(_DOTS).casefold().strip()
    if not name.startswith("["):
        name = name.partition(":")[0]
    name = name.strip(".")
    try:
        return name if name.isascii() else name.encode("idna").decode()
    except UnicodeError:
        return name


@lru_cache(maxsize=8)
def compile_hosts(hosts: tuple[str, ...]) -> frozenset[str]:
    """Return the normalized hosts. Entries may begin with "*." or a scheme."""
    names = (host.rpartition("://")[2].partition("/")[0].removeprefix("*.") for host in hosts)
    return frozenset(filter(None, map(normalize_host, names)))


def is_blocked_host(host: str, blocked: frozenset[str]) -> bool:
    """Return whether the host, or a domain that contains it, is blocked."""
    labels = normalize_host(host).split(".") if blocked else []
    return any(".".join(labels[n:]) in blocked for n in range(len(labels)))
