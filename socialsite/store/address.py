"""Server addresses, and the URLs that contain one or several of them.

An invalid URL raises ValueError with one sentence. The sentence contains no credentials, because it is logged.
"""

import re
import ssl
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Self
from urllib.parse import SplitResult, parse_qs, parse_qsl, quote, urlencode, urlsplit

from redis.asyncio.connection import parse_url

VALID_PORTS = range(1, 65_536)
NO_PORT = "its port is no number from 1 to 65535 (in a password # is written %23, / is %2F, ? is %3F)"
TLS_PARAMETERS = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_check_hostname")
"""The query parameters of `rediss://` URLs, with the names of redis-py.

They name the files of the CA, the client's certificate and the client's key. `ssl_check_hostname=no` is for
certificates that do not name their servers.
"""

VALKEY_SCHEME = re.compile(r"^valkey(s?)(?=(?:\+[a-z]+)?://)")
"""The names that Valkey and its providers use for `redis://` and `rediss://`."""


def with_redis_scheme(url: str) -> str:
    """Return a URL that an operator wrote, with the schemes of Redis instead of those of Valkey."""
    return VALKEY_SCHEME.sub(r"redis\1", url)


@dataclass(frozen=True, slots=True)
class TlsOptions:
    """The TLS parameters of a URL. If `ca_certs` is None, the CAs of the system are used."""

    ca_certs: str | None = None
    certfile: str | None = None
    keyfile: str | None = None
    check_hostname: bool = True

    @classmethod
    def parse(cls, query: dict[str, str]) -> Self:
        """Parse the TLS parameters of a query. Raises ValueError if a file cannot be used."""
        options = cls(
            query.get("ssl_ca_certs"),
            query.get("ssl_certfile"),
            query.get("ssl_keyfile"),
            query.get("ssl_check_hostname", "yes").lower() not in ("no", "false", "0"),
        )
        try:
            options.context()
        except OSError as error:
            raise ValueError(f"the files of its TLS parameters cannot be used: {error.strerror or error}") from error
        return options

    def context(self) -> ssl.SSLContext:
        """Return the TLS context. Its files are read once. Raises OSError."""
        return _load_tls_context(self)


@lru_cache(maxsize=64)
def _load_tls_context(options: TlsOptions) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=options.ca_certs)
    context.check_hostname = options.check_hostname
    if options.certfile is not None:
        context.load_cert_chain(options.certfile, options.keyfile)
    return context


@dataclass(frozen=True, slots=True)
class Address:
    """Address and credentials of one server."""

    url: str
    path: str | None
    host: str
    port: int
    db: int
    username: str | None
    password: str | None
    tls: TlsOptions | None

    @classmethod
    def parse(cls, url: str) -> Self:
        """Parse a `redis://`, `rediss://` or `unix://` URL. Raises ValueError."""
        validate_url(parts := split_url(url))
        tls_query = {name: value for name, value in parse_qsl(parts.query) if name in TLS_PARAMETERS}
        if tls_query and parts.scheme != "rediss":
            raise ValueError(f"{', '.join(tls_query)} needs a URL with TLS: rediss://")
        options: dict[str, Any] = dict(parse_url(url))
        return cls(
            url=url,
            path=options.get("path"),
            host=options.get("host", "localhost"),
            port=int(options.get("port", 6379)),
            db=int(options.get("db", 0)),
            username=options.get("username"),
            password=options.get("password"),
            tls=TlsOptions.parse(tls_query) if parts.scheme == "rediss" else None,
        )

    def with_host(self, host: str, port: int) -> Self:
        """Return the address of another server with the same credentials."""
        return replace(self, url="", path=None, host=host, port=port)

    def with_location(self, location: str) -> Self:
        """Return the address at `host:port` or a unix socket's path, with the same credentials. Raises ValueError."""
        if location.startswith("/"):
            return replace(self, url="", path=location)
        host, _, port = location.rpartition(":")
        if not host or not port.isdigit() or int(port) not in VALID_PORTS:
            raise ValueError(f'{location!r} is not "host:port" or the path of a socket')
        return self.with_host(host.removeprefix("[").removesuffix("]"), int(port))

    def __str__(self) -> str:
        return self.path or f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


def split_url(url: str) -> SplitResult:
    """Split a URL as `urlsplit` does. Raises ValueError with a message that contains no credentials."""
    try:
        return urlsplit(url)
    except ValueError as error:  # the text of the error may contain user and password
        raise ValueError("its host is not a name or address (IPv6 needs [brackets])") from error


def validate_url(parts: SplitResult) -> None:
    """Raise ValueError for mistakes that redis-py ignores or reports with a part of the password."""
    try:
        is_port = parts.port is None or parts.port in VALID_PORTS
    except ValueError:
        is_port = False
    is_cut = parts.scheme != "unix" and "@" not in parts.netloc and "@" in f"{parts.path}{parts.query}"
    if not is_port or is_cut or parts.fragment:
        raise ValueError(NO_PORT)
    if parts.scheme == "unix" and not parts.path:
        raise ValueError("it names no socket: unix:///path")
    path = "" if parts.scheme == "unix" else parts.path.strip("/")
    for db in (path or "0", *parse_qs(parts.query).get("db", ())):
        if not db.isdigit():
            raise ValueError(f"{db!r} is not the number of a database")


