"""`next` leads only to this site, whatever its text, on every action that accepts it.

Browsers read addresses more generously than RFC 3986 (urltestdata.json shows how), so the answer's Location is
resolved as a browser resolves it before its host is checked.
"""

import re
from html import unescape
from urllib.parse import quote, urljoin, urlsplit

import pytest

from socialsite.container import Services
from socialsite.site.service import SiteService
from tests.support.browser import BASE_URL, HttpBrowser, hidden_field
from tests.support.corpora import corpus_json, corpus_text
from tests.support.routes import routes
from tests.support.visitor import PASSWORD

ELSEWHERE = [
    "//evil.example", "///evil.example", "////evil.example", "/\\evil.example", "\\\\evil.example",
    "\\/evil.example", "/\\/evil.example", "https:evil.example", "https:/evil.example", "https:///evil.example",
    "http:evil.example", "https://evil.example", "HTTPS://EVIL.EXAMPLE", "//evil.example\\@testserver/",
    "http://testserver@evil.example/", "http://testserver:80@evil.example/", "http://testserver.evil.example/",
    "http://evil.example#testserver", "http://evil.example?testserver", "//testserver@evil.example",
    "/\t/evil.example", "/\n/evil.example", "\t//evil.example", " //evil.example", "/ /evil.example",
    "/\r\nLocation: https://evil.example", "/%0d%0aSet-Cookie: a=b", "/%2f%2fevil.example",
    "%2f%2fevil.example",
    "/%5cevil.example", "javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "vbscript:x",
    "java\nscript:alert(1)", "\x01javascript:alert(1)", "ftp://testserver/", "//[::1]/", "http://[::1", "//",
    "http://", "http:///", "//\u3002evil.example", "//evil\u3002example", "/\u2028/evil.example",
    "//e\u0301vil",
    "https://testserver/", "http://testserver:8000/", "http://testserver\u200b/", "x" * 3_000,
    "/" + "a" * 3_000,
    "/\x00/evil.example", "/../..//evil.example", "/.//evil.example", "/..//evil.example",
    "?next=//evil.example",
    "#//evil.example", "@evil.example", "/@alice//evil.example/",
]  # fmt: skip


def corpus() -> list[str]:
    """The addresses of this file, and those of collections on Unicode, browsers and scripting."""
    addresses = [case["input"] for case in corpus_json("conformance/url/urltestdata.json") if isinstance(case, dict)]
    addresses += corpus_text("conformance/xss/fuzzdb-xss-uri.txt").splitlines()
    return [*ELSEWHERE, *addresses]


def leads_elsewhere(location: str) -> bool:
    """Resolve as a browser: a backslash is a slash; tabs and line ends are removed, edges trimmed."""
    seen = re.sub(r"[\t\r\n]", "", location.strip("".join(map(chr, range(0x21))))).replace("\\", "/")
    if re.match(r"https?:(?!//)", seen, re.IGNORECASE) or re.match(r"(https?:)?///", seen, re.IGNORECASE):
        return True  # browsers accept one, two or five slashes instead of two
    parts = urlsplit(urljoin(BASE_URL + "/", seen))
    return parts.scheme not in ("http", "https") or parts.netloc != urlsplit(BASE_URL).netloc


async def location_after(browser: HttpBrowser, path: str, wanted: str, **fields: str) -> str:
    """Return the answer's Location; "" if the bytes of `wanted` were refused."""
    body = "&".join(f"{name}={quote(value, errors='replace')}" for name, value in fields.items())
    body += f"&next={quote(wanted, safe='', errors='replace')}&csrfmiddlewaretoken={browser.csrf_token}"
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = await browser.http.post(path, content=body, headers=headers)
    assert answer.status_code in (303, 400), (path, wanted, answer.status_code)
    location: str = answer.headers.get("location", "")
    assert "set-cookie: a=b" not in str(answer.headers).lower()
    return location


async def test_a_follow_redirects_only_to_this_site(alice: HttpBrowser, bob: HttpBrowser) -> None:
    """Try the whole collection on one action: all actions share the code that reads `next`."""
    assert len(corpus()) > 600
    wrong = [
        (target, location)
        for target in corpus()
        if leads_elsewhere(location := await location_after(alice, "/@bob/mute/", target))
    ]
    assert wrong == []


