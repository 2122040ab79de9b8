"""The guard of outgoing requests: every request of the site to another site is sent by OutgoingClient.

A host is resolved once per connection. If one of its addresses is not public, the request is refused. The connection
is made to a checked address, so a second look-up cannot lead to another server. The client follows redirects itself
and checks each new URL in the same way. Size, time, number of redirects and content types are limited.
"""

import asyncio
import socket
import ssl
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

import httpcore
import idna

from socialsite.outgoing.addresses import is_public, is_public_host

PORTS = {"http": 80, "https": 443}
URL_MAX_LENGTH = 2_048
UNQUOTED = "%/:=&?~+!$,;'@()*[]"
"""Characters that a path and a query keep. Other special characters are quoted."""
SPACES, NO_LINE_ENDS = "".join(map(chr, range(33))), dict.fromkeys(map(ord, "\t\n\r"))
CODINGS = frozenset({"gzip", "x-gzip", "deflate", "compress", "x-compress", "br", "zstd", "dcb", "dcz"})
"""The content codings of IANA's registry by which a body may be compressed."""
MAX_REDIRECTS = 3
REDIRECTS = frozenset({301, 302, 303, 307, 308})
TIMEOUT_S = 10.0
MAX_HEAD_BYTES = 128 * 1024
MAX_CHUNKS = 10_000
PART_BYTES = 8 * 1024
"""What is read at once. Parsing a part of many small chunks takes 50 ms, in which no other task runs."""

Resolve = Callable[[str, int], Awaitable[list[str]]]
"""Returns the addresses of a host for a port. Raises OSError if the host has none."""


class OutgoingRefused(Exception):
    """The guard refuses the request or the response. A repetition would be refused again."""


class CertificateRefused(Exception):
    """Browsers do not accept the certificate of the other server, for example because its time is over."""


class OutgoingFailed(Exception):
    """The other server did not answer, or not in time. A repetition may succeed."""


