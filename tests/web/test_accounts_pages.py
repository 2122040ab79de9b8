"""The account pages as browsers and programs use them (docs/interface.md)."""

import json

import pytest

from socialsite.configuration import Configuration
from socialsite.middleware.services import loop_services
from socialsite.services import open_services
from tests.support.browser import cookies_of

PASSWORD = "rather long words 9"


async def test_signing_up_by_form_signs_in_and_goes_home(visitor):
    answer = await visitor.post(
        "/accounts/signup/", handle="Alice", password1=PASSWORD, password2=PASSWORD, display_name="Alice A."
    )
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert (await visitor.get_json("/")).status_code == 200


async def test_signing_up_by_json_tells_the_account(visitor):
    answer = await visitor.post_json(
        "/accounts/signup/", handle="alice", password1=PASSWORD, password2=PASSWORD
    )
    account = answer.json()["account"]
    assert answer.status_code == 201
    assert account["id"] == "1"
    assert {"handle": "alice", "display_name": "alice", "url": "/@alice/"}.items() <= account.items()


async def test_the_session_cookie_is_out_of_scripts_reach(visitor):
    answer = await visitor.sign_up("alice")
    cookie = cookies_of(answer)["sessionid"]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
    assert cookie["path"] == "/"
    assert 89 * 86_400 < int(cookie["max-age"]) <= 90 * 86_400


async def test_a_taken_handle_is_409(visitor, alice):
    answer = await visitor.post_json(
        "/accounts/signup/", handle="ALICE", password1=PASSWORD, password2=PASSWORD
    )
    assert answer.status_code == 409
    assert answer.json()["error"] == "handle_taken"
    assert list(answer.json()["fields"]) == ["handle"]
    page = await visitor.post("/accounts/signup/", handle="alice", password1=PASSWORD, password2=PASSWORD)
    assert page.status_code == 409
    assert 'value="alice"' in page.text
    assert PASSWORD not in page.text


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"handle": ""}, "handle"),
        ({"handle": "no spaces"}, "handle"),
        ({"handle": "admin"}, "handle"),
        ({"password1": "short", "password2": "short"}, "password1"),
        ({"password1": "alice1234", "password2": "alice1234"}, "password1"),
        ({"password2": "different words 9"}, "password2"),
        ({"display_name": "x" * 51}, "display_name"),
        ({"display_name": "a\u202eb"}, "display_name"),
    ],
)
async def test_a_form_with_faults_is_422_and_names_them(visitor, change, field):
    fields = {"handle": "alice", "password1": PASSWORD, "password2": PASSWORD} | change
    answer = await visitor.post_json("/accounts/signup/", **fields)
    assert answer.status_code == 422
    assert (answer.json()["error"], list(answer.json()["fields"])) == ("invalid", [field])
    page = await visitor.post("/accounts/signup/", **fields)
    assert page.status_code == 422
    assert "<form" in page.text


async def test_all_that_is_wrong_with_a_sign_up_is_said_at_once(visitor):
    answer = await visitor.post_json("/accounts/signup/", handle="No!", password1="short", password2="other")
    assert set(answer.json()["fields"]) == {"handle", "password1", "password2"}


async def test_logging_in_goes_where_one_was_going(visitor, alice):
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
async def test_logging_in_never_leads_to_another_host(visitor, alice, elsewhere):
    answer = await visitor.post("/accounts/login/", username="alice", password=PASSWORD, next=elsewhere)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")


async def test_every_wrong_log_in_gets_one_answer(visitor, alice, site):
    answers = [
        await visitor.post_json("/accounts/login/", username="alice", password="wrong"),
        await visitor.post_json("/accounts/login/", username="nobody", password=PASSWORD),
        await visitor.post_json("/accounts/login/", username="{}:*", password=PASSWORD),
    ]
    account = await site.accounts.get_by_handle("alice")
    await site.accounts.suspend(account_id=account.id)
    answers.append(await visitor.post_json("/accounts/login/", username="alice", password=PASSWORD))
    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.text for answer in answers}) == 1
    page = await visitor.post("/accounts/login/", username="alice", password="wrong")
    assert page.status_code == 401
    assert "<form" in page.text


async def test_a_log_in_by_json_tells_the_account(visitor, alice):
    answer = await visitor.post_json("/accounts/login/", username="alice", password=PASSWORD)
    assert answer.status_code == 200
    assert answer.json()["account"]["handle"] == "alice"


