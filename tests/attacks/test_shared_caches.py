"""A cache between the site and its readers may store no private answer (S11, S1)."""

import re

import pytest

from socialsite.web.middleware.headers import OPEN_PREFIXES
from tests.support.browser import JSON_HEADERS, HttpBrowser, cookies_of
from tests.support.random_tests import mostly_nightly
from tests.support.routes import routes

READABLE = [route.path for route in routes() if "GET" in route.methods]
SHAPES = [{}, JSON_HEADERS, {"Accept": "application/atom+xml"}]


class SharedCache:
    """A cache that stores every answer that RFC 9111 allows, keyed by address and the headers in Vary.

    Some commercial caches ignore Vary and use the address alone.
    """

    def __init__(self, *, heeds_vary: bool) -> None:
        self._heeds_vary = heeds_vary
        self._kept: dict[tuple[str, ...], str] = {}
        self.hits = 0
        self._vary: dict[str, list[str]] = {}

    async def get(self, browser: HttpBrowser, path: str, headers: dict[str, str]) -> str:
        request = browser.http.build_request("GET", path, headers=headers)
        sent = {name: request.headers.get(name, "") for name in self._vary.get(path, [])}
        if (stored_answer := self._kept.get((path, *sent.values()))) is not None:
            self.hits += 1
            return stored_answer
        answer = await browser.http.send(request)
        control = answer.headers.get("cache-control", "")
        if not re.search(r"no-store|private", control):
            assert "set-cookie" not in answer.headers, path
            vary = answer.headers.get("vary", "").lower().split(", ") if self._heeds_vary else []
            names = self._vary[path] = sorted(vary)
            self._kept[(path, *(request.headers.get(name, "") for name in names))] = answer.text
        return answer.text


@pytest.mark.parametrize("heeds_vary", mostly_nightly([False, True], 1))
async def test_two_readers_behind_one_cache_never_get_each_others_pages(
    alice: HttpBrowser, bob: HttpBrowser, visitor: HttpBrowser, heeds_vary: bool
) -> None:
    """Two readers request every page in turns; each page is marked by a word on that reader's own pages.

    Visitors send no cookie and are new each time: an answer to a request with a cookie is never cached.
    """
    for name, browser in (("alice", alice), ("bob", bob)):
        await browser.post_json("/lists/", title=f"canarylistof{name}")
        await browser.post_json("/accounts/filters/", phrase=f"canaryphraseof{name}")
    cache, seen = SharedCache(heeds_vary=heeds_vary), set[str]()
    for headers in SHAPES:
        for path in READABLE:
            for who, browser in (("alice", alice), ("bob", bob), ("", visitor), ("alice", alice), ("", visitor)):
                visitor.http.cookies.clear()
                text = await cache.get(browser, path, headers)
                owners = set(re.findall(r"canary(?:list|phrase)of(\w+)", text))
                owners |= set(re.findall(r'data-handle="(\w+)"', text))
                assert owners <= {who}, (path, who, owners)
                seen |= owners
    assert seen == {"alice", "bob"}  # both marks do occur on pages
    assert cache.hits >= len(READABLE) / 4  # and the cache answered some requests


@pytest.mark.parametrize("headers", SHAPES, ids=["page", "json", "atom"])
async def test_every_answer_states_its_cache_control_and_its_script_policy(alice, visitor, headers) -> None:
    for path in READABLE:
        for browser in (alice, visitor):
            answer = await browser.http.get(path, headers=headers)
            if path.startswith(OPEN_PREFIXES):  # read by apps of other sites, without cookies
                assert "set-cookie" not in answer.headers, path
                assert "access-control-allow-credentials" not in answer.headers, path
                continue
            if path.startswith("/accent/"):  # the same style sheet for everybody
                assert "set-cookie" not in answer.headers, path
                assert answer.headers["content-security-policy"].startswith("sandbox"), path
                continue
            sent = answer.request.headers.get("cookie")
            if sent or "set-cookie" in answer.headers or answer.status_code >= 400:
                assert answer.headers["cache-control"] == "private, no-store", path
            assert "Cookie" in answer.headers["vary"], path
            assert "unsafe" not in answer.headers["content-security-policy"], path
            assert answer.headers["x-content-type-options"] == "nosniff", path
            assert answer.headers["x-frame-options"] == "DENY", path
            assert "access-control-allow-origin" not in answer.headers, path


async def test_every_cookie_belongs_to_this_site_alone(visitor: HttpBrowser) -> None:
    await visitor.fetch_csrf_token()
    answer = await visitor.sign_up("carol")
    page = await visitor.get("/accounts/login/")
    for cookie_answer in (answer, page):
        for name, cookie in cookies_of(cookie_answer).items():
            assert (cookie["samesite"], cookie["domain"], cookie["path"]) == ("Lax", "", "/"), name
            assert name != "sessionid" or cookie["httponly"]


async def test_a_planted_session_is_replaced_when_somebody_signs_in(visitor, alice, open_browser) -> None:
    """Plant a chosen session, the session of the attacker's account and a random one: each is replaced."""
    own = (await open_browser("mallory")).http.cookies["sessionid"]
    for planted in (own, "1." + "a" * 43, "x", own.replace("4", "5")):
        victim = await open_browser()
        await victim.fetch_csrf_token()
        victim.http.cookies.set("sessionid", planted, domain="testserver.local")
        answer = await victim.log_in("alice")
        assert answer.status_code == 200
        assert cookies_of(answer)["sessionid"].value != planted
        thief = await open_browser()
        thief.http.cookies.set("sessionid", planted, domain="testserver.local")
        settings = await thief.get_json("/accounts/settings/")
        assert settings.status_code in (200, 401)
        assert '"alice"' not in settings.text


async def test_signing_in_replaces_the_token(visitor: HttpBrowser, alice: HttpBrowser) -> None:
    """An attacker who planted the token could otherwise send requests with it."""
    await visitor.fetch_csrf_token()
    planted = visitor.csrf_token
    assert (await visitor.log_in("alice")).status_code == 200
    assert visitor.csrf_token != planted
    headers = {**JSON_HEADERS, "X-CSRFToken": planted}
    assert (await visitor.http.post("/posts/", json={"text": "t"}, headers=headers)).status_code == 403
