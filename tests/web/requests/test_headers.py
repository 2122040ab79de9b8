"""The headers of every answer, and the caching of pages."""

import re
from urllib.parse import quote

import pytest

from tests.support.browser import JSON_HEADERS, cookies_of

PATHS = ["/", "/public/", "/accounts/login/", "/nothing/here/", "/livez", "/posts/", "/public/?before=x"]


@pytest.mark.parametrize("path", PATHS)
async def test_every_answer_restricts_what_a_browser_may_do_with_it(visitor, path):
    headers = (await visitor.get(path)).headers
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == policy["script-src"] == policy["style-src"] == "'self'"
    assert policy["connect-src"] == "'self' ws://testserver"
    assert policy["img-src"] == policy["form-action"] == "'self'"
    assert policy["frame-ancestors"] == policy["object-src"] == policy["base-uri"] == "'none'"
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    refused = {"camera", "geolocation", "microphone", "payment", "usb"}
    assert {f"{what}=()" for what in refused} == set(headers["permissions-policy"].split(", "))
    assert "access-control-allow-origin" not in headers
    assert "strict-transport-security" not in headers


CONSENT = "/oauth/authorize?client_id=x"


@pytest.mark.parametrize(
    ("method", "path", "next_url", "leads"),
    [
        ("GET", CONSENT, "", True),
        ("POST", "/oauth/authorize/", "", True),
        ("GET", "/accounts/login/", CONSENT, True),
        ("POST", "/accounts/login/", CONSENT, True),
        ("POST", "/accounts/login/", f"http://testserver{CONSENT}", True),
        ("GET", "/accounts/login/factor/", CONSENT, True),
        ("POST", "/accounts/login/factor/", CONSENT, True),
        ("POST", "/accounts/login/passkey/", CONSENT, True),
        ("POST", "/accounts/login/", "/", False),
        ("GET", "/accounts/login/", "/search/?q=/oauth/authorize", False),
        ("GET", "/accounts/settings/", CONSENT, False),
        ("GET", "/oauth/other", "", False),
    ],
)
async def test_only_pages_that_lead_to_an_app_keep_the_opener_and_redirects_of_a_popup(
    visitor, method, path, next_url, leads
):
    """An app opens them in a popup, and its own address may redirect to another host or scheme."""
    form = {"next": next_url, "username": "alice", "password": "wrong", "credential": "{}"}
    answer = await (
        visitor.post(path, **form)
        if method == "POST"
        else visitor.http.get(path, params={"next": next_url} if next_url else None)
    )
    assert answer.headers["cross-origin-opener-policy"] == ("unsafe-none" if leads else "same-origin")
    assert ("form-action" in answer.headers["content-security-policy"]) is not leads
    if path == "/accounts/login/passkey/":
        assert answer.headers["location"] == f"/accounts/login/?next={quote(next_url, safe='')}"


@pytest.mark.parametrize("path", PATHS)
async def test_no_page_has_inline_scripts_or_styles(visitor, alice, path):
    for browser in (visitor, alice):
        html = (await browser.get(path)).text
        assert not re.search(r"<script(?![^>]*\bsrc=)", html)
        assert not re.search(r"\s(on[a-z]+|style)=", html)
        assert "<style" not in html


@pytest.mark.parametrize("path", ["/", "/public/", "/@alice/", "/accounts/settings/", "/lists/"])
async def test_a_page_with_a_cookie_is_private(alice, path):
    for headers in ({}, JSON_HEADERS):
        assert (await alice.http.get(path, headers=headers)).headers["cache-control"] == "private, no-store"


@pytest.mark.parametrize(
    ("path", "headers", "expected"),
    [
        ("/", {}, "private, no-cache"),
        ("/@alice/", {}, "private, no-cache"),
        ("/@nobody/", {}, "private, no-store"),
        ("/", JSON_HEADERS, "private, no-store"),
        ("/accounts/settings/", {}, "private, no-store"),
        ("/ops/", {}, "private, no-store"),
    ],
)
async def test_a_browser_whose_script_checks_the_viewer_may_keep_pages_for_back(alice, path, headers, expected):
    alice.http.cookies.set("viewer", "alice.1", domain="testserver.local")
    answer = await alice.http.get(path, headers=headers)
    assert answer.headers["cache-control"] == expected
    assert (answer.headers["vary"] == "*") == (expected == "private, no-cache")


