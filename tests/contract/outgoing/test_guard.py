"""The guard of outgoing requests against a corpus of addresses, and against servers that harm their clients.

Requests of these tests reach loopback only: the connections of other addresses are recorded, not made.
"""

import ast
import asyncio
import gzip
import ssl
import threading
import time
import zlib
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from pathlib import Path

import httpcore
import pytest

from socialsite.container import Services
from socialsite.outgoing.requests import OutgoingClient, OutgoingFailed, OutgoingRefused, resolve_host
from tests.support.certificates import Certificates
from tests.support.remote_server import Answer, RemoteServer, Write, redirect_to, remote_server, respond

HTML = ("text/html",)
PUBLIC_V4, PUBLIC_V6 = "93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"

NOT_PUBLIC = (
    # this machine and unspecified
    "127.0.0.1", "127.0.0.2", "127.255.255.254", "0.0.0.0", "0.1.2.3", "::1", "::",
    # private, shared and link-local networks, with metadata services
    "10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "192.168.255.255",
    "100.64.0.1", "100.100.100.200", "169.254.0.1", "169.254.169.254", "169.254.170.2", "168.63.129.16",
    "192.0.0.192", "192.0.0.8", "fc00::1", "fd00:ec2::254", "fd12:3456::1", "fe80::1", "fec0::1",
    # protocols, documentation, tests, multicast, broadcast
    "192.88.99.1", "192.0.2.1", "198.51.100.1", "203.0.113.1", "198.18.0.1", "198.19.255.255", "224.0.0.1",
    "239.255.255.250", "240.0.0.1", "255.255.255.255", "ff02::1", "ff0e::1", "2001:db8::1", "3fff::1", "100::1",
    "5f00::1", "2001::1", "4000::1",
    # IPv4 in IPv6
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "::ffff:0:127.0.0.1",
    "2002:7f00:1::1", "2002:a9fe:a9fe::", "64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::169.254.169.254",
    "64:ff9b:1::127.0.0.1",
)  # fmt: skip

REFUSED_FORMS = (
    # other forms of 127.0.0.1
    "http://2130706433/", "http://0x7f000001/", "http://017700000001/", "http://0x7f.0.0.1/", "http://0177.0.0.1/",
    "http://127.1/", "http://127.0.1/", "http://0/", "http://127.0.0.1./", "http://①②⑦.⓪.⓪.①/", "http://１２７.0.0.1/",
    "http://127。0。0。1/", "http://127%2e0%2e0%2e1/", "http://[::ffff:7f00:1]/", "http://[0:0:0:0:0:0:0:1]/",
    "http://[::1%25lo]/", "http://[fe80::1%25eth0]/", "http://[::ffff:0x7f.1]/", "http://0300.0250.0.1/",
    # names of the own network
    "http://localhost/", "http://LOCALHOST/", "http://localhost./", "http://a.localhost/", "http://x.invalid/", "http://printer.local/",
    "http://metadata.google.internal/", "http://redis/", "http://router.lan/", "http://home.arpa./",
    "http://ｌｏｃａｌｈｏｓｔ/", "http://metadata/",
    # other schemes
    "file:///etc/passwd", "gopher://example.com/_x", "ftp://example.com/", "unix:/run/redis.sock",
    "dict://example.com/", "http+unix://%2Frun%2Fredis.sock/", "ldap://example.com/", "data:text/html,x",
    "javascript:alert(1)", "//example.com",
    "jar:http://example.com!/", "ws://example.com/", "redis://example.com:6379/", "http:example.com", "http:///etc",
    # users, ports, and forms that parsers read differently
    "http://user@example.com/", "http://user:pw@example.com/", "http://example.com@127.0.0.1/", "http://@example.com/",
    "http://example.com:6379/", "http://example.com:22/", "http://example.com:8080/", "http://example.com:0/",
    "http://example.com:65536/", "http://example.com:-80/", "http://example.com:0x50/", "http://exa mple.com/",
    "http://example.com\\@127.0.0.1/",
    "http://127.0.0.1\t/", "http://example.com\r\nHost: x/", "http://example.com\x00.evil/", "http://[::1/", "http://]/",
    "http://example.com#@127.0.0.1:6379/", "http://.example.com/", "http://example..com/", "http://-a.example.com/",
    "http://" + "a" * 64 + ".com/", "http://" + "a." * 127 + "com/", "http://example.com/" + "a" * 2048, "", "http://",
)  # fmt: skip
HARMLESS_FORMS = {"http://example.com#@127.0.0.1:6379/"}  # the rest is a fragment, which is not sent


