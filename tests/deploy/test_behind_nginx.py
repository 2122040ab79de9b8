"""The site behind deploy/nginx: what nginx forwards and refuses, and a rolling restart without failed requests."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from websockets.asyncio.client import connect
from websockets.typing import Origin

from tests.deploy.support import HASHED_FILE, HOST, nginx_files, running_nginx
from tests.support.daphnes import DaphneFleet
from tests.support.ports import free_ports
from tests.support.programs import need
from tests.support.rolling import restart_all_under_load
from tests.support.routes import uploads
from tests.support.waiting import eventually


@dataclass
class Front:
    fleet: DaphneFleet
    plain: int
    tls: int
    certificate: Path

    @property
    def origin(self) -> str:
        return f"https://{HOST}:{self.tls}"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def front(redis_server, tmp_path_factory) -> AsyncIterator[Front]:
    """A daphne behind nginx with TLS, set up as in docs/guide/install.md."""
    need("nginx")
    plain, tls = free_ports(2)
    directory = tmp_path_factory.mktemp("front")
    settings = {"HTTPS": "1", "TRUSTED_PROXIES": "127.0.0.1", "ALLOWED_HOSTS": HOST, "RATE_LIMIT_LOGIN": "10/m"}
    redis_server.flush()
    async with DaphneFleet(redis_server.url, 1, **settings) as fleet:
        conf = nginx_files(directory, upstream=fleet.port, plain=plain, tls=tls)
        with running_nginx(conf, tls):
            yield Front(fleet, plain, tls, directory / "fullchain.pem")


@pytest.fixture
async def http(front: Front) -> AsyncIterator[httpx.AsyncClient]:
    trusting = ssl.create_default_context(cafile=str(front.certificate))
    async with httpx.AsyncClient(base_url=front.origin, verify=trusting, trust_env=False) as client:
        yield client


async def test_nginx_serves_pages_with_https_and_its_headers(http, front):
    page = await http.get("/public/")
    assert page.status_code == 200
    assert page.headers["strict-transport-security"].startswith("max-age=31536000")
    assert page.headers["server"] == "nginx"
    assert page.headers["content-encoding"] == "gzip"
    assert "__Host-csrftoken" in page.headers["set-cookie"]
    assert "set-cookie" not in (await http.get("/accounts/login/")).headers, "the browser has it already"
    async with httpx.AsyncClient(trust_env=False) as plain:
        moved = await plain.get(f"http://{HOST}:{front.plain}/public/")
    assert (moved.status_code, moved.headers["location"]) == (301, f"https://{HOST}/public/")


async def test_the_log_of_nginx_has_no_tokens_of_links(http, front):
    await http.get("/accounts/reset/?token=canary", headers={"Referer": f"{front.origin}/?token=canary"})
    log = front.certificate.parent / "access.log"
    await eventually(lambda: '"GET /accounts/reset/ HTTP' in log.read_text())
    assert "canary" not in log.read_text()


async def test_nginx_answers_no_request_for_another_host_name(http, front):
    async with httpx.AsyncClient(trust_env=False, verify=False) as stranger:
        for headers in ({"Host": "evil.example"}, {"Host": f"{HOST}.evil.example"}):
            with pytest.raises(httpx.RemoteProtocolError):
                await stranger.get(f"http://{HOST}:{front.plain}/x", headers=headers)
            with pytest.raises(httpx.RemoteProtocolError):
                await http.get("/public/", headers=headers)
        with pytest.raises(httpx.ConnectError):
            await stranger.get(f"https://127.0.0.1:{front.tls}/public/")


async def test_nginx_serves_the_challenge_of_a_certificate_authority(front):
    challenge = front.certificate.parent / "letsencrypt/.well-known/acme-challenge/token"
    challenge.parent.mkdir(parents=True)
    challenge.write_text("token.thumbprint")
    async with httpx.AsyncClient(trust_env=False) as authority:
        answer = await authority.get(f"http://{HOST}:{front.plain}/.well-known/acme-challenge/token")
    assert (answer.status_code, answer.text) == (200, "token.thumbprint")


async def test_nginx_shows_readyz_to_this_machine_only(http, front):
    assert (await http.get("/readyz")).json()["status"] == "ok"
    transport = httpx.AsyncHTTPTransport(verify=False, local_address="127.0.0.2")
    async with httpx.AsyncClient(transport=transport) as stranger:
        assert (await stranger.get(f"{front.origin}/readyz")).status_code == 403
        assert (await stranger.get(f"{front.origin}/livez")).status_code == 200


async def test_nginx_does_not_serve_metrics(http, front):
    assert (await http.get("/metrics")).status_code == 404
    async with httpx.AsyncClient(trust_env=False) as local:
        assert (await local.get(f"{front.fleet.origin}/metrics")).status_code == 200


async def test_nginx_serves_only_files_with_hashed_names_as_immutable(http):
    for path, is_immutable in (("css/site.css", False), (HASHED_FILE, True)):
        answer = await http.get(f"/static/{path}")
        assert answer.status_code == 200
        assert ("immutable" in answer.headers["cache-control"]) is is_immutable
        assert "max-age=" in answer.headers["cache-control"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["access-control-allow-origin"] == "*"


async def test_nginx_lets_pages_of_other_sites_draw_the_pictures_that_the_site_marks(tmp_path):
    """nginx drops most headers of a response with X-Accel-Redirect."""
    (tmp_path / "media").mkdir()
    (tmp_path / "media" / "a.webp").write_bytes(b"picture")

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        marked = b"Access-Control-Allow-Origin: *\r\n" if b"GET /media/open " in head else b""
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Accel-Redirect: /_media/a.webp\r\n" + marked + b"\r\n")
        writer.close()

    plain, tls = free_ports(2)
    async with await asyncio.start_server(answer, "127.0.0.1") as upstream:
        port = upstream.sockets[0].getsockname()[1]
        conf = nginx_files(tmp_path, upstream=port, plain=plain, tls=tls, without_tls=True)
        with running_nginx(conf, tls):
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{tls}", trust_env=False) as client:
                shown = {path: await client.get(f"/media/{path}") for path in ("open", "hidden")}
    assert [each.content for each in shown.values()] == [b"picture"] * 2
    origins = [each.headers.get("access-control-allow-origin") for each in shown.values()]
    assert origins == ["*", None]


async def test_nginx_refuses_a_far_too_large_body_and_the_site_a_slightly_too_large_body(http):
    for size, server_words in ((70_000, True), (200_000, False)):
        answer = await http.post("/lists/", content=b"a" * size, headers={"Accept": "application/json"})
        assert answer.status_code == 413
        assert answer.headers["content-type"].startswith("application/json") is server_words


async def test_nginx_forwards_uploads_as_large_as_the_site_reads_them(front):
    """nginx answers an Expect by 100 if the length is allowed, and otherwise by 413."""

    async def ask(method: str, path: str, size_bytes: int) -> bytes:
        trusting = ssl.create_default_context(cafile=str(front.certificate))
        reader, writer = await asyncio.open_connection(HOST, front.tls, ssl=trusting)
        lines = f"{method} {path} HTTP/1.1", f"Host: {HOST}", f"Content-Length: {size_bytes}", "Expect: 100-continue"
        writer.write("".join(f"{line}\r\n" for line in (*lines, "")).encode())
        async with asyncio.timeout(20):
            answer = await reader.readline()
        writer.transport.abort()
        return answer

    answers = {(method, path): await ask(method, path, size_bytes) for method, path, size_bytes in uploads()}
    assert ("POST", "/api/v2/media") in answers
    assert {address: answer for address, answer in answers.items() if b" 100 " not in answer} == {}
    assert b" 413 " in await ask("POST", "/lists/", 200_000)


async def test_the_client_address_comes_from_nginx_and_not_from_headers(http):
    """All requests count for one address: its limit per minute applies, and no header avoids it."""
    statuses = set()
    for number in range(40):
        await http.get("/accounts/login/")
        answer = await http.post(
            "/accounts/login/",
            json={"username": f"nobody{number}", "password": "wrong"},
            headers={
                "Accept": "application/json",
                "X-CSRFToken": http.cookies["__Host-csrftoken"],
                "Referer": str(http.base_url),
                "X-Forwarded-For": f"198.51.100.{number}",
                "X-Real-IP": f"198.51.100.{number}",
                "Forwarded": f"for=198.51.100.{number}",
            },
        )
        statuses.add(answer.status_code)
    assert statuses == {401, 429}


async def test_nginx_forwards_a_websocket(front):
    trusting = ssl.create_default_context(cafile=str(front.certificate))
    url = f"wss://{HOST}:{front.tls}/ws/stream/"
    async with connect(url, ssl=trusting, origin=Origin(front.origin), proxy=None) as socket:
        await socket.send('{"type":"subscribe","timeline":"public"}')
        async with asyncio.timeout(20):
            assert '"subscribed"' in str(await socket.recv())


@pytest.mark.slow
@pytest.mark.nightly
async def test_a_rolling_restart_behind_nginx_fails_no_request_and_every_socket_resumes(redis_url, tmp_path):
    need("nginx")
    plain, port = free_ports(2)
    async with DaphneFleet(redis_url, 2) as fleet:
        conf = nginx_files(tmp_path, upstream=fleet.port, plain=plain, tls=port, without_tls=True)
        with running_nginx(conf, port):
            await restart_all_under_load(fleet, port, tmp_path)
    log_lines = (tmp_path / "error.log").read_text().splitlines()
    # A socket that was closed with 1012 may be cut before its reply is read: its client has disconnected by then.
    assert [line for line in log_lines if "while proxying upgraded connection" not in line] == []
