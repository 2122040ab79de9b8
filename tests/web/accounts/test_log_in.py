"""Log-in and log-out: redirects, answers to wrong credentials, and session cookies."""

import asyncio
import re
import threading
import time
from functools import partial
from urllib.parse import urlencode

import pytest

from accounts.accounts import passwords
from accounts.errors import PasswordsBusy
from accounts.mail.links import address_digest
from accounts.security.browsers import KnownBrowser
from socialsite.ids import AccountId
from socialsite.limits import NETWORKS_PER_HANDLE
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.web.services import loop_services
from tests.support.browser import cookies_of
from tests.support.visitor import PASSWORD
from tests.support.waiting import eventually


async def test_a_log_in_redirects_to_the_requested_page(visitor, alice):
    assert 'name="next" value="/lists/"' in (await visitor.get("/accounts/login/?next=/lists/")).text
    answer = await visitor.post("/accounts/login/", username="@Alice", password=PASSWORD, next="/lists/")
    assert (answer.status_code, answer.headers["location"]) == (303, "/lists/")


@pytest.mark.parametrize(
    "elsewhere",
    ["//evil.example", "/\\evil.example", "https:evil.example", "https://evil.example", "javascript:x", "/\t/e"],
)
async def test_a_log_in_never_redirects_to_another_host(visitor, alice, elsewhere):
    answer = await visitor.post("/accounts/login/", username="alice", password=PASSWORD, next=elsewhere)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")


async def test_every_wrong_log_in_gets_the_same_answer(visitor, alice, site):
    answers = [await visitor.log_in("alice", "wrong")]
    answers += [await visitor.log_in(nobody) for nobody in ("nobody", "{}:*")]
    account = await site.accounts.get_by_handle("alice")
    await site.accounts.suspend(account_id=account.id)
    answers.append(await visitor.log_in("alice", "wrong"))
    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.text for answer in answers}) == 1
    page = await visitor.post("/accounts/login/", username="alice", password="wrong")
    assert page.status_code == 401
    assert "<form" in page.text


async def test_a_suspended_person_learns_it_after_the_right_password(visitor, alice, site):
    account = await site.accounts.get_by_handle("alice")
    await site.accounts.suspend(account_id=account.id)
    answer = await visitor.log_in("alice")
    assert answer.status_code == 401
    assert answer.json()["error"] == "wrong_login"
    assert "suspended" in answer.json()["message"]


async def test_a_refused_form_has_the_cursor_in_the_first_wrong_field(visitor, alice):
    page = await visitor.post("/accounts/login/", username="alice", password="wrong")
    assert re.search(r'<input type="password"[^>]* autofocus', page.text)
    page = await visitor.post("/accounts/signup/", handle="alice", password1=PASSWORD, password2=PASSWORD)
    assert re.search(r'name="handle" value="alice"[^>]* autofocus', page.text)


async def test_a_visitor_who_likes_a_post_returns_to_it_after_the_log_in(visitor, alice):
    post = await alice.publish("hello")
    assert f'name="next" value="{post["url"]}"' in (await visitor.get(post["url"])).text
    answer = await visitor.post(f"/posts/{post['id']}/like/", next=post["url"])
    assert answer.headers["location"] == f"/accounts/login/?{urlencode({'next': post['url']})}"


async def test_a_log_in_by_json_returns_the_account(visitor, alice):
    answer = await visitor.log_in("alice")
    assert answer.status_code == 200
    assert answer.json()["account"]["handle"] == "alice"


async def test_each_log_in_gets_a_new_token_and_ends_the_one_before(visitor, alice, open_browser):
    await visitor.log_in("alice")
    first = visitor.http.cookies["sessionid"]
    await visitor.log_in("alice")
    assert visitor.http.cookies["sessionid"] != first
    thief = await open_browser()
    thief.http.cookies.set("sessionid", first)
    assert not await thief.is_signed_in()


async def test_guesses_at_one_handle_are_counted_from_every_address(open_browser, redis_url):
    async with open_services(redis_url, ServiceConfig(rate_limits={"login": 1})) as limited:
        loop_services.bind(limited)
        for handle in ("alice", "nobody"):
            statuses = []
            for guess in range(NETWORKS_PER_HANDLE + 2):
                browser = await open_browser(address=f"203.0.113.{guess}")
                answer = await browser.log_in(handle.upper() if guess % 2 else handle, "wrong")
                statuses.append(answer.status_code)
            assert statuses == [401] * NETWORKS_PER_HANDLE + [429, 429]
            assert answer.json()["fields"] == {"rule": "login"}
            assert int(answer.headers["retry-after"]) >= 1
            browser.http.cookies.clear()
            await limited.store.nodes[0].execute("FLUSHALL")