class RecordedNetwork(httpcore.AsyncNetworkBackend):
    """Records the addresses of connections, and makes none."""

    def __init__(self) -> None:
        self.addresses: list[str] = []

    async def connect_tcp(self, host: str, *_: object, **__: object) -> httpcore.AsyncNetworkStream:
        self.addresses.append(host)
        raise httpcore.ConnectError("recorded")


def recorded_client(addresses: Iterable[str] | None = None) -> tuple[OutgoingClient, RecordedNetwork]:
    """Return a client that makes no connection. All hosts have the `addresses`, by default those of the system."""

    async def resolve(host: str, port: int) -> list[str]:
        return await resolve_host(host, port) if addresses is None else list(addresses)

    client, recorded = OutgoingClient(resolve=resolve), RecordedNetwork()
    client._network._network = recorded  # type: ignore[assignment]
    return client, recorded


def url_of(address: str) -> str:
    return f"http://[{address}]/" if ":" in address else f"http://{address}/"


@pytest.mark.parametrize("address", NOT_PUBLIC)
async def test_an_address_that_is_not_public_is_refused_in_a_url_and_in_the_answer_of_a_resolver(address: str) -> None:
    client, recorded = recorded_client()
    with pytest.raises(OutgoingRefused):
        await client.get(url_of(address), accept=HTML, max_bytes=1)
    for answers in ([address], [PUBLIC_V4, address], [address, PUBLIC_V6]):
        client, recorded = recorded_client(answers)
        with pytest.raises(OutgoingRefused):
            await client.get("https://example.com/", accept=HTML, max_bytes=1)
        with pytest.raises(OutgoingRefused):
            await client.post("https://example.com/", b"x", {})
        assert recorded.addresses == []


@pytest.mark.parametrize("url", REFUSED_FORMS)
async def test_a_url_of_another_form_is_refused_also_after_a_redirect(url: str, site: RemoteServer) -> None:
    addresses = [PUBLIC_V4] if url not in HARMLESS_FORMS else ["127.0.0.1"]
    client, recorded = recorded_client(addresses)
    with pytest.raises(OutgoingRefused):
        await client.get(url, accept=HTML, max_bytes=1)
    with pytest.raises(OutgoingRefused):
        await client.post(url, b"x", {})
    assert recorded.addresses == []


async def test_a_public_address_is_reached() -> None:
    """The control of the two tests above: their client makes connections if the guard lets it."""
    for url in (url_of(PUBLIC_V4), url_of(PUBLIC_V6), "https://example.com/", "http://münchen.example.com/ä?ö#ü"):
        client, recorded = recorded_client([PUBLIC_V6, PUBLIC_V4])
        with pytest.raises(OutgoingFailed, match="recorded"):
            await client.get(url, accept=HTML, max_bytes=1)
        assert recorded.addresses == [PUBLIC_V6, PUBLIC_V4]


@pytest.fixture
async def site() -> AsyncIterator[RemoteServer]:
    async with remote_server() as server:
        yield server


@pytest.fixture
def client(site: RemoteServer) -> OutgoingClient:
    return OutgoingClient("https://own.example", exempt=site.exempt)


async def fetch(client: OutgoingClient, url: str, max_bytes: int = 1000, timeout_s: float = 10.0) -> bytes:
    return (await client.get(url, accept=HTML, max_bytes=max_bytes, timeout_s=timeout_s)).body


RELATIVE_FORMS = {"http:example.com", "http:///etc", "http://", "//example.com", ""}  # a redirect to the own host
REDIRECT_TARGETS = (
    *map(url_of, NOT_PUBLIC),
    *(url for url in REFUSED_FORMS if url.isprintable() and url not in RELATIVE_FORMS | HARMLESS_FORMS),
)


