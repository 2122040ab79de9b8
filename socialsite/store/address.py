"""Where one server listens and how to be let in, from its URL.

What a URL says wrong is a ValueError of one sentence that repeats nothing of its credentials: the sentence
goes to logs.
"""

import re
from dataclasses import dataclass, replace
from typing import Any, Self
from urllib.parse import SplitResult, parse_qs, parse_qsl, urlencode, urlsplit

from redis.asyncio.connection import parse_url

VALID_PORTS = range(1, 65_536)


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens and how to be let in."""

    url: str
    path: str | None
    host: str
    port: int
    db: int
    username: str | None
    password: str | None
    tls: bool

    @classmethod
    def parse(cls, url: str) -> Self:
        """From `redis://`, `rediss://` or `unix://`. Raises ValueError."""
        validate_url(parts := split_url(url))
        found: dict[str, Any] = dict(parse_url(url))
        return cls(
            url=url,
            path=found.get("path"),
            host=found.get("host", "localhost"),
            port=int(found.get("port", 6379)),
            db=int(found.get("db", 0)),
            username=found.get("username"),
            password=found.get("password"),
            tls=parts.scheme == "rediss",
        )

    def with_host(self, host: str, port: int) -> Self:
        """Another server let in by the same credentials."""
        return replace(self, url="", path=None, host=host, port=port)

    def with_location(self, place: str) -> Self:
        """`host:port`, or the path of a socket, let in by the same credentials. Raises ValueError."""
        if place.startswith("/"):
            return replace(self, url="", path=place)
        host, _, port = place.rpartition(":")
        if not host or not port.isdigit() or int(port) not in VALID_PORTS:
            raise ValueError(f'{place!r} is not "host:port" or the path of a socket')
        return self.with_host(host, int(port))

    def __str__(self) -> str:
        return self.path or f"{self.host}:{self.port}"


def split_url(url: str) -> SplitResult:
    """The parts of a URL. Raises ValueError."""
    try:
        return urlsplit(url)
    except ValueError as error:  # its own text may repeat user and password
        raise ValueError("its host is no name or address (IPv6 stands in [brackets])") from error


def validate_url(parts: SplitResult) -> None:
    """What redis-py would pass over in silence, or tell with half a password. Raises ValueError."""
    try:
        is_port = parts.port is None or parts.port in VALID_PORTS
    except ValueError:
        is_port = False
    if not is_port:
        raise ValueError("its port is no number from 1 to 65535 (in a password # is written %23, / is %2F)")
    if parts.scheme == "unix" and not parts.path:
        raise ValueError("it names no socket: unix:///path")
    path = "" if parts.scheme == "unix" else parts.path.strip("/")
    for db in (path or "0", *parse_qs(parts.query).get("db", ())):
        if not db.isdigit():
            raise ValueError(f"{db!r} is not the number of a database")


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


# MERGED-DOC """URLs that name several servers: `redis+shards://user:password@h:p,h:p/0?partitioner=ring`.
#
# Servers are separated by commas; one that begins with `/` is a unix socket. User, password and number of the
# database hold for all of them. Raises ValueError with one sentence, which the caller puts behind the URL.
# """