@dataclass(frozen=True, slots=True)
class MultiServerUrl:
    """A URL with several servers: `redis+shards://user:password@h:p,h:p/0?partitioner=ring`.

    Servers are separated by commas; a server that begins with `/` is a unix socket. The credentials and the number of
    the database apply to all servers. `path` is the text after the servers, without its slash. If the scheme begins
    with `rediss`, all connections use TLS.
    """

    scheme: str

    credentials: str
    servers: tuple[str, ...]
    path: str
    query: dict[str, str]

    @classmethod
    def parse(cls, url: str, *parameters: str) -> Self:
        """Parse a URL. Only these query parameters and the TLS parameters are allowed. Raises ValueError."""
        scheme, _, location = url.partition("://")
        rest, _, query = location.partition("?")
        credentials, _, hosts = rest.rpartition("@")
        path = ""
        if not hosts.startswith("/"):
            hosts, _, path = hosts.partition("/")
        options = dict(parse_qsl(query, keep_blank_values=True))
        has_tls = scheme.startswith("rediss")
        reject_unknown_parameters(url, *parameters, *(TLS_PARAMETERS if has_tls else ()))
        return cls("rediss" if has_tls else "redis", credentials, split_servers(hosts), path, options)

    def address(self, location: str, *, db: str = "0", credentials: str | None = None) -> Address:
        """Return the address of a server. If `credentials` is None, the URL's credentials are used."""
        if not db.isdigit():
            raise ValueError(f"{db!r} is not the number of a database")
        login = self.credentials if credentials is None else credentials
        login += "@" if login else ""
        if location.startswith("/"):
            return Address.parse(f"unix://{login}{location}?db={db}")
        host, _, port = location.rpartition(":")
        if not host or not port.isdigit():
            raise ValueError(f'{location!r} is not "host:port" or the path of a socket')
        tls_query = urlencode({name: value for name, value in self.query.items() if name in TLS_PARAMETERS})
        return Address.parse(f"{self.scheme}://{login}{location}/{db}" + (f"?{tls_query}" if tls_query else ""))


@dataclass(frozen=True, slots=True)
class SentinelUrl:
    """A URL `redis+sentinel://user:password@h:p,h:p/<master>?db=0&sentinel_password=...`.

    `login` has the credentials and the database of the master and its replicas.
    """

    sentinels: tuple[Address, ...]
    master_name: str
    login: Address

    @classmethod
    def parse(cls, url: str) -> Self:
        """Parse a URL. Raises ValueError."""
        parts = MultiServerUrl.parse(url, "db", "sentinel_username", "sentinel_password")
        if not parts.path or "/" in parts.path:
            raise ValueError("the name of the master follows the last Sentinel: .../<master>")
        login = [quote(parts.query.get(f"sentinel_{field}", ""), safe="") for field in ("username", "password")]
        credentials = ":".join(login) if any(login) else ""
        sentinels = tuple(parts.address(server, credentials=credentials) for server in parts.servers)
        return cls(sentinels, parts.path, parts.address(parts.servers[0], db=parts.query.get("db", "0")))


def reject_unknown_parameters(url: str, *parameters: str) -> None:
    """Raise ValueError if the URL has another query parameter, which is probably misspelt."""
    for name in parse_qs(url.partition("?")[2], keep_blank_values=True):
        if "@" in name:  # the query contains the end of a password
            raise ValueError(NO_PORT)
        if name not in parameters:
            raise ValueError(f"{name!r} is not among its parameters: {', '.join(parameters) or 'there are none'}")


def redact_credentials(url: str) -> str:
    """Return the URL without users and passwords, for logs."""
    return re.sub(r"(password=)[^&]*", r"\1***", re.sub(r"://.*@", "://***@", url))


def pop_parameter(url: str, name: str) -> tuple[str, list[str]]:
    """Return the URL without a query parameter, and the values of that parameter."""
    base, _, query = url.partition("?")
    options = parse_qsl(query, keep_blank_values=True)
    values = [value for key, value in options if key == name]
    if not values:
        return url, []
    new_query = urlencode([option for option in options if option[0] != name])
    return base + ("?" + new_query if new_query else ""), values


def split_servers(text: str) -> tuple[str, ...]:
    """Return the servers of a comma-separated list. Raises ValueError if one is empty or listed twice."""
    servers = tuple(server.strip() for server in text.split(","))
    if not all(servers):
        raise ValueError("it names no server, or has one comma too many")
    if len(set(servers)) < len(servers):
        raise ValueError("it names a server twice")
    return servers