async def test_guesses_at_a_mail_address_do_not_show_whose_it_is(open_browser, redis_url):
    """If they were counted at the handle, its limit would show that the address belongs to it.

    All spellings of the address have one counter: soft hyphens in a domain name are ignored (UTS 46, 4.1).
    """
    async with open_services(redis_url, ServiceConfig(rate_limits={"login": 1})) as limited:
        loop_services.bind(limited)
        alice = await limited.accounts.sign_up(handle="alice", password=PASSWORD, now_ms=limited.clock.now_ms())
        await limited.repositories.mails.change(alice.id, address="alice@example.org")
        await limited.repositories.mails.claim(address_digest("alice@example.org"), alice.id)
        for guess in range(NETWORKS_PER_HANDLE + 1):
            browser = await open_browser(address=f"203.0.113.{guess}")
            last = await browser.log_in(f"Alice@exam{chr(0xAD) * guess}ple.org", "wrong")
        assert last.status_code == 429
        stranger = await open_browser(address="198.51.100.1")
        assert (await stranger.log_in("alice")).status_code == 200


async def test_guesses_of_others_keep_no_owner_out(open_browser, redis_url):
    """A dozen networks guess. The owner logs in from another network, then in the known browser."""
    async with open_services(redis_url, ServiceConfig(rate_limits={"login": 2})) as limited:
        loop_services.bind(limited)
        await limited.accounts.sign_up(handle="alice", password=PASSWORD, now_ms=limited.clock.now_ms())
        for guess in range(12):
            browser = await open_browser(address=f"203.0.113.{guess}")
            assert (await browser.log_in("alice", "wrong")).status_code == 401
        owner = await open_browser(address="198.51.100.1")
        assert (await owner.log_in("alice")).status_code == 200
        for guess in range(12):
            browser = await open_browser(address=f"203.0.113.{guess}")
            last = await browser.log_in("alice", "wrong")
        assert last.status_code == 429
        stranger = await open_browser(address="198.51.100.2")
        assert (await stranger.log_in("alice")).status_code == 429
        await owner.post_json("/accounts/logout/")
        assert (await owner.log_in("alice")).status_code == 200
        assert (await owner.log_in("alice", "wrong")).status_code == 401
        assert (await owner.log_in("alice", "wrong")).status_code == 429  # this browser has its own limit


async def test_the_cookie_of_a_known_browser_counts_for_its_accounts_only(open_browser, alice, bob):
    value = alice.http.cookies["known"]
    browser = KnownBrowser.parse(value)
    assert browser is not None
    assert browser.knows(1)
    assert not browser.knows(2)
    assert browser.with_account(2).knows(1)
    other = KnownBrowser.parse(bob.http.cookies["known"])
    assert other is not None
    assert not KnownBrowser(other.secret, browser.macs).knows(1)  # the MAC belongs to the browser's secret
    assert [KnownBrowser.parse(text) for text in (None, "", "x", value[:-1], "a" * 9_000)] == [None] * 5


async def test_right_passwords_are_not_counted_at_the_handle(open_browser, redis_url):
    async with open_services(redis_url, ServiceConfig(rate_limits={"login": 1})) as limited:
        loop_services.bind(limited)
        await limited.accounts.sign_up(handle="alice", password=PASSWORD, now_ms=limited.clock.now_ms())
        for number in range(NETWORKS_PER_HANDLE + 3):
            browser = await open_browser(address=f"203.0.113.{number}")
            assert (await browser.log_in("alice")).status_code == 200


