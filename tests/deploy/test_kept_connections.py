"""nginx keeps connections to daphne, and no restart loses a request that nginx sent on one of them."""

import asyncio
import itertools
import re
import threading
from collections import Counter
from collections.abc import Callable

import httpx
import pytest

from tests.deploy.support import DEPLOY, nginx_files, running_nginx
from tests.support.daphnes import DaphneFleet
from tests.support.ledger import ClientThreads
from tests.support.ports import free_ports
from tests.support.programs import need
from tests.support.visitor import HttpVisitor

AUTHORS, READERS, RESTARTS = 3, 3, 4
PROXY = {"TRUSTED_PROXIES": "127.0.0.1"}
IDLE_S = 2.5
"""A daphne that stops still answers on a connection that was idle for so long. Proxies close it before."""


class RestlessClients(ClientThreads):
    """Authors post and readers load pages without a pause. Nobody repeats a request, and no post has a key."""

    def __init__(self, url: str) -> None:
        self.authors = [HttpVisitor(url, f"author{number}").sign_up() for number in range(AUTHORS)]
        self.sent: Counter[str] = Counter()
        """The posts of each author."""
        self.statuses: Counter[str] = Counter()
        self._url = url
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(author,)) for author in self.authors]
        self._threads += [threading.Thread(target=self._read) for _ in range(READERS)]

    def _write(self, author: HttpVisitor) -> None:
        while not self._stopping.is_set():
            number = self.sent[author.handle]
            self.sent[author.handle] += 1
            self._count("POST", lambda number=number: author.post("/posts/", text=f"post {number}"))

    def _read(self) -> None:
        with HttpVisitor(self._url) as reader:
            while not self._stopping.is_set():
                self._count("GET", lambda: reader.http.get("/public/"))

    def _count(self, method: str, send: Callable[[], httpx.Response]) -> None:
        try:
            outcome = str(send().status_code)
        except httpx.HTTPError as error:
            outcome = repr(error)
        self.statuses[f"{method} {outcome}"] += 1


@pytest.mark.slow
async def test_restarts_behind_nginx_refuse_and_lose_no_request_and_repeat_no_post(redis_url, tmp_path):
    need("nginx")
    plain, port = free_ports(2)
    async with DaphneFleet(redis_url, 2, **PROXY) as fleet:
        conf = nginx_files(tmp_path, upstream=fleet.port, plain=plain, tls=port, without_tls=True)
        with running_nginx(conf, port):
            clients = await asyncio.to_thread(RestlessClients, f"http://127.0.0.1:{port}")
            clients.start()
            codes = [await fleet.restart(place % fleet.size) for place in range(RESTARTS)]
            await asyncio.to_thread(clients.stop)
            posts = {one.handle: await asyncio.to_thread(one.timeline, f"/@{one.handle}/") for one in clients.authors}
    assert codes == [0] * RESTARTS
    assert set(clients.statuses) == {"POST 201", "GET 200"}, clients.statuses
    for handle, count in clients.sent.items():
        assert sorted(post["text"] for post in posts[handle]) == sorted(f"post {number}" for number in range(count))
    assert (tmp_path / "error.log").read_text() == ""


async def test_nginx_sends_many_requests_over_one_connection(tmp_path):
    need("nginx")
    connections = itertools.count()
    heads = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        next(connections)
        while head := await reader.readuntil(b"\r\n\r\n"):
            heads.append(head.lower())
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    plain, port = free_ports(2)
    async with await asyncio.start_server(answer, "127.0.0.1") as upstream:
        conf = nginx_files(
            tmp_path, upstream=upstream.sockets[0].getsockname()[1], plain=plain, tls=port, without_tls=True
        )
        with running_nginx(conf, port):
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:
                for _ in range(10):
                    assert (await client.get("/public/")).status_code == 200
    assert next(connections) == 1
    assert len(heads) == 10
    assert not any(b"connection:" in head for head in heads)


async def test_a_daphne_that_stops_answers_what_a_proxy_sends_on_an_idle_connection(redis_url):
    """It ends as soon as the proxy has closed its connections."""
    async with DaphneFleet(redis_url, 1, **PROXY) as fleet:
        pairs = [await asyncio.open_connection("127.0.0.1", fleet.port) for _ in range(2)]
        request = b"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        for reader, writer in pairs:
            writer.write(request)
            assert b"connection: close" not in (await reader.readuntil(b"\r\n\r\n")).lower()
        stopping = asyncio.create_task(fleet.stop(0))
        await fleet.wait_for_notes("STOPPING=1", 1)
        await asyncio.sleep(IDLE_S)
        (reader, writer), (_, idle) = pairs
        idle.close()
        writer.write(request)
        answer = await reader.read()
        assert b"HTTP/1.1 200" in answer
        assert b"connection: close" in answer.lower()
        assert await stopping == 0
        writer.close()


@pytest.mark.parametrize(
    ("file", "pattern"),
    [("nginx/socialsite.conf", r"keepalive \d+;\n +keepalive_timeout (\d+)s;"), ("Caddyfile", r"\tkeepalive (\d+)s\n")],
)
def test_each_proxy_closes_idle_connections_before_a_daphne_does(file: str, pattern: str):
    (seconds,) = re.findall(pattern, (DEPLOY / file).read_text())
    assert int(seconds) < IDLE_S