async def test_each_log_in_gets_a_new_token_and_ends_the_one_before(visitor, alice, open_browser):
    await visitor.post_json("/accounts/login/", username="alice", password=PASSWORD)
    first = visitor.http.cookies["sessionid"]
    await visitor.post_json("/accounts/login/", username="alice", password=PASSWORD)
    assert visitor.http.cookies["sessionid"] != first
    thief = await open_browser()
    thief.http.cookies.set("sessionid", first)
    assert (await thief.get_json("/")).status_code == 401


async def test_logging_out_takes_a_post(alice):
    cookie = alice.http.cookies["sessionid"]
    asked = await alice.get("/accounts/logout/")
    assert asked.status_code == 200
    assert "<form" in asked.text
    asked = await alice.get_json("/accounts/logout/")
    assert (asked.status_code, asked.headers["allow"]) == (405, "POST")
    assert (await alice.get_json("/")).status_code == 200
    answer = await alice.post("/accounts/logout/")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert "sessionid" not in alice.http.cookies
    alice.http.cookies.set("sessionid", cookie)
    assert (await alice.get_json("/")).status_code == 401
    assert (await alice.post_json("/accounts/logout/")).json() == {}


@pytest.mark.parametrize("path", ["settings", "password", "sessions", "delete"])
async def test_ones_own_pages_ask_strangers_to_sign_in(visitor, alice, path):
    answer = await visitor.get(f"/accounts/{path}/")
    assert answer.status_code == 303
    assert answer.headers["location"] == f"/accounts/login/?next=%2Faccounts%2F{path}%2F"
    assert (await visitor.post_json(f"/accounts/{path}/")).status_code == 401
    assert (await alice.get(f"/accounts/{path}/")).status_code == 200


@pytest.mark.parametrize("path", ["signup", "login", "logout", "settings", "password", "sessions", "delete"])
async def test_without_the_token_nothing_is_done(alice, path):
    answer = await alice.http.post(f"/accounts/{path}/", data={}, headers={"Accept": "application/json"})
    assert answer.status_code == 403
    assert (await alice.http.delete(f"/accounts/{path}/")).status_code in (403, 405)


async def test_a_profile_is_edited_and_keeps_what_is_not_sent(alice):
    answer = await alice.post_json(
        "/accounts/settings/", display_name="Alice A.", bio="Hi", link="https://a.example"
    )
    assert answer.status_code == 200
    assert answer.json()["account"]["bio"] == "Hi"
    answer = await alice.post_json("/accounts/settings/", bio="")
    account = answer.json()["account"]
    assert (account["display_name"], account["bio"], account["link"]) == ("Alice A.", "", "https://a.example")
    assert (await alice.get_json("/accounts/settings/")).json()["account"] == account
    page = await alice.post("/accounts/settings/", display_name="Alice", bio="<b>", link="")
    assert (page.status_code, page.headers["location"]) == (303, "/accounts/settings/")
    assert "&lt;b&gt;" in (await alice.get("/accounts/settings/")).text


async def test_a_profile_with_faults_is_422(alice):
    answer = await alice.post_json("/accounts/settings/", display_name="", link="javascript:alert(1)")
    assert answer.status_code == 422
    answer = await alice.post_json("/accounts/settings/", link="javascript:alert(1)", bio="x" * 501)
    assert set(answer.json()["fields"]) == {"link", "bio"}
    page = await alice.post("/accounts/settings/", display_name="A", bio="", link="javascript:alert(1)")
    assert page.status_code == 422


async def test_a_new_password_signs_out_everywhere_but_here(alice, open_browser):
    elsewhere, before = await open_browser(), alice.http.cookies["sessionid"]
    await elsewhere.post_json("/accounts/login/", username="alice", password=PASSWORD)
    new = "even longer words 10"
    answer = await alice.post_json(
        "/accounts/password/", old_password=PASSWORD, new_password1=new, new_password2=new
    )
    assert (answer.status_code, answer.json()) == (200, {})
    assert alice.http.cookies["sessionid"] != before
    assert (await alice.get_json("/")).status_code == 200
    assert (await elsewhere.get_json("/")).status_code == 401
    assert (
        await elsewhere.post_json("/accounts/login/", username="alice", password=PASSWORD)
    ).status_code == 401
    assert (await elsewhere.post_json("/accounts/login/", username="alice", password=new)).status_code == 200