def actions() -> list[str]:
    """Every action that reads `next`; log-out and account deletion redirect to one address, uploads answer in JSON."""
    left_out = ("/ops/", "/accounts/", "/clicks/", "/media/", "/oauth/", "/api/")
    return [route.path for route in routes() if route.is_unsafe and not route.path.startswith(left_out)]


FIELDS = {"text": "t", "title": "t", "post": "7", "timeline": "home", "handle": "bob", "scroll": "on", "choices": "0"}
"""The fields of all actions."""


@pytest.mark.parametrize("path", actions())
async def test_no_action_redirects_to_another_host(
    site: Services, alice: HttpBrowser, bob: HttpBrowser, path: str
) -> None:
    """Done for the first time or repeated, each action redirects at least once."""
    if path.endswith(("/accept/", "/refuse/")):
        await alice.post_json("/accounts/settings/", private="1")
        await bob.post_json("/@alice/follow/")  # bob's follow request is now pending
    post, made = await alice.publish("mine https://example.org/"), await alice.post_json("/lists/", title="mine")
    if path.endswith("/vote/"):  # nobody votes in an own poll
        post = (await bob.post_json("/posts/", text="Tea?", **{"poll[options][]": ["yes", "no"]})).json()
    if path.endswith("/unquote/"):
        post = (await bob.post_json("/posts/", text="look", quoted_status_id=post["id"])).json()
    if path.endswith("/leave/"):
        made = await bob.post_json("/lists/", title="his")
        await bob.post_json(f"/lists/{made.json()['id']}/members/", handle="alice")
        await bob.post_json(f"/lists/{made.json()['id']}/edit/", title="his", public="1")
    reported = await bob.post_json("/posts/", text="rude")
    now_ms = site.clock.now_ms()
    await site[SiteService].announce("news", starts_ms=0, ends_ms=0, now_ms=now_ms)
    path = path.replace("/announcements/7/", f"/announcements/{site[SiteService].announcements[-1].id}/")
    path = path.replace("alice", "bob").replace("/posts/7/", f"/posts/{post['id']}/")
    path, led = path.replace("/lists/7/", f"/lists/{made.json()['id']}/"), 0
    for target in ELSEWHERE[::4]:  # the follow test reads the whole collection
        subject = {"post": reported.json()["id"], "category": "spam"} if path == "/reports/new/" else {}
        subject |= {"tab": made.json()["id"], "action": "up"} if path == "/lists/tabs/" else {}
        body = {**FIELDS, **subject, "csrfmiddlewaretoken": alice.csrf_token, "next": target}
        answer = await alice.http.post(path, data=body)
        assert answer.status_code < 500
        led += answer.status_code == 303
        assert not leads_elsewhere(answer.headers.get("location", "/")), target
    assert led, answer.status_code


async def test_log_in_and_log_out_redirect_to_this_site(open_browser, alice: HttpBrowser) -> None:
    browser = await open_browser()
    await browser.fetch_csrf_token()
    fields = {"username": "alice", "password": PASSWORD}
    for target in ELSEWHERE:
        assert not leads_elsewhere(await location_after(browser, "/accounts/login/", target, **fields)), target
    for target in ELSEWHERE[:12]:
        assert await location_after(browser, "/accounts/logout/", target) in ("/", "")


async def test_a_link_back_leads_only_to_this_site(alice: HttpBrowser) -> None:
    """An address of this site may have a path that is another address: http://testserver//evil.example/."""
    own = [BASE_URL + each for each in ELSEWHERE if each.startswith(("/", "\\"))]
    for target in [*ELSEWHERE, *own]:
        answer = await alice.get(f"/reports/sent/?back={quote(target, safe='', errors='replace')}")
        link = re.search(r'<a class="btn" href="([^"]*)"', answer.text)
        assert answer.status_code == 400 or (link and not leads_elsewhere(unescape(link[1]))), target


@pytest.mark.parametrize("path", ["/lists/", "//evil.example/%2e%2e", "/search/?q=//evil.example"])
async def test_a_redirect_to_log_in_returns_to_this_site(visitor: HttpBrowser, path: str) -> None:
    answer = await visitor.http.get(BASE_URL + path)
    assert not leads_elsewhere(answer.headers.get("location", "/"))
    if answer.status_code == 303:
        assert not leads_elsewhere(hidden_field((await visitor.get(answer.headers["location"])).text, "next"))