async def test_a_redirect_to_a_refused_address_is_refused(site: RemoteServer, client: OutgoingClient) -> None:
    async with remote_server("127.0.0.2", site.port) as private:
        targets = (*REDIRECT_TARGETS, f"http://127.0.0.2:{site.port}/", f"//127.0.0.2:{site.port}/")
        for number, target in enumerate(targets):
            site.answers[f"/{number}"] = redirect_to(target)
            site.answers[f"/chain/{number}"] = redirect_to(f"{site.origin}/{number}")
            for path in (f"/{number}", f"/chain/{number}"):
                with pytest.raises(OutgoingRefused):
                    await fetch(client, site.origin + path)
        assert private.requests == []
    assert len(targets) > 100


async def test_redirects_are_followed_three_times(site: RemoteServer, client: OutgoingClient) -> None:
    site.answers |= {f"/{number}": redirect_to(f"/{number + 1}") for number in range(4)}
    site.answers |= {"/4": respond("arrived"), "/loop": redirect_to("/loop")}
    response = await client.get(f"{site.origin}/1", accept=HTML, max_bytes=100)
    assert (response.body, response.url) == (b"arrived", f"{site.origin}/4")
    for path in ("/0", "/loop"):
        with pytest.raises(OutgoingRefused, match="redirects"):
            await fetch(client, site.origin + path)


async def test_a_name_is_resolved_once_per_connection_and_again_after_a_redirect(site: RemoteServer) -> None:
    """DNS rebinding: the second look-up of the name answers with an address that is not permitted."""
    async with remote_server("127.0.0.2", site.port) as private:
        look_ups: list[str] = []

        async def resolve(host: str, port: int) -> list[str]:
            look_ups.append(host)
            return ["127.0.0.1"] if len(look_ups) == 1 else ["127.0.0.2"]

        client = OutgoingClient(exempt={*site.exempt, ("name.example", site.port)}, resolve=resolve)
        site.answers |= {"/": respond("public"), "/again": redirect_to("/")}
        assert await fetch(client, f"http://name.example:{site.port}/") == b"public"
        assert look_ups == ["name.example"]
        assert site.requests[0].headers["host"] == f"name.example:{site.port}"
        look_ups.clear()
        with pytest.raises(OutgoingRefused, match=r"127\.0\.0\.2"):
            await fetch(client, f"http://name.example:{site.port}/again")
        assert (look_ups, private.requests) == (["name.example"] * 2, [])


async def test_a_body_is_limited(site: RemoteServer, client: OutgoingClient) -> None:
    async def endless(write: Write) -> None:
        await write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            await write(b"1000\r\n" + b"a" * 4096 + b"\r\n")

    site.answers |= {"/endless": endless, "/exact": respond("a" * 1000), "/more": respond("a" * 1001)}
    assert len(await fetch(client, f"{site.origin}/exact")) == 1000
    for path in ("/more", "/endless"):
        with pytest.raises(OutgoingRefused, match="bytes"):
            await fetch(client, site.origin + path)
    cut = await client.get(f"{site.origin}/endless", accept=HTML, max_bytes=1000, is_cut=True)
    assert cut.body == b"a" * 1000


async def test_a_slow_or_endless_response_ends_at_the_deadline(site: RemoteServer, client: OutgoingClient) -> None:
    async def drip(write: Write) -> None:
        await write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
        while True:
            await write(b"a")
            await asyncio.sleep(0.05)

    async def informs(write: Write) -> None:
        while True:
            await write(b"HTTP/1.1 102 Processing\r\n\r\n")
            await asyncio.sleep(0.01)

    async def nothing(write: Write) -> None:
        await asyncio.Event().wait()

    site.answers |= {"/drip": drip, "/informs": informs, "/nothing": nothing}
    for path in ("/drip", "/informs", "/nothing"):
        with pytest.raises(OutgoingFailed, match="within"):
            await fetch(client, site.origin + path, max_bytes=100_000, timeout_s=0.4)


CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"


def endlessly(beginning: bytes, part: bytes) -> Answer:
    async def answer(write: Write) -> None:
        await write(beginning)
        while True:
            await write(part)

    return answer