async def test_a_password_is_changed_only_with_the_old_one(alice):
    fields = {"new_password1": "even longer words 10", "new_password2": "even longer words 10"}
    answer = await alice.post_json("/accounts/password/", old_password="wrong", **fields)
    assert (answer.status_code, list(answer.json()["fields"])) == (422, ["old_password"])
    page = await alice.post("/accounts/password/", old_password="wrong", **fields)
    assert page.status_code == 422
    assert (await alice.get_json("/")).status_code == 200


async def test_sessions_are_seen_and_ended(alice, open_browser):
    phone = await open_browser()
    await phone.take_token()
    phone.http.headers["User-Agent"] = "Mozilla/5.0 (iPhone) AppleWebKit/605 Version/18 Safari/604"
    await phone.post_json("/accounts/login/", username="alice", password=PASSWORD)
    sessions = (await alice.get_json("/accounts/sessions/")).json()["sessions"]
    assert [session["current"] for session in sessions].count(True) == 1
    other = next(session for session in sessions if not session["current"])
    assert other["device"] == "Safari on iPhone"
    assert "Safari on iPhone" in (await alice.get("/accounts/sessions/")).text
    for _ in range(2):
        answer = await alice.post_json("/accounts/sessions/", session=other["id"])
        assert (answer.status_code, answer.json()) == (200, {})
    assert (await phone.get_json("/")).status_code == 401
    assert (await alice.post_json("/accounts/sessions/", session="}:{*")).status_code == 422
    page = await alice.post("/accounts/sessions/", session="all")
    assert (page.status_code, page.headers["location"]) == (303, "/")
    assert (await alice.get_json("/")).status_code == 401


async def test_a_deleted_account_is_gone_at_once(alice, bob, visitor):
    wrong = await alice.post_json("/accounts/delete/", password="wrong")
    assert (wrong.status_code, list(wrong.json()["fields"])) == (422, ["password"])
    answer = await alice.post_json("/accounts/delete/", password=PASSWORD)
    assert (answer.status_code, answer.json()) == (200, {})
    assert (await alice.get_json("/")).status_code == 401
    assert (await bob.get_json("/@alice/")).status_code == 404
    assert (
        await visitor.post_json("/accounts/login/", username="alice", password=PASSWORD)
    ).status_code == 401
    again = await visitor.sign_up("alice")
    assert again.status_code == 409


async def test_a_suspended_account_is_signed_out_at_once(alice, site):
    account = await site.accounts.get_by_handle("alice")
    await site.accounts.suspend(account_id=account.id)
    assert (await alice.get_json("/")).status_code == 401


@pytest.mark.parametrize("cookie", ["", "x", "1.short", "1." + "a" * 43, "9" * 16 + "." + "a" * 43])
async def test_a_cookie_that_stands_for_nobody_is_taken_back(visitor, cookie):
    answer = await visitor.http.get("/public/", headers={"Cookie": f"sessionid={cookie}"})
    assert answer.status_code == 200
    assert cookies_of(answer)["sessionid"].value == ""


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
    await visitor.take_token()
    headers = {"Accept": "application/json", "Content-Type": "application/json", "X-CSRFToken": visitor.token}
    answer = await visitor.http.post(f"/accounts/{path}/", content=json.dumps(fields), headers=headers)
    assert answer.status_code in (400, 401, 422)


async def test_guesses_at_one_handle_are_counted_from_every_address(open_browser, redis_url):
    async with open_services(redis_url, Configuration(rate_limits={"login": 3})) as limited:
        loop_services.bind(limited)
        for handle in ("alice", "nobody"):
            statuses = []
            for guess in range(5):
                browser = await open_browser(address=f"203.0.113.{guess}")
                wrong = {"username": handle.upper() if guess % 2 else handle, "password": "wrong"}
                answer = await browser.post_json("/accounts/login/", **wrong)
                statuses.append(answer.status_code)
            assert statuses == [401, 401, 401, 429, 429]
            assert answer.json()["fields"] == {"rule": "login"}
            assert int(answer.headers["retry-after"]) >= 1
            browser.http.cookies.clear()
            await limited.store.nodes[0].execute("FLUSHALL")
