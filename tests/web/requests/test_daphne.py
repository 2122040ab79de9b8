"""The answers through a real daphne, where the server itself could break them."""

import asyncio

import httpx
import pytest

from tests.support.browser import JSON_HEADERS, HttpBrowser, cookies_of
from tests.support.daphnes import DaphneProcess, running_daphne

FORM = "application/x-www-form-urlencoded"
GROWTH_KB = 20 * 1024
"""Largest growth of the process through a hundred megabytes."""


@pytest.fixture
async def browser(daphne: DaphneProcess, redis_url: str):
    async with HttpBrowser(base_url=daphne.origin) as opened:
        yield opened


async def raw(daphne: DaphneProcess, *pieces: bytes) -> bytes:
    """Return the server's answer to these bytes, until it closes or is silent for a second."""
    reader, writer = await asyncio.open_connection("127.0.0.1", daphne.port)
    reply = b""
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        async with asyncio.timeout(10):
            reply = await reader.read(65_536)
    except ConnectionError:
        pass
    finally:
        writer.close()
    return reply


async def test_a_browser_signs_up_publishes_and_logs_out(browser):
    assert (await browser.sign_up("alice")).status_code == 201
    post = await browser.publish("hello")
    assert "hello" in (await browser.get("/")).text
    assert (await browser.get_json(post["url"])).json()["text"] == "hello"
    assert (await browser.post("/posts/", text="by form")).status_code == 303
    assert (await browser.get("/static/css/site.css")).status_code == 200
    assert (await browser.post("/accounts/logout/")).status_code == 303
    assert (await browser.get_json("/")).status_code == 401


async def test_a_head_request_has_no_body(browser):
    answer = await browser.http.head("/public/")
    assert (answer.status_code, answer.content) == (200, b"")


async def test_the_liveness_probe_answers(browser):
    assert (await browser.get("/livez")).status_code == 200


async def test_a_hundred_megabytes_are_413_and_leave_no_trace(browser, daphne):
    async def flood():
        for _ in range(1_000):
            yield b"a" * 100_000

    await browser.get("/public/")
    before = daphne.resident_kb()
    for headers in ({"Content-Length": "100000000"}, {}):
        sent = {**JSON_HEADERS, "Content-Type": FORM, **headers}
        answer = await browser.http.post("/posts/", content=flood(), headers=sent)
        assert (answer.status_code, answer.json()["error"]) == (413, "too_large")
    assert daphne.resident_kb() - before < GROWTH_KB


async def test_a_body_just_within_its_limit_is_read(browser):
    await browser.sign_up("alice")
    headers = {**JSON_HEADERS, "Content-Type": FORM, "X-CSRFToken": browser.csrf_token}
    answer = await browser.http.post("/posts/", content=b"text=" + b"a" * 65_531, headers=headers)
    assert answer.status_code == 422
    answer = await browser.http.post("/posts/", content=b"text=" + b"a" * 65_532, headers=headers)
    assert answer.status_code == 413


@pytest.mark.parametrize("size", [13_000, 20_000, 50_000])
async def test_a_large_head_is_431(browser, size):
    answer = await browser.http.get("/public/", headers={**JSON_HEADERS, "X-Long": "a" * size})
    assert (answer.status_code, answer.json()["error"]) == (431, "too_large")


@pytest.mark.parametrize("count", [120, 600, 980])
async def test_many_headers_are_431(browser, count):
    answer = await browser.http.get("/public/", headers={**JSON_HEADERS, **{f"X-{n}": "a" for n in range(count)}})
    assert (answer.status_code, answer.json()["error"]) == (431, "too_large")


async def test_thousands_of_headers_are_not_parsed(daphne):
    """Four thousand headers take 24 ms of the event loop, and are not counted before."""
    head = b"GET /public/ HTTP/1.1\r\nHost: localhost\r\n" + b"X: a\r\n" * 1_100
    assert b"400" in (await raw(daphne, head)).split(b"\r\n")[0]


@pytest.mark.parametrize("boundary", ["", "; boundary=", "; boundary=x", '; boundary="x', "; boundary=" + "b" * 300])
@pytest.mark.parametrize("body", [b"text=hello", b"--x\r\nno header", b"--x\r\n\r\n"])
async def test_an_unreadable_multipart_form_is_refused_with_our_message(browser, boundary, body):
    await browser.get("/accounts/login/")
    headers = {**JSON_HEADERS, "Content-Type": "multipart/form-data" + boundary, "X-CSRFToken": browser.csrf_token}
    answer = await browser.http.post("/accounts/login/", content=body, headers=headers)
    assert (answer.status_code, answer.json()["error"]) in ((400, "malformed"), (422, "invalid"), (431, "too_large"))


async def test_a_multipart_form_is_read(browser):
    await browser.sign_up("alice")
    parts = {"csrfmiddlewaretoken": (None, browser.csrf_token), "text": (None, "in parts")}
    assert (await browser.http.post("/posts/", files=parts, headers=JSON_HEADERS)).status_code == 201


async def test_an_endless_head_is_cut_off(daphne):
    reply = await raw(daphne, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: ", *[b"a" * 10_000] * 50)
    assert reply == b"" or reply.startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize(
    "head",
    [
        b"GET /public/\xff HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET /public/?a=\xff HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET /%00 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET /%ff/%c0%af HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x00\x01\x02\r\n\r\n",
        b"POST /posts/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n",
        b"POST /posts/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        b"POST /posts/ HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: \x0b\r\n\r\n",
    ],
)
async def test_no_bytes_break_the_server(daphne, head):
    reply = await raw(daphne, head)
    assert reply == b"" or reply.split(b" ")[1][:1] in (b"2", b"3", b"4"), reply[:200]


async def test_a_proxy_states_https_and_cookies_get_the_host_prefix(redis_server):
    with running_daphne(redis_server.url, HTTPS="1") as secure:
        async with httpx.AsyncClient(base_url=secure.origin) as client:
            plain = await client.get("/accounts/login/")
            assert plain.status_code == 301
            assert plain.headers["location"] == secure.origin.replace("http:", "https:") + "/accounts/login/"
            assert (await client.get("/livez")).status_code == 200
            answer = await client.get("/accounts/login/", headers={"X-Forwarded-Proto": "https"})
    assert answer.headers["strict-transport-security"].startswith("max-age=31536000")
    assert f"wss://127.0.0.1:{secure.port}" in answer.headers["content-security-policy"]
    cookie = cookies_of(answer)["__Host-csrftoken"]
    assert (cookie["secure"], cookie["path"], cookie["domain"]) == (True, "/", "")


async def test_a_client_that_leaves_early_disturbs_no_other_client(daphne, browser):
    for _ in range(20):
        _, writer = await asyncio.open_connection("127.0.0.1", daphne.port)
        writer.write(b"GET /public/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        await writer.drain()
        writer.close()
    assert (await browser.get("/public/")).status_code == 200


async def test_many_requests_share_one_loop_and_start_no_thread(daphne):
    async with httpx.AsyncClient(base_url=daphne.origin) as client:
        await asyncio.gather(*(client.get("/public/") for _ in range(20)))
        before = threads_of(daphne.pid)
        for _ in range(5):
            answers = await asyncio.gather(*(client.get("/public/") for _ in range(40)))
            assert {answer.status_code for answer in answers} == {200}
    assert threads_of(daphne.pid) == before


def threads_of(pid: int) -> int:
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("Threads:"))