@pytest.mark.parametrize("is_cut", [False, True])
@pytest.mark.parametrize(
    "answer",
    [
        endlessly(CHUNKED, b"1\r\na\r\n" * 20_000),
        endlessly(CHUNKED, b"1;" + b"a" * 60_000 + b"\r\na\r\n"),
        endlessly(b"", b"HTTP/1.1 102 \r\n\r\n" * 5_000),
    ],
    ids=["small chunks", "extensions of chunks", "informational responses"],
)
async def test_responses_with_little_content_and_much_else_are_limited(
    site: RemoteServer, client: OutgoingClient, answer: Answer, is_cut: bool
) -> None:
    """Each would keep the event loop busy until the deadline, with less content than `max_bytes`."""
    site.answers["/"] = answer
    began = time.process_time()
    with suppress(OutgoingRefused):
        response = await client.get(f"{site.origin}/", accept=HTML, max_bytes=4_000_000, is_cut=is_cut, timeout_s=30)
        assert is_cut
        assert len(response.body) < 100_000
    assert time.process_time() - began < 5


async def test_a_chunked_body_may_have_many_chunks(site: RemoteServer, client: OutgoingClient) -> None:
    site.answers["/"] = CHUNKED + (b"64\r\n" + b"a" * 100 + b"\r\n") * 5_000 + b"0\r\n\r\n"
    assert len(await fetch(client, f"{site.origin}/", max_bytes=500_000)) == 500_000


@pytest.mark.parametrize(
    "record",
    [
        respond("not encrypted"),
        b"",
        b"\x17",
        b"\x17\x03\x03\xff\xff" + b"a" * 70_000,
        b"\x17\x03\x03\x00\x20" + b"a" * 32,
        b"\x15\x03\x03\x00\x02\x02\x28",
    ],
    ids=["plain text", "no record", "a part of a record", "too long", "not decryptable", "plain alert"],
)
async def test_a_broken_tls_record_after_the_handshake_fails(tmp_path: Path, record: bytes) -> None:
    Certificates(tmp_path)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(tmp_path / "server.crt", tmp_path / "server.key")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
        secured, is_open = tls.wrap_bio(received, sent, server_side=True), False
        while not is_open:
            with suppress(ssl.SSLWantReadError):
                secured.do_handshake()
                is_open = True
            writer.write(sent.read())
            if not is_open:
                part = await reader.read(65_536)
                if not part:  # the client refused the certificate: without this, no other task would run again
                    break
                received.write(part)
        writer.write(record)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1") as server:
        port = server.sockets[0].getsockname()[1]
        trust = ssl.create_default_context(cafile=str(tmp_path / "ca.crt"))
        client = OutgoingClient(exempt={("127.0.0.1", port)}, ssl_context=trust)
        with pytest.raises(OutgoingFailed, match="SSL" if len(record) > 1 else "ReadError"):
            await fetch(client, f"https://127.0.0.1:{port}/")


async def test_names_that_are_resolved_slowly_need_no_thread_of_other_work() -> None:
    end, loop = threading.Event(), asyncio.get_running_loop()
    waiting = [loop.run_in_executor(None, end.wait) for _ in range(100)]  # more than the loop has threads
    try:
        async with asyncio.timeout(5):
            assert await resolve_host("127.0.0.1", 80) == ["127.0.0.1"]
    finally:
        end.set()
        await asyncio.gather(*waiting)


async def test_endless_headers_and_broken_responses_fail(site: RemoteServer, client: OutgoingClient) -> None:
    async def headers(write: Write) -> None:
        await write(b"HTTP/1.1 200 OK\r\n")
        while True:
            await write(b"X-Header: " + b"a" * 4096 + b"\r\n")

    site.answers |= {"/headers": headers, "/no-http": b"+PONG\r\n", "/cut": respond("abc")[:-2], "/empty": b""}
    for path in ("/headers", "/no-http", "/cut", "/empty"):
        with pytest.raises(OutgoingFailed):
            await fetch(client, site.origin + path)


