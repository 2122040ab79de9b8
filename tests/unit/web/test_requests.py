"""Requests and responses: content negotiation, bodies as fields, and redirects within the site."""

import msgspec
import pytest
from django.contrib.messages.storage.cookie import CookieStorage
from django.test import RequestFactory

from socialsite.errors import MalformedRequest, MethodNotAllowed, SignInRequired
from socialsite.web.requests import dispatch_by_method, get_form_data, is_own_url, require_viewer, wants_json
from socialsite.web.responses import format_iso_time, json_response, redirect_to_next, redirect_with_next

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"


def posted(body: bytes, content_type: str = JSON):
    request = RequestFactory().generic("POST", "/posts/", body, content_type)
    request._messages = CookieStorage(request)
    return request


@pytest.mark.parametrize(
    ("accept", "json"),
    [
        ("", False),
        ("*/*", False),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", False),
        ("application/json", True),
        ("application/json, text/plain, */*", True),
        ("application/json; charset=utf-8", True),
        ("application/json;charset=UTF-8, */*;q=0.1", True),
        ("text/html, application/json;q=0.5", False),
        ("text/html, application/json;charset=utf-8;q=0.5", False),
        ("text/html;q=0.5, application/json", True),
        ("application/ld+json", False),
        ("json", False),
        ("application/json;q=0", False),
    ],
)
def test_clients_that_prefer_json_get_json(accept, json):
    assert wants_json(RequestFactory().get("/", headers={"Accept": accept})) is json


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_795_187_640_123, "2026-11-20T15:14:00.123Z"),
        (1_795_187_640_999, "2026-11-20T15:14:00.999Z"),
        (1_795_187_640_000, "2026-11-20T15:14:00.000Z"),
    ],
)
def test_times_in_json_have_milliseconds_and_end_with_z(ms, text):
    assert format_iso_time(ms) == text


def test_json_is_compact_and_utf8():
    assert json_response({"a": "ä", "b": None}).content == '{"a":"ä","b":null}'.encode()


@pytest.mark.parametrize(
    ("body", "content_type"),
    [(b"ids%5B%5D=1&ids%5B%5D=2&text=a&text=b", FORM), (b'{"ids": [1, "2"], "text": ["a", "b"]}', JSON)],
)
def test_all_values_of_a_repeated_field_are_kept(body, content_type):
    fields = get_form_data(posted(body, content_type))
    assert (fields.values_of("ids"), fields["text"], fields.values_of("text")) == (["1", "2"], "b", ["a", "b"])
    assert fields.values_of("none") == []


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b'{"text": "hello", "in_reply_to": 7, "nothing": null}', JSON),
        (b"text=hello&in_reply_to=7", FORM),
        (b"text=hello&in_reply_to=7", f"{FORM}; charset=utf-8"),
    ],
)
def test_a_form_and_a_json_body_give_the_same_fields(body, content_type):
    assert get_form_data(posted(body, content_type)) == {"text": "hello", "in_reply_to": "7"}


def test_a_multipart_body_gives_its_fields():
    request = RequestFactory().post("/posts/", {"text": "hellö"})
    assert get_form_data(request) == {"text": "hellö"}


def test_a_request_without_body_has_no_fields():
    assert get_form_data(RequestFactory().generic("POST", "/", b"", "")) == {}


def test_a_surrogate_pair_is_one_character():
    assert get_form_data(posted(b'{"text": "\\ud83d\\ude00"}')) == {"text": "\U0001f600"}


@pytest.mark.parametrize(
    "body",
    [
        b" ",
        b"{",
        b"[]",
        b'"text"',
        b"null",
        b'{"text": [["a"]]}',
        b'{"text": {"a": 1}}',
        b'{"text": [1.5]}',
        b'{"text": 1.5}',
        b'{"text": 1e999}',
        b'{"text": NaN}',
        b'{"text": ' + b"9" * 5_000 + b"}",
        b'{"text": "\\ud800"}',
        b'{"text": "\\udc00\\ud800"}',
        b'{"\\ud800": "a"}',
        b'{"text": "a\\u0000b"}',
        b'{"text": "\xff"}',
        b'{"text": "\xed\xa0\x80"}',
        b'{"text": "\xc0\xaf"}',
        b'{"text": "a"} {}',
        b"\xef\xbb\xbf{}",
        b'{"text":' + b"[" * 60_000,
        b'{"a":' * 10_000,
    ],
)
def test_json_other_than_an_object_of_texts_is_malformed(body):
    with pytest.raises(MalformedRequest):
        get_form_data(posted(body))


