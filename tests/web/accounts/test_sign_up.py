"""Signing up, by form and by JSON (docs/reference/interface.md)."""

import re
import time

import pytest

from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.web.services import loop_services
from tests.support.browser import cookies_of
from tests.support.visitor import PASSWORD


async def test_a_sign_up_by_form_signs_in_and_redirects_to_the_first_steps(visitor):
    answer = await visitor.post(
        "/accounts/signup/", handle="Alice", password1=PASSWORD, password2=PASSWORD, display_name="Alice A."
    )
    assert (answer.status_code, answer.headers["location"]) == (303, "/welcome/")
    assert await visitor.is_signed_in()


async def test_a_sign_up_by_json_returns_the_account(visitor):
    answer = await visitor.post_json("/accounts/signup/", handle="alice", password1=PASSWORD, password2=PASSWORD)
    account = answer.json()["account"]
    assert answer.status_code == 201
    assert account["id"] == "1"
    assert {"handle": "alice", "display_name": "alice", "url": "/@alice/"}.items() <= account.items()


async def test_scripts_cannot_read_the_session_cookie(visitor):
    cookie = cookies_of(await visitor.sign_up("alice"))["sessionid"]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
    assert cookie["path"] == "/"
    assert 89 * 86_400 < int(cookie["max-age"]) <= 90 * 86_400


async def test_a_taken_handle_is_409(visitor, alice):
    answer = await visitor.post_json("/accounts/signup/", handle="ALICE", password1=PASSWORD, password2=PASSWORD)
    assert answer.status_code == 409
    assert answer.json()["error"] == "handle_taken"
    assert list(answer.json()["fields"]) == ["handle"]
    page = await visitor.post("/accounts/signup/", handle="alice", password1=PASSWORD, password2=PASSWORD)
    assert page.status_code == 409
    assert 'value="alice"' in page.text
    assert PASSWORD not in page.text


async def test_a_taken_handle_and_a_bad_password_are_reported_together(visitor, alice):
    answer = await visitor.post_json("/accounts/signup/", handle="alice", password1="password")
    assert answer.status_code == 422
    assert answer.json()["fields"] == {"handle": "This handle is taken.", "password1": "This password is too common."}


@pytest.mark.parametrize(
    ("typed", "faults"),
    [
        ({"handle": "nora"}, []),
        ({"handle": "ALICE"}, ["handle"]),
        ({"handle": "no spaces"}, ["handle"]),
        ({"handle": "admin", "password1": PASSWORD}, ["handle"]),
        ({"handle": "nora", "password1": "short"}, ["password1"]),
        ({"handle": "nora1234", "password1": "nora1234"}, ["password1"]),
        ({"password1": "12345678"}, ["password1"]),
        ({}, []),
    ],
)
async def test_the_check_reports_the_faults_of_typed_texts_and_creates_nothing(visitor, alice, typed, faults):
    answer = await visitor.post_json("/accounts/signup/check/", **typed)
    assert (answer.status_code, list(answer.json()["fields"])) == (200, faults)
    assert (await visitor.get_json("/@nora/")).status_code == 404


async def test_the_check_is_counted(visitor, redis_url):
    async with open_services(redis_url, ServiceConfig(rate_limits={"complete": 2})) as limited:
        loop_services.bind(limited)
        answers = [await visitor.post_json("/accounts/signup/check/", handle="nora") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]


async def test_a_new_password_is_typed_once_where_scripts_show_it(visitor):
    page = (await visitor.get("/accounts/signup/")).text
    assert re.search(r"<noscript>.*password2.*</noscript>", page, re.DOTALL)
    assert (await visitor.post_json("/accounts/signup/", handle="nora", password1=PASSWORD)).status_code == 201


async def test_a_form_with_errors_needs_accepted_passwords_again_and_focuses_the_first_error(visitor):
    page = await visitor.post("/accounts/signup/", handle="no spaces", password1=PASSWORD, password2=PASSWORD)
    assert re.findall('name="([^"]+)"[^>]* autofocus', page.text) == ["handle"]
    for name in ("password1", "password2"):
        assert f'id="id_{name}_helptext">Type your password again.<' in page.text
        assert re.search(f'name="{name}"[^>]* aria-describedby="id_{name}_helptext"', page.text)


async def test_a_form_does_not_ask_again_for_a_rejected_password(visitor):
    page = await visitor.post("/accounts/signup/", handle="alice", password1=PASSWORD, password2="different words 9")
    assert re.findall('name="([^"]+)"[^>]* autofocus', page.text) == ["password2"]
    assert re.findall('id="id_([^"]+)_helptext">Type your password again.<', page.text) == ["password1"]


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
async def test_an_invalid_form_is_422_and_names_the_fields(visitor, change, field):
    fields = {"handle": "alice", "password1": PASSWORD, "password2": PASSWORD} | change
    answer = await visitor.post_json("/accounts/signup/", **fields)
    assert answer.status_code == 422
    assert (answer.json()["error"], list(answer.json()["fields"])) == ("invalid", [field])
    page = await visitor.post("/accounts/signup/", **fields)
    assert page.status_code == 422
    assert "<form" in page.text


async def test_a_sign_up_is_counted_before_its_form_is_read(visitor, redis_url):
    fields = {"handle": "zed", "password1": "zzzzzzz9", "password2": "zzzzzzz8", "display_name": "a " * 30_500}
    async with open_services(redis_url, ServiceConfig(rate_limits={"signup": 3})) as limited:
        loop_services.bind(limited)
        await visitor.fetch_csrf_token()
        began = time.process_time()
        answers = [await visitor.post_json("/accounts/signup/", **fields) for _ in range(5)]
        assert [answer.status_code for answer in answers] == [422, 422, 422, 429, 429]
        assert time.process_time() - began < 0.5  # one comparison with 30,000 words took 0.3 s


async def test_the_page_of_a_wrong_sign_up_is_counted_too(visitor, redis_url):
    async with open_services(redis_url, ServiceConfig(rate_limits={"signup": 1})) as limited:
        loop_services.bind(limited)
        assert (await visitor.post("/accounts/signup/", handle="")).status_code == 422
        assert (await visitor.post("/accounts/signup/", handle="")).status_code == 429


async def test_a_refused_sign_up_reports_all_faults_together(visitor):
    answer = await visitor.post_json("/accounts/signup/", handle="No!", password1="short", password2="other")
    assert set(answer.json()["fields"]) == {"handle", "password1", "password2"}


async def test_the_faults_of_a_password_are_in_the_language_of_the_page(visitor):
    """Django's validators run in a thread, which has no language."""
    visitor.http.headers["Accept-Language"] = "de"
    for password, fault in (("short", "ist zu kurz"), ("password", "ist zu häufig"), ("alice1234", "ähnelt")):
        fields = {"handle": "alice1234", "password1": password, "password2": password}
        assert fault in (await visitor.post_json("/accounts/signup/", **fields)).json()["fields"]["password1"]