async def test_a_compressed_body_or_another_content_type_is_refused(site: RemoteServer, client: OutgoingClient) -> None:
    bomb = zlib.compress(bytes(10_000_000))
    site.answers["/bomb"] = respond(bomb, "text/html", "Content-Encoding: deflate")
    site.answers["/gzip"] = respond(b"x", "text/html", "Content-Encoding: GZip")
    site.answers["/binary"] = respond(b"x", "application/octet-stream")
    site.answers["/none"] = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"
    for path in ("/bomb", "/gzip", "/binary", "/none"):
        with pytest.raises(OutgoingRefused):
            await fetch(client, site.origin + path)
    assert site.requests[0].headers["accept-encoding"] == "identity"
    assert site.requests[0].headers["user-agent"] == "socialsite (+https://own.example)"


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("utf-8", b"page"), ("none", b"page"), ("", b"page"), ("deflate", zlib.compress(b"page")[2:-4]),
        ("x-gzip", gzip.compress(b"page", mtime=0)), ("binary, utf-8", b"page"),
    ],
)  # fmt: skip
async def test_codings_that_servers_send_by_mistake_are_read_as_browsers_read_them(
    site: RemoteServer, client: OutgoingClient, coding: str, body: bytes
) -> None:
    """sparklemotion/mechanize#138, hgoebl/DavidWebb#31, apify/crawlee#1067"""
    site.answers["/"] = respond(body, "text/html", f"Content-Encoding: {coding}")
    assert (await client.get(f"{site.origin}/", accept=["text/html"], max_bytes=100)).body == b"page"


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip, gzip", "br, utf-8"])
async def test_a_body_of_other_codings_is_refused(site: RemoteServer, client: OutgoingClient, coding: str) -> None:
    site.answers["/"] = respond(gzip.compress(gzip.compress(b"page")), "text/html", f"Content-Encoding: {coding}")
    with pytest.raises(OutgoingRefused):
        await fetch(client, f"{site.origin}/")


@pytest.mark.parametrize("location", ["/a b", "  /a b ", "a%20b", "/a\tb", "/a%20b"])
async def test_a_redirect_with_spaces_is_followed(site: RemoteServer, client: OutgoingClient, location: str) -> None:
    site.answers |= {"/": redirect_to(location), "/a%20b": respond("page"), "/ab": respond("page")}
    assert (await client.get(f"{site.origin}/", accept=["text/html"], max_bytes=100)).body == b"page"


async def test_a_request_is_sent_without_cookies_and_follows_no_redirect_if_it_has_content(
    site: RemoteServer, client: OutgoingClient
) -> None:
    site.answers["/"] = respond(
        b"", "text/html", "Location: /other", "Set-Cookie: a=b", status="307 Temporary Redirect"
    )
    response = await client.post(f"{site.origin}/", b"content", {"TTL": "60"})
    await client.post(f"{site.origin}/", b"content", {"TTL": "60"})
    assert (response.status, [request.path for request in site.requests]) == (307, ["/", "/"])
    assert {request.headers["ttl"] for request in site.requests} == {"60"}
    assert not any("cookie" in request.headers for request in site.requests)


async def test_the_container_of_a_site_exempts_no_address(services: Services) -> None:
    assert services.outgoing.exempt == frozenset()
    assert services.outgoing.resolve is resolve_host


def test_no_other_code_of_the_site_imports_an_http_client() -> None:
    root = Path(__file__).resolve().parents[3]
    sources = [path for folder in ("socialsite", "accounts", "timelines") for path in (root / folder).rglob("*.py")]
    importing = {path.relative_to(root).as_posix() for path in sources if _imported(path) & CLIENTS}
    assert importing == {"socialsite/outgoing/requests.py"} | TO_THE_MAIL_SERVER


TO_THE_MAIL_SERVER = {
    "accounts/mail/handler.py",
    "socialsite/alerts/messages.py",
    "socialsite/management/commands/check_mail.py",
}
CLIENTS = {"ftplib", "smtplib", "httpcore", "httpx", "http.client", "urllib.request", "urllib3", "requests", "aiohttp"}


def _imported(path: Path) -> set[str]:
    nodes = [*ast.walk(ast.parse(path.read_text()))]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return names | {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
