"""Huge, malformed and nonsensical input is answered with 4xx, as the client's mistake."""

import json
from random import Random

import pytest

from tests.support.browser import JSON_HEADERS, HttpBrowser
from tests.support.visitor import PASSWORD

FORM = "application/x-www-form-urlencoded"
BODIES = [
    b"", b"\x00", b"\xff\xfe", b"\xc0\xaf", b"\xed\xa0\x80", b"text=%ff", b"text=%00", b"text=%ed%a0%80",
    b"=", b"&&&",
    b"text", b"text=a&text=b", b"{", b"[]", b"null", b'{"text":"\\ud800"}', b'{"text":"\\u0000"}',
    b'{"text":[1]}',
    b'{"text":{"a":{}}}', b'{"text":1e999}', b'{"text":' + b"9" * 5_000 + b"}", b'{"text":' + b"[" * 50_000,
    b'{"a":' * 9_000, b'{"text":true,"in_reply_to":false}', b"a=1&" * 5_000, b"--x\r\n", b"--x--\r\n",
    b'--x\r\nContent-Disposition: form-data; name="text"\r\n\r\n\xff\xfe\r\n--x--\r\n',
    b'--x\r\nContent-Disposition: form-data; name="text"\r\n\r\n\x00\r\n--x--\r\n',
]  # fmt: skip
TYPES = [FORM, "application/json", "multipart/form-data; boundary=x", "multipart/form-data", "text/plain", "",
         "application/json; charset=utf-16", f"{FORM}; charset=latin-1", f"{FORM}; charset=nonsense",
         "\xff/\xff"]  # fmt: skip
PATHS = ["/posts/", "/lists/", "/lists/1/members/", "/@alice/follow/", "/accounts/login/", "/accounts/settings/"]


async def post(browser: HttpBrowser, path: str, body: bytes, content_type: str, **headers: str) -> int:
    sent = {**JSON_HEADERS, "X-CSRFToken": browser.csrf_token, "Content-Type": content_type.encode("latin1"), **headers}
    return (await browser.http.post(path, content=body, headers=sent)).status_code


@pytest.mark.parametrize("content_type", TYPES)
@pytest.mark.parametrize("path", PATHS)
async def test_no_body_breaks_anything(alice, path, content_type):
    for body in BODIES:
        assert await post(alice, path, body, content_type) < 500


@pytest.mark.parametrize("body", [b"text=%ff", b"text=a%00b", b"text=%ed%a0%80", b"text=\xff"])
async def test_a_form_that_is_not_text_is_400_and_stores_nothing(alice, body):
    assert await post(alice, "/posts/", body, FORM) == 400
    assert (await alice.get_json("/public/")).json()["posts"] == []


@pytest.mark.parametrize("text", ["a\u0000b", "a\u0007b", "\ufffe", "a\u009bb"])
async def test_control_characters_are_never_stored(alice, text):
    assert (await alice.post_json("/posts/", text=text)).status_code in (400, 422)
    assert (await alice.get_json("/public/")).json()["posts"] == []


@pytest.mark.parametrize(
    "path",
    [
        "/%00", "/%ff", "/@%00/", "/@alice%00/", "/@\u0661/", "/@%e4/", "/%2e%2e/%2e%2e/etc/passwd",
        "/@alice/%00/",
        "/posts/%0d%0aSet-Cookie:a=b/delete/", "//", "//evil.example/", "/" + "a/" * 2_000,
        "/public/?%00=%00",
        "/public/?" + "a=1&" * 2_000, "/?next=%ff", "/accounts/login/?next=%00", "/public/?limit=%ff",
        "/@alice/followers/?cursor=%ff",
    ],
)  # fmt: skip
async def test_no_address_breaks_anything(visitor, path):
    for headers in ({}, JSON_HEADERS):
        answer = await visitor.http.get(path, headers=headers)
        assert answer.status_code < 500
        assert "set-cookie: a=b" not in str(answer.headers).lower()