@pytest.mark.parametrize(
    "body",
    [b"text=%ff", b"text=\xff", b"text=%00", b"text=%ed%a0%80", b"%c0%af=1", b"text=a%80b", b"&" * 600 + b"a=1&" * 600],
)
def test_a_form_that_is_not_utf8_is_malformed(body):
    with pytest.raises(MalformedRequest):
        get_form_data(posted(body, FORM))


def test_a_body_of_another_content_type_is_malformed():
    with pytest.raises(MalformedRequest):
        get_form_data(posted(b"<text>hello</text>", "text/xml"))


@pytest.mark.parametrize("url", ["/", "/@bob/", "/@bob/?before=5", "http://testserver/public/", "/public/#x"])
def test_a_redirect_within_the_site_is_allowed(url):
    assert is_own_url(RequestFactory().get("/"), url)


@pytest.mark.parametrize(
    "url",
    [
        "", "//evil.example", "///evil.example", "/\\evil.example", "\\\\evil.example", "\\/evil.example",
        "https:evil.example", "http:evil.example", "http:///evil.example", "https://evil.example/",
        "http://testserver@evil.example/", "http://testserver.evil.example/",
        "http://evil.example#testserver",
        "javascript:alert(1)", "data:text/html,x", "%2f%2fevil.example",
        "/\t/evil.example", "\t//evil.example",
        "/\n/evil.example", "/\r\nSet-Cookie: a=b", " //evil.example", "http://[::1",
        "//evil.example/@testserver",
        "http:\\\\evil.example",
        "/\x00/evil.example", "ftp://testserver/", "evil.example", "/" + "a" * 3_000,
        "http://testserver:8000/", "//testserver\\@evil.example", "/\u2028/evil.example",
    ],
)  # fmt: skip
def test_a_redirect_to_another_site_is_refused(url):
    request = posted(msgspec.json.encode({"next": url}) if "\x00" not in url else b"{}")
    assert not is_own_url(request, url)
    assert redirect_to_next(request, "/home/").headers["Location"] == "/home/"


def test_a_redirect_from_https_to_http_is_refused():
    request = RequestFactory().get("/", secure=True)
    assert not is_own_url(request, "http://testserver/")
    assert is_own_url(request, "https://testserver/")


def test_a_sign_in_redirects_back_to_a_page_but_not_to_an_action():
    page, action = RequestFactory().get("/lists/?limit=3"), RequestFactory().post("/posts/")
    assert (
        redirect_with_next(page, "/accounts/login/").headers["Location"]
        == "/accounts/login/?next=%2Flists%2F%3Flimit%3D3"
    )
    assert redirect_with_next(action, "/accounts/login/").headers["Location"] == "/accounts/login/?next=%2F"


@pytest.mark.parametrize(
    ("page", "next_url"),
    [
        ("http://testserver/accounts/mail/", "http%3A%2F%2Ftestserver%2Faccounts%2Fmail%2F"),
        ("https://evil.example/", "%2F"),
    ],
)
def test_a_confirmation_redirects_back_to_the_page_of_the_form_on_this_site(page, next_url):
    action = RequestFactory().post("/accounts/mail/", headers={"Referer": page})
    assert redirect_with_next(action, "/accounts/confirm/").headers["Location"] == f"/accounts/confirm/?next={next_url}"


def test_require_viewer_raises_sign_in_required_for_a_visitor():
    request = RequestFactory().get("/")
    request.account = None
    with pytest.raises(SignInRequired):
        require_viewer(request)


async def test_a_view_accepts_only_its_own_methods():
    async def index(request, number):
        return json_response(number)

    view = dispatch_by_method(GET=index)
    assert (await view(RequestFactory().head("/"), 7)).content == b"7"
    with pytest.raises(MethodNotAllowed) as refused:
        await view(RequestFactory().post("/"), 7)
    assert refused.value.headers == {"Allow": "GET, HEAD"}
