"""Bytes that one client leaves in the web process: bodies without a permit, and responses that nobody reads."""

import asyncio
import contextlib
import os
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx
import pytest

from socialsite.web.daphne.request_limits import UNFINISHED_PER_ADDRESS
from tests.attacks.test_request_budget import forget_peak, peak_kb
from tests.support.browser import HttpBrowser
from tests.support.daphnes import DaphneProcess, running_daphne
from tests.support.pictures import picture
from tests.support.visitor import PLAIN_HTTP
from tests.support.waiting import eventually
from tests.web.media.test_pictures import upload
from timelines.media.storage import MediaFiles

__all__ = ["upload"]
Upload = Callable[..., Awaitable[httpx.Response]]

READERS = 40
MEGABYTES, TOKEN = 24, "1-" + "a" * 43


def open_file_bytes(daphne: DaphneProcess) -> int:
    """Return the bytes of all open files of the process, also of deleted ones."""
    sizes = []
    for each in Path(f"/proc/{daphne.pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            if "(deleted)" in str(each.readlink()):
                sizes.append(each.stat().st_size)
    return sum(sizes)


async def begin_upload(daphne: DaphneProcess, path: str, size: int, *headers: str) -> asyncio.StreamWriter:
    """Send the head and most of a body of `size` bytes, or as much of it as the server reads."""
    _, writer = await asyncio.open_connection("127.0.0.1", daphne.port)
    lines = [f"POST {path} HTTP/1.1", f"Host: 127.0.0.1:{daphne.port}", "Content-Type: multipart/form-data; boundary=x"]
    writer.write("\r\n".join([*lines, *headers, "", ""]).encode())
    with contextlib.suppress(TimeoutError, ConnectionError):
        async with asyncio.timeout(5):
            for _ in range(MEGABYTES):
                writer.write(b"%x\r\n" % 2**20 + bytes(2**20) + b"\r\n" if size == 0 else bytes(2**20))
                await writer.drain()
    return writer


@pytest.mark.parametrize(
    "header", ["Cookie: a=b", f"Cookie: sessionid={TOKEN}", "Authorization: x", f"Authorization: Bearer {TOKEN}"]
)
@pytest.mark.parametrize("path", ["/accounts/import/", "/posts/", "/api/v1/media"])
@pytest.mark.parametrize("size", [0, 100 * 2**20])
async def test_a_body_of_a_visitor_is_not_kept(daphne: DaphneProcess, path: str, header: str, size: int) -> None:
    """The visitor makes up a cookie or a token. A size of 0 is a chunked body."""
    length = f"Content-Length: {size}" if size else "Transfer-Encoding: chunked"
    before = open_file_bytes(daphne)
    writers = [await begin_upload(daphne, path, size, length, header) for _ in range(2)]
    assert open_file_bytes(daphne) - before < 500_000
    for writer in writers:
        writer.close()


async def test_the_unfinished_bodies_of_an_account_have_a_maximum_sum(daphne: DaphneProcess) -> None:
    """The second import of 900 MB is refused while the first one is not ended, and accepted afterwards."""
    async with HttpBrowser(base_url=daphne.origin) as browser:
        await browser.sign_up("carol")
        cookie = "Cookie: " + "; ".join(f"{name}={value}" for name, value in browser.http.cookies.items())
    head = ("Content-Length: 900000000", cookie)
    before = open_file_bytes(daphne)
    first = await begin_upload(daphne, "/accounts/import/", 1, *head)
    assert open_file_bytes(daphne) - before >= (MEGABYTES - 8) * 2**20
    second = await begin_upload(daphne, "/accounts/import/", 1, *head)
    assert open_file_bytes(daphne) - before < (MEGABYTES + 1) * 2**20
    for writer in (first, second):
        writer.close()
    await eventually(lambda: open_file_bytes(daphne) - before < 500_000)
    third = await begin_upload(daphne, "/accounts/import/", 1, *head)
    assert open_file_bytes(daphne) - before >= (MEGABYTES - 8) * 2**20
    third.close()


async def test_a_large_upload_to_a_path_with_repeated_slashes_is_read(daphne: DaphneProcess) -> None:
    async with HttpBrowser(base_url=daphne.origin) as browser:
        await browser.sign_up("dora")
        files = {"file": ("picture.png", picture(format="PNG") + bytes(200_000))}
        headers = {"Accept": "application/json", "X-CSRFToken": browser.csrf_token}
        async with httpx.AsyncClient(cookies=browser.http.cookies, headers=headers, verify=PLAIN_HTTP) as client:
            answer = await client.post(f"{daphne.origin}//media//", files=files)
        assert answer.status_code == 202, answer.text


async def test_an_upload_beyond_the_sum_is_refused_with_a_time_to_repeat_it(redis_url: str) -> None:
    """The sum is 257 MiB here: four forms of 66 MB are under way. The file itself is not too large."""
    with running_daphne(redis_url, IMPORT_MAX_BYTES="1mb") as daphne:
        async with HttpBrowser(base_url=daphne.origin) as browser:
            await browser.sign_up("carol")
            cookie = "Cookie: " + "; ".join(f"{name}={value}" for name, value in browser.http.cookies.items())
            head = ("Content-Length: 66000000", cookie)
            writers = [await begin_upload(daphne, "/posts/", 1, *head) for _ in range(4)]
            files = {"file": ("picture.png", bytes(6_000_000))}
            refused = await browser.http.post("/media/", files=files, headers={"Accept": "application/json"})
            assert (refused.status_code, refused.headers["Retry-After"]) == (429, "60")
            assert refused.json()["message"].startswith("Other uploads")
            for writer in writers:
                writer.close()


async def test_unread_responses_with_pictures_take_little_memory(
    daphne: DaphneProcess, alice: HttpBrowser, upload: Upload
) -> None:
    """Forty visitors request a picture of 8 MB and read nothing. Another visitor reads all of it meanwhile."""
    media = (await upload(alice, picture())).json()
    await alice.publish("see", media_ids=media["id"])
    folder = MediaFiles().folder
    assert folder is not None
    file = next(folder.rglob(f"{media['name']}.full.*"))
    file.write_bytes(file.read_bytes() + os.urandom(8_000_000))
    await request_and_read_nothing(daphne, media["url"])


async def test_unread_responses_with_static_files_take_little_memory(redis_url: str, tmp_path: Path) -> None:
    (tmp_path / "large.bin").write_bytes(os.urandom(8_000_001))
    with running_daphne(redis_url, STATIC_ROOT=str(tmp_path)) as daphne:
        await request_and_read_nothing(daphne, "/static/large.bin")
        async with httpx.AsyncClient(base_url=daphne.origin, verify=PLAIN_HTTP) as reader:
            part = await reader.get("/static/large.bin", headers={"Range": "bytes=7000000-"})
            assert (part.status_code, part.content) == (206, (tmp_path / "large.bin").read_bytes()[7_000_000:])


async def request_and_read_nothing(daphne: DaphneProcess, url: str) -> None:
    """Let forty visitors request a file of 8 MB and read nothing, while another one reads it and other pages."""
    before, slow = forget_peak(daphne), []
    for _ in range(READERS):
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        client.connect(("127.0.0.1", daphne.port))
        client.sendall(f"GET {url} HTTP/1.1\r\nHost: 127.0.0.1:{daphne.port}\r\n\r\n".encode())
        slow.append(client)
    async with httpx.AsyncClient(base_url=daphne.origin, verify=PLAIN_HTTP) as reader:
        for _ in range(5):
            assert len((await reader.get(url)).content) > 8_000_000
            assert (await reader.get("/livez")).status_code == 200
    assert peak_kb(daphne) - before < 40_000
    for client in slow:
        client.close()


async def test_an_address_has_a_maximum_of_unfinished_bodies(daphne: DaphneProcess) -> None:
    """Each body takes 60 kB of memory. A client on another address still sends its form."""
    clients = [begin_request(daphne, b"POST", 60_000) for _ in range(UNFINISHED_PER_ADDRESS)]
    refused = begin_request(daphne, b"POST", 60_000)
    with contextlib.suppress(ConnectionError):
        assert await asyncio.to_thread(refused.recv, 100) == b""
    other = httpx.AsyncHTTPTransport(local_address="127.0.0.2")
    async with httpx.AsyncClient(base_url=daphne.origin, transport=other) as reader:
        assert (await reader.post("/api/v1/apps", data={"a": "b" * 60_000})).status_code == 422
    for client in clients:
        client.close()

    async def is_served() -> bool:
        async with httpx.AsyncClient(base_url=daphne.origin, verify=PLAIN_HTTP) as reader:
            with contextlib.suppress(httpx.TransportError):
                return (await reader.post("/api/v1/apps", data={"a": "b" * 60_000})).status_code == 422
        return False

    await eventually(is_served)


def begin_request(daphne: DaphneProcess, method: bytes, body: int = 0) -> socket.socket:
    """Send a request without the last byte of its body, or without the end of its head."""
    client = socket.create_connection(("127.0.0.1", daphne.port), timeout=90)
    head = b"%b /api/v1/apps HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n" % (method, daphne.port)
    client.sendall(head + (b"Content-Length: %d\r\n\r\n" % (body + 1) + b"a" * body if body else b""))
    return client


@pytest.mark.slow
@pytest.mark.nightly
async def test_a_request_has_a_minute_however_often_its_client_sends_a_byte(daphne: DaphneProcess) -> None:
    """A head with a line in each second, a body, and a first line that does not end."""
    body = begin_request(daphne, b"POST")
    body.sendall(b"Content-Length: 1000\r\n\r\n")
    first_line = socket.create_connection(("127.0.0.1", daphne.port))
    clients = [(begin_request(daphne, b"GET"), b"a: b\r\n"), (body, b"a"), (first_line, b"G")]
    open_clients = dict(enumerate(clients))
    for _ in range(75):
        for number, (client, piece) in list(open_clients.items()):
            try:
                client.sendall(piece)
            except ConnectionError:
                del open_clients[number]
        await asyncio.sleep(1)
    assert open_clients == {}
    for client, _ in clients:
        client.close()