@dataclass(frozen=True, slots=True)
class OutgoingResponse:
    """The response of another server. `url` is the address after redirects. Names of headers are in lower case."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes


_resolving_threads = ThreadPoolExecutor(max_workers=32, thread_name_prefix="resolve")
"""A thread waits for a name server longer than TIMEOUT_S. The threads of the event loop have other work."""


async def resolve_host(host: str, port: int) -> list[str]:
    look_up = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    entries = await asyncio.get_running_loop().run_in_executor(_resolving_threads, look_up)
    return [str(address[0]) for *_, address in entries]


class LimitedStream(httpcore.AsyncNetworkStream):
    """Reads at most `unread_bytes` more, at first those of a response without a body."""

    def __init__(self, stream: httpcore.AsyncNetworkStream) -> None:
        self._stream = stream
        self.unread_bytes = MAX_HEAD_BYTES

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        await asyncio.sleep(0)  # a TLS stream that has received enough does not let other tasks run
        content = await self._stream.read(min(max_bytes, PART_BYTES), timeout)
        self.unread_bytes -= len(content)
        if self.unread_bytes < 0:
            raise OutgoingRefused("more bytes than the content needs")
        return content

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(self, *args: Any, **options: Any) -> httpcore.AsyncNetworkStream:
        self._stream = await self._stream.start_tls(*args, **options)
        return self

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class PublicNetwork(httpcore.AsyncNetworkBackend):
    """Opens connections to public addresses, and to the addresses and ports in `exempt`."""

    def __init__(self, resolve: Resolve, exempt: Collection[tuple[str, int]]) -> None:
        self._resolve = resolve
        self._exempt = exempt
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(self, host: str, port: int, *args: Any, **options: Any) -> httpcore.AsyncNetworkStream:
        """Connect to the first address that accepts. Raises OutgoingRefused if an address of the host is not public."""
        try:
            addresses = list(dict.fromkeys(await self._resolve(host, port)))
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError(str(error)) from error
        for address in addresses:
            if not is_public(address) and (address, port) not in self._exempt:
                raise OutgoingRefused(f"{host} has an address that is not public: {address}")
        failure: httpcore.NetworkError | httpcore.TimeoutException = httpcore.ConnectError("no address")
        for address in addresses:
            try:
                return LimitedStream(await self._network.connect_tcp(address, port, *args, **options))
            except (httpcore.NetworkError, httpcore.TimeoutException) as error:
                failure = error
        raise failure


default_ssl_context = cache(httpcore.default_ssl_context)
"""Return the TLS context of all clients: reading the authorities takes 40 ms."""


class OutgoingClient:
    """Sends requests to other sites. Each request has a connection of its own.

    `site_url` is sent as the address of this program, because Wikimedia refuses programs without one. Only tests pass
    other parameters: `exempt` has the addresses and ports that are reached although they are not public.
    """

    def __init__(
        self,
        site_url: str = "",
        *,
        exempt: Collection[tuple[str, int]] = (),
        resolve: Resolve = resolve_host,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        self._site_url = site_url
        self.exempt = frozenset(exempt)
        self.resolve = resolve
        self._network = PublicNetwork(resolve, self.exempt)
        self._ssl_context = ssl_context

    async def get(
        self, url: str, *, accept: Collection[str], max_bytes: int, is_cut: bool = False, timeout_s: float = TIMEOUT_S
    ) -> OutgoingResponse:
        """Return the response at the URL, after at most MAX_REDIRECTS redirects.

        A response of status 200 has one of the content types `accept`. A body above `max_bytes` is refused, or cut if
        `is_cut`. Raises OutgoingRefused or OutgoingFailed.
        """
        async with _deadline(timeout_s):
            for _ in range(MAX_REDIRECTS + 1):
                target = self.check(url)
                async with self._send("GET", target, {"Accept": ", ".join(accept)}) as stream:
                    response = _read_head(url, stream)
                    location = response.headers.get("location")
                    if response.status not in REDIRECTS or location is None:
                        content_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
                        if response.status == 200 and content_type not in accept:
                            raise OutgoingRefused(f"the content type {content_type!r}")
                        body = await _read_body(stream, max_bytes, is_cut=is_cut)
                        codings = response.headers.get("content-encoding", "").lower().replace(",", " ").split()
                        if not CODINGS.isdisjoint(codings):  # browsers ignore other names, such as "utf-8"
                            body = _decompress(body, codings, max_bytes, is_cut=is_cut)
                        return replace(response, body=body)
                url = join_url(url, location)
        raise OutgoingRefused("too many redirects")

    async def post(self, url: str, content: bytes, headers: Mapping[str, str]) -> OutgoingResponse:
        """Send the content and return the response without its body. Redirects are not followed. Raises as `get`."""
        async with _deadline(TIMEOUT_S), self._send("POST", self.check(url), headers, content) as stream:
            return _read_head(url, stream)

    async def read_certificate_end(self, url: str) -> int:
        """Return the Unix ms at which the certificate of an HTTPS server ends. No request is sent.

        Raises CertificateRefused, OutgoingRefused or OutgoingFailed.
        """
        target = self.check(url)
        host, port = target.host.decode(), target.port or PORTS["https"]
        try:
            async with _deadline(TIMEOUT_S):
                stream = await self._network.connect_tcp(host, port)
                try:
                    secured = await stream.start_tls(self._ssl_context or default_ssl_context(), host)
                    certificate = secured.get_extra_info("ssl_object").getpeercert()
                finally:
                    await stream.aclose()
        except (httpcore.NetworkError, httpcore.TimeoutException) as error:
            if isinstance(error.__cause__, ssl.SSLCertVerificationError):
                raise CertificateRefused(str(error)) from error
            raise OutgoingFailed(f"{type(error).__name__}: {error}") from error
        return int(ssl.cert_time_to_seconds(certificate["notAfter"])) * 1000

    def check(self, url: str) -> httpcore.URL:
        """Return the target of a URL. Raises OutgoingRefused if its form is refused; no name is resolved."""
        if len(url) > URL_MAX_LENGTH or not url.isprintable() or " " in url or "\\" in url:
            raise OutgoingRefused("not a URL")
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", PORTS.get(parts.scheme, 0) if parts.port is None else parts.port
            if not host.isascii():
                host = idna.encode(host, uts46=True).decode()
        except (ValueError, UnicodeError) as error:
            raise OutgoingRefused(f"not a URL: {error}") from error
        if parts.scheme not in PORTS or "@" in parts.netloc:
            raise OutgoingRefused("not http or https, or with a user name")
        if (host, port) not in self.exempt and not (port in PORTS.values() and is_public_host(host)):
            raise OutgoingRefused(f"not a public host and port: {host}:{port}")
        target = quote(parts.path or "/", UNQUOTED) + (f"?{quote(parts.query, UNQUOTED)}" if parts.query else "")
        return httpcore.URL(scheme=parts.scheme, host=host, port=parts.port, target=target)

    @asynccontextmanager
    async def _send(
        self, method: str, url: httpcore.URL, headers: Mapping[str, str], content: bytes | None = None
    ) -> AsyncIterator[httpcore.Response]:
        """Send one request, and yield the response whose body is not read yet."""
        own = {"User-Agent": f"socialsite (+{self._site_url})", "Accept-Encoding": "identity", "Connection": "close"}
        sent = [(name.encode(), value.encode()) for name, value in (own | dict(headers)).items()]
        tls = self._ssl_context or default_ssl_context()
        pool = httpcore.AsyncConnectionPool(ssl_context=tls, network_backend=self._network)
        try:
            async with pool, pool.stream(method, url, headers=sent, content=content) as response:
                yield response
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException, ssl.SSLError) as error:
            raise OutgoingFailed(f"{type(error).__name__}: {error}") from error


@asynccontextmanager
async def _deadline(timeout_s: float) -> AsyncIterator[None]:
    """Raise OutgoingFailed if the block takes longer."""
    try:
        async with asyncio.timeout(timeout_s):
            yield
    except TimeoutError as error:
        raise OutgoingFailed(f"no response within {timeout_s} s") from error


def join_url(base: str, url: str) -> str:
    """Return the absolute URL, with spaces and line ends read as browsers do (URL Standard, 4.4).

    A text that is no URL stays as it is, and the guard refuses it.
    """
    reference = url.strip(SPACES).translate(NO_LINE_ENDS).replace(" ", "%20")
    try:
        return urljoin(base, reference)
    except ValueError:
        return reference


def _read_head(url: str, stream: httpcore.Response) -> OutgoingResponse:
    headers = {name.decode("ascii").lower(): value.decode("utf-8", "replace") for name, value in stream.headers}
    return OutgoingResponse(url, stream.status, headers, b"")


async def _read_body(stream: httpcore.Response, max_bytes: int, *, is_cut: bool) -> bytes:
    stream.extensions["network_stream"].unread_bytes += 2 * max_bytes
    body, chunks = bytearray(), 0
    async for chunk in stream.aiter_stream():
        body += chunk
        chunks += 1
        if len(body) > max_bytes or chunks > MAX_CHUNKS:
            if is_cut:
                break
            raise OutgoingRefused(f"more than {max_bytes} bytes or {MAX_CHUNKS} chunks")
    return bytes(body[:max_bytes])


def _decompress(body: bytes, codings: list[str], max_bytes: int, *, is_cut: bool) -> bytes:
    """Return the body of a server that compresses although the request did not accept it (RFC 9110, 12.5.3)."""
    if len(codings) > 1 or codings[0] not in ("gzip", "x-gzip", "deflate"):
        raise OutgoingRefused("a compressed body")
    try:
        content, is_whole = _inflate(body, zlib.MAX_WBITS | 32, max_bytes)
    except zlib.error:
        try:
            content, is_whole = _inflate(body, -zlib.MAX_WBITS, max_bytes)  # some servers leave the header out
        except zlib.error as error:
            raise OutgoingRefused("a compressed body that is damaged") from error
    if not is_cut and (len(content) > max_bytes or not is_whole):
        raise OutgoingRefused(f"a compressed body that is damaged or has more than {max_bytes} bytes")
    return content[:max_bytes]


def _inflate(body: bytes, window_bits: int, max_bytes: int) -> tuple[bytes, bool]:
    reader = zlib.decompressobj(window_bits)
    return reader.decompress(body, max_bytes + 1), reader.eof