@pytest.mark.parametrize(
    "headers",
    [
        {"Cookie": "sessionid=\xff"}, {"Cookie": "sessionid=1." + "a" * 43},
        {"Cookie": "sessionid=" + "9" * 4_000},
        {"Cookie": "sessionid=99999999999999999999." + "a" * 43}, {"Cookie": "=;=;;;"},
        {"Cookie": "messages=\xff"},
        {"Cookie": "csrftoken=\xff"}, {"Accept": "\xff"}, {"Accept": "application/json;q=\xff"},
        {"Accept": "," * 5_000 + "json"}, {"Accept-Language": "\xff" * 600}, {"Accept-Language": "x" * 9_000},
        {"X-Forwarded-For": "\xff"}, {"Origin": "http://[::1"}, {"Referer": "http://[::1"}, {"Host": "a b"},
        {"Host": ""}, {"Content-Type": "multipart/form-data; boundary=" + "x" * 500}, {"Content-Length": "x"},
        {"If-None-Match": "\xff"}, {"Range": "bytes=\xff"}, {"Cookie": "django_language=../../etc"},
    ],
)  # fmt: skip
async def test_no_header_breaks_anything(visitor, headers):
    sent = {name: value.encode("latin1") for name, value in headers.items()}
    for path in ("/public/", "/", "/static/css/site.css"):
        assert (await visitor.http.get(path, headers=sent)).status_code < 500
    assert (await visitor.http.post("/posts/", headers=sent)).status_code < 500


async def test_a_large_body_is_413_in_the_requested_format(alice):
    body = b"text=" + b"a" * 70_000
    assert await post(alice, "/posts/", body, FORM) == 413
    answer = await alice.http.post("/posts/", content=body, headers={"Content-Type": FORM})
    assert answer.status_code == 413
    assert answer.headers["content-security-policy"]
    assert "<h1>" in answer.text


async def test_a_body_without_length_is_counted(alice):
    async def endless():
        for _ in range(10_000):
            yield b"a" * 10_000

    headers = {**JSON_HEADERS, "X-CSRFToken": alice.csrf_token, "Content-Type": FORM}
    answer = await alice.http.post("/posts/", content=endless(), headers=headers)
    assert (answer.status_code, answer.json()["error"]) == (413, "too_large")


async def test_a_file_in_a_form_is_ignored(alice):
    """A file is ignored even in a text field, whatever its name and type."""
    token = {"csrfmiddlewaretoken": alice.csrf_token}
    for name, kind in (("page.html", "text/html"), ("x.png", "image/png"), ("../../x", "text/plain")):
        files = {"text": (name, b"<script>alert(1)</script>", kind), "bio": (name, b"\xff\xd8", kind)}
        for path in ("/posts/", "/accounts/settings/"):
            answer = await alice.http.post(path, data=token, files=files, headers=JSON_HEADERS)
            assert answer.status_code in (200, 400, 422), (path, name, answer.status_code)
    assert (await alice.get_json("/public/")).json()["posts"] == []
    assert (await alice.get_json("/accounts/settings/")).json()["account"]["bio"] == ""


@pytest.mark.parametrize("length", [b"3", b"500"])
async def test_a_false_length_is_400(alice, length):
    assert await post(alice, "/posts/", b"text=hello", FORM, **{"Content-Length": length.decode()}) == 400


async def test_a_large_head_is_431(visitor):
    for headers in ({"X-Long": "a" * 13_000}, {f"X-{n}": "a" for n in range(120)}):
        answer = await visitor.http.get("/public/", headers={**JSON_HEADERS, **headers})
        assert (answer.status_code, answer.json()["error"]) == (431, "too_large")


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("signup", {"handle": "\ud800", "password1": "\ud800" * 9, "password2": "\ud800" * 9}),
        ("signup", {"handle": "a\x00", "password1": PASSWORD, "password2": PASSWORD}),
        ("login", {"username": "\ud800", "password": "x"}),
        ("login", {"username": "alice", "password": "x" * 20_000}),
        ("login", {"username": "x" * 20_000, "password": "x"}),
        ("login", {"username": 7, "password": ["x"]}),
    ],
)
async def test_hostile_input_is_refused_not_failed(visitor, path, fields):
    await visitor.fetch_csrf_token()
    body = json.dumps(fields).encode()
    assert await post(visitor, f"/accounts/{path}/", body, "application/json") in (400, 401, 422)


async def test_no_text_breaks_publishing(alice):
    """Any string that a program sends is published or refused with 4xx."""
    random = Random(4711)
    for _ in range(400):
        fields = {name: _text(random) for name in ("text", "in_reply_to", "idempotency_key", "next")}
        body = json.dumps({name: fields[name] for name in random.sample(sorted(fields), random.randint(1, 4))})
        assert await post(alice, "/posts/", body.encode(), "application/json") in (201, 400, 404, 409, 422)


def _text(random: Random) -> str:
    """Code points from all planes, with half surrogates and control characters."""
    ranges = [(0, 0x20), (0x20, 0x7F), (0x80, 0x9F), (0x300, 0x36F), (0xD800, 0xDFFF), (0x200B, 0x206F), (0, 0x10FFFF)]
    low, high = random.choice(ranges)
    return "".join(chr(random.randint(low, high)) for _ in range(random.randint(0, 30)))