async def test_the_cookie_of_the_viewer_is_emptied_when_the_session_changes(alice):
    alice.http.cookies.set("viewer", "alice.1", domain="testserver.local")
    assert "viewer" not in cookies_of(await alice.get("/"))
    assert cookies_of(await alice.post_json("/accounts/logout/"))["viewer"].value == ""
    assert cookies_of(await alice.log_in("alice"))["viewer"].value == ""


async def test_a_page_that_sets_a_cookie_is_private(visitor):
    answer = await visitor.get("/accounts/login/")
    assert "set-cookie" in answer.headers
    assert answer.headers["cache-control"] == "private, no-store"


async def test_a_page_names_its_stylesheet_in_its_head(visitor):
    answer = await visitor.get("/public/")
    path = re.search(r'<link rel="stylesheet" href="(/static/css/site[^"]*)"', answer.text)[1]
    assert answer.headers["link"] == f"<{path}>; rel=preload; as=style"
    assert "link" not in (await visitor.get_json("/public/")).headers


async def test_a_cache_separates_readers_languages_and_formats(visitor):
    answer = await visitor.get_json("/public/")
    assert answer.headers["cache-control"] == "no-cache"
    assert "set-cookie" not in answer.headers
    assert set(answer.headers["vary"].split(", ")) == {"Accept", "Accept-Encoding", "Accept-Language", "Cookie"}


async def test_two_readers_never_get_each_others_page(alice, bob, visitor):
    for handle, browser in (("alice", alice), ("bob", bob), (None, visitor), ("alice", alice)):
        html = (await browser.get("/public/")).text
        assert re.findall(r'data-handle="(\w+)"', html) == ([handle] if handle else [])
        assert browser.csrf_token
        assert len(set(re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', html))) == 1


async def test_each_request_gets_an_id_from_the_site(visitor):
    first = await visitor.get("/livez", **{"X-Request-ID": "of-my-own"})
    second = await visitor.get("/livez")
    assert re.fullmatch(r"[0-9a-f]{16}", first.headers["x-request-id"])
    assert first.headers["x-request-id"] != second.headers["x-request-id"]


async def test_an_unknown_host_is_400(visitor, settings, caplog):
    settings.ALLOWED_HOSTS = ["testserver"]
    answer = await visitor.get("/public/", Host="evil.example")
    assert answer.status_code == 400
    assert not [
        record for record in caplog.records if record.exc_info
    ]  # without a traceback, which anybody could fill the log with
    assert "evil.example" not in answer.text
    assert "evil.example" not in answer.headers["content-security-policy"]


@pytest.mark.parametrize("path", ["/public", "/@alice", "/lists", "/accounts/login"])
async def test_a_missing_slash_is_redirected(visitor, path):
    answer = await visitor.get(path + "?limit=3")
    assert (answer.status_code, answer.headers["location"]) == (301, path + "/?limit=3")


async def test_an_answer_states_its_length(visitor):
    answer = await visitor.get("/public/", **{"Accept-Encoding": "identity"})
    assert int(answer.headers["content-length"]) == len(answer.content)


async def test_static_files_are_cached_and_never_sniffed(visitor):
    answer = await visitor.get("/static/css/site.css")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/css")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["access-control-allow-origin"] == "*"  # the default avatar is a static file
    again = await visitor.get("/static/css/site.css", **{"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert (await visitor.http.head("/static/css/site.css")).content == b""
    assert (await visitor.http.post("/static/css/site.css")).status_code == 405


@pytest.mark.parametrize(
    "path", ["/static/", "/static/nothing.css", "/static/../manage.py", "/static/%2e%2e/manage.py", "/static/%00"]
)
async def test_static_serves_only_static_files(visitor, path):
    assert (await visitor.get(path)).status_code == 404
