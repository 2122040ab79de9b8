"""The host of this site, which people write behind a name, as in `@name@host`."""

from contextlib import suppress
from urllib.parse import urlsplit

import idna

_hosts: tuple[str, ...] = ()


def set_own_site(url: str) -> None:
    """Treat `name@host` as `name` if this URL has the host, with or without its port. The app calls this once."""
    global _hosts
    parts = urlsplit(url)
    hosts = [host.lower() for host in (parts.netloc, parts.hostname) if host]
    with suppress(idna.IDNAError):
        ascii_name = parts.hostname or ""
        hosts += [host.lower().replace(ascii_name, idna.decode(ascii_name)) for host in hosts if "xn--" in ascii_name]
    _hosts = tuple(dict.fromkeys(hosts))


def own_hosts() -> tuple[str, ...]:
    """Return the host of the site in lower case, with and without its port."""
    return _hosts


def remove_own_host(name: str) -> str:
    """Return `name` for `name@host` with the own host, and any other text unchanged."""
    handle, _, host = name.partition("@")
    return handle if host.lower() in _hosts else name
