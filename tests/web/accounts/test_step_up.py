"""The confirmation by password before actions that change how an account is protected."""

import pytest

from accounts.security.events import SecurityEvents
from tests.support.visitor import PASSWORD


async def test_a_confirmation_continues_the_session_with_a_new_token(alice):
    before = alice.http.cookies["sessionid"]
    answer = await alice.post("/accounts/confirm/", password=PASSWORD, next="/lists/")
    assert (answer.status_code, answer.headers["location"]) == (303, "/lists/")
    assert alice.http.cookies["sessionid"] != before
    assert await alice.is_signed_in()
    alice.http.cookies.set("sessionid", before)
    assert not await alice.is_signed_in()


async def test_a_confirmation_that_renews_an_outdated_hash_continues_the_session(alice, settings):
    settings.PASSWORD_HASHERS = ["accounts.accounts.passwords.SiteArgon2Hasher", *settings.PASSWORD_HASHERS]
    assert (await alice.post("/accounts/confirm/", password=PASSWORD)).status_code == 303
    assert await alice.is_signed_in()


async def test_a_wrong_password_confirms_nothing_and_is_recorded(alice, site):
    answer = await alice.post("/accounts/confirm/", password="wrong")
    assert answer.status_code == 422
    assert "not your current password" in answer.text
    events = await site[SecurityEvents].list_newest(1)
    assert [event.kind for event in events] == ["confirmation_refused", "login"]


@pytest.mark.parametrize("elsewhere", ["//evil.example", "https://evil.example", "javascript:x"])
async def test_a_confirmation_never_redirects_to_another_host(alice, elsewhere):
    answer = await alice.post("/accounts/confirm/", password=PASSWORD, next=elsewhere)
    assert (answer.status_code, answer.headers["location"]) == (303, "/accounts/")


async def test_a_visitor_cannot_confirm(visitor):
    assert (await visitor.get("/accounts/confirm/")).headers["location"].startswith("/accounts/login/")
    assert (await visitor.post_json("/accounts/confirm/", password=PASSWORD)).status_code == 401
