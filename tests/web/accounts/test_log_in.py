"""Log-in and log-out: redirects, answers to wrong credentials, and session cookies."""

import re
from urllib.parse import urlencode

import pytest

from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.web.services import loop_services
from tests.support.browser import cookies_of
from tests.support.visitor import PASSWORD


async def test_a_log_in_redirects_to_the_requested_page(visitor, alice):
    page = await visitor.get("/accounts/login/?next=/lists/")
    assert 'name="next" value="/lists/"' in page.text
    answer = await visitor.post("/accounts/login/", username="@Alice", password=PASSWORD, next="/lists/")
    assert (answer.status_code, answer.headers["location"]) == (303, "/lists/")


@pytest.mark.parametrize(
    "elsewhere",
    [
        "//evil.example",
        "/\\evil.example",
        "https:evil.example",
        "https://evil.example",
        "javascript:x",
        "/\t/e",
    ],
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


async def test_a_visitor_who_likes_a_post_comes_back_to_it_after_the_log_in(visitor, alice):
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
    async with open_services(redis_url, ServiceConfig(rate_limits={"login": 3})) as limited:
        loop_services.bind(limited)
        for handle in ("alice", "nobody"):
            statuses = []
            for guess in range(5):
                browser = await open_browser(address=f"203.0.113.{guess}")
                answer = await browser.log_in(handle.upper() if guess % 2 else handle, "wrong")
                statuses.append(answer.status_code)
            assert statuses == [401, 401, 401, 429, 429]
            assert answer.json()["fields"] == {"rule": "login"}
            assert int(answer.headers["retry-after"]) >= 1
            browser.http.cookies.clear()
            await limited.store.nodes[0].execute("FLUSHALL")


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
