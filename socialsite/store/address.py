"""Where one server listens and how to be let in, from its URL.

What a URL says wrong is a ValueError of one sentence that repeats nothing of its credentials: the sentence
goes to logs.
"""

from dataclasses import dataclass, replace
from typing import Any, Self
from urllib.parse import SplitResult, parse_qs, urlsplit

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