async def test_a_full_queue_of_passwords_is_503_at_once_and_known_browsers_come_first(visitor, alice):
    may_continue, started, order = threading.Event(), [], []

    def check(name: str) -> str:
        started.append(name)
        may_continue.wait(20)
        order.append(name)
        return name

    def start(name: str, count: int, *, is_known: bool) -> list[asyncio.Task[str]]:
        run = partial(passwords._run_in_pool, lambda: check(name), is_known=is_known)
        return [asyncio.create_task(run()) for _ in range(count)]

    await visitor.fetch_csrf_token()
    try:
        tasks = start("running", passwords.MAX_CONCURRENT_HASHES, is_known=False)
        await eventually(lambda: len(started) == passwords.MAX_CONCURRENT_HASHES)
        tasks += start("stranger", passwords.WAITING_CAP, is_known=False)
        await asyncio.sleep(0)
        answer = await visitor.log_in("alice")
        assert (answer.status_code, answer.json()["error"]) == (503, "busy")
        assert int(answer.headers["retry-after"]) >= 1
        (cancelled,) = start("cancelled", 1, is_known=True)
        tasks += start("owner", passwords.WAITING_CAP - 1, is_known=True)
        await asyncio.sleep(0)
        cancelled.cancel()
        await asyncio.wait([cancelled])
        with pytest.raises(PasswordsBusy):
            await passwords.hash_password("one more")
    finally:
        may_continue.set()
    await asyncio.gather(*tasks)
    assert max(at for at, name in enumerate(order) if name == "owner") < len(order) - passwords.WAITING_CAP + 2
    assert "cancelled" not in order
    assert (await visitor.log_in("alice")).status_code == 200


async def test_fewer_passwords_wait_if_each_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a loaded machine, log-ins are refused at once and not after their deadline."""
    monkeypatch.setattr(passwords, "_average_s", [0.05])

    def start(count: int) -> list[asyncio.Task[None]]:
        return [
            asyncio.create_task(passwords._run_in_pool(lambda: time.sleep(0.4), is_known=False)) for _ in range(count)
        ]

    await asyncio.gather(*start(16))
    began = time.monotonic()
    results = await asyncio.gather(*start(passwords.WAITING_CAP), return_exceptions=True)
    assert 4 <= sum(isinstance(result, PasswordsBusy) for result in results) < passwords.WAITING_CAP
    assert time.monotonic() - began < 2 * passwords.WAIT_MAX_S


async def test_a_log_out_deletes_the_drafts_in_the_browser(alice):
    assert (await alice.post("/accounts/logout/")).headers["clear-site-data"] == '"cache", "storage"'


async def test_a_log_out_requires_a_post(alice):
    cookie = alice.http.cookies["sessionid"]
    get_answer = await alice.get("/accounts/logout/")
    assert get_answer.status_code == 200
    assert "<form" in get_answer.text
    get_answer = await alice.get_json("/accounts/logout/")
    assert (get_answer.status_code, get_answer.headers["allow"]) == (405, "POST")
    assert await alice.is_signed_in()
    answer = await alice.post("/accounts/logout/")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert "sessionid" not in alice.http.cookies
    alice.http.cookies.set("sessionid", cookie)
    assert not await alice.is_signed_in()
    assert (await alice.post_json("/accounts/logout/")).json() == {}


@pytest.mark.parametrize("cookie", ["", "x", "1.short", "1." + "a" * 43, "9" * 16 + "." + "a" * 43])
async def test_an_invalid_session_cookie_is_deleted(visitor, cookie):
    answer = await visitor.http.get("/public/", headers={"Cookie": f"sessionid={cookie}"})
    assert answer.status_code == 200
    assert cookies_of(answer)["sessionid"].value == ""


async def test_a_page_says_once_that_the_session_has_ended(site, visitor, alice):
    text = "You are logged out. Log in to continue."
    words = re.compile(rf'class="flash" role="status"><p>{text}')
    assert not words.search((await visitor.get("/public/")).text)
    assert not words.search((await alice.get("/public/")).text)
    await site.sessions.end_all(AccountId(1))
    assert words.search((await alice.get("/public/")).text)
    assert not words.search((await alice.get("/public/")).text)
    answer = await alice.http.post("/posts/", data={"text": "kept", "csrfmiddlewaretoken": "b" * 32})
    assert answer.status_code == 403
    assert 'class="btn" href="/accounts/login/"' in answer.text
    assert "kept" in answer.text
    answer = await alice.http.post("/posts/", json={}, headers={"Accept": "application/json"})
    assert (answer.status_code, answer.json()["message"]) == (403, text)


async def test_the_cursor_is_in_the_field_that_is_typed_first(visitor):
    for path, name in (("/accounts/login/", "username"), ("/accounts/signup/", "handle")):
        assert re.findall('name="([^"]+)"[^>]* autofocus', (await visitor.get(path)).text) == [name]
