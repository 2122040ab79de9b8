"""URLs that name several servers: `redis+shards://user:password@h:p,h:p/0?partitioner=ring`.

Servers are separated by commas; one that begins with `/` is a unix socket. User, password and number of the
database hold for all of them. Raises ValueError with one sentence, which the caller puts behind the URL.
"""

import re
from dataclasses import dataclass
from typing import Self
from urllib.parse import parse_qs, parse_qsl, urlencode

from socialsite.store.connection import Address


@dataclass(frozen=True, slots=True)
class MultiServerUrl:
    """The parts of such a URL. `path` is what follows the servers, without its slash."""

    credentials: str
    servers: tuple[str, ...]
    path: str
    query: dict[str, str]

    @classmethod
    def parse(cls, url: str, *known: str) -> Self:
        """`known`: the query parameters that the topology understands."""
        rest, _, query = url.partition("://")[2].partition("?")
        credentials, _, hosts = rest.rpartition("@")
        path = ""
        if not hosts.startswith("/"):
            hosts, _, path = hosts.partition("/")
        options = dict(parse_qsl(query, keep_blank_values=True))
        reject_unknown_parameters(url, *known)
        return cls(credentials, split_servers(hosts), path, options)

    def address(self, place: str, *, db: str = "0", credentials: str | None = None) -> Address:
        """Where a server listens, with the credentials of the URL unless others are given."""
        if not db.isdigit():
            raise ValueError(f"{db!r} is not the number of a database")
        login = self.credentials if credentials is None else credentials
        login += "@" if login else ""
        if place.startswith("/"):
            return Address.parse(f"unix://{login}{place}?db={db}")
        host, _, port = place.rpartition(":")
        if not host or not port.isdigit():
            raise ValueError(f'{place!r} is not "host:port" or the path of a socket')
        return Address.parse(f"redis://{login}{place}/{db}")


def reject_unknown_parameters(url: str, *known: str) -> None:
    """A parameter that nobody reads is a misspelt one. Raises ValueError."""
    for name in parse_qs(url.partition("?")[2], keep_blank_values=True):
        if name not in known:
            raise ValueError(f"{name!r} is not among its parameters: {', '.join(known) or 'there are none'}")


def redact_credentials(url: str) -> str:
    """A URL as it may stand in a log: without users and passwords."""
    return re.sub(r"(_password=)[^&]*", r"\1***", re.sub(r"://.*@", "://***@", url))


def pop_parameter(url: str, name: str) -> tuple[str, list[str]]:
    """The URL without a query parameter that is ours alone, and the values it had."""
    own, _, query = url.partition("?")
    options = parse_qsl(query, keep_blank_values=True)
    values = [value for key, value in options if key == name]
    if not values:
        return url, []
    left = urlencode([option for option in options if option[0] != name])
    return own + ("?" + left if left else ""), values


def split_servers(text: str) -> tuple[str, ...]:
    """The servers of a comma-separated list, each named once."""
    places = tuple(place.strip() for place in text.split(","))
    if not all(places):
        raise ValueError("it names no server, or has one comma too many")
    if len(set(places)) < len(places):
        raise ValueError("it names a server twice")
    return places
