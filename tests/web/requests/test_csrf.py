"""A GET or another site cannot change state, on any route of the URLconf."""

import pytest

from socialsite.container import Services
from socialsite.ids import AccountId
from tests.support.browser import BASE_URL, JSON_HEADERS, HttpBrowser
from tests.support.routes import routes
from tests.support.visitor import PASSWORD

ROUTES = routes()
ONE_CLICK = "/accounts/mail/unsubscribe/"
"""A mail program posts there without a cookie (RFC 8058); its secret token decides."""
UNSAFE = [route for route in ROUTES if route.is_unsafe and route.path != ONE_CLICK]
FOREIGN = "b" * 32


@pytest.fixture
async def browser(site: Services, alice: HttpBrowser) -> HttpBrowser:
    """A signed-in browser of an owner, so that only the token decides."""
    await site.staff.set_role(AccountId(1), "owner")
    return alice


def test_every_route_states_its_methods():
    assert [route.path for route in ROUTES if not route.methods] == []
    assert len(UNSAFE) >= 16


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "TRACE"])
async def test_a_safe_method_changes_nothing(browser, method):
    for route in [route for route in UNSAFE if "GET" not in route.methods]:
        answer = await browser.http.request(method, route.path, headers=JSON_HEADERS)
        assert (answer.status_code, answer.headers.get("allow")) == (405, "POST"), route.path


async def test_a_post_without_a_token_is_refused(browser):
    for route in UNSAFE:
        for headers in ({}, JSON_HEADERS):
            assert (await browser.http.post(route.path, headers=headers)).status_code == 403, route.path
            assert (await browser.http.post(route.path, json={}, headers=headers)).status_code == 403, route.path


async def test_a_foreign_token_is_refused(browser):
    for route in UNSAFE:
        answer = await browser.http.post(route.path, data={"csrfmiddlewaretoken": FOREIGN})
        assert answer.status_code == 403, route.path
        answer = await browser.http.post(route.path, json={}, headers={**JSON_HEADERS, "X-CSRFToken": FOREIGN})
        assert (answer.status_code, answer.json()["error"]) == (403, "csrf"), route.path


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://testserver.evil.example", "https://testserver"]
)
async def test_a_foreign_origin_is_refused_with_the_right_token(browser, origin):
    headers = {"X-CSRFToken": browser.csrf_token, "Origin": origin}
    for route in UNSAFE:
        assert (await browser.http.post(route.path, headers=headers)).status_code == 403, route.path


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "PURGE"])
async def test_other_methods_are_refused(browser, method):
    headers = {**JSON_HEADERS, "X-CSRFToken": browser.csrf_token}
    for route in ROUTES:
        assert (await browser.http.request(method, route.path, headers=headers)).status_code == 405, route.path


async def test_a_valid_token_is_accepted_in_a_field_and_in_a_header(browser):
    ours = {"Origin": BASE_URL}
    data = {"csrfmiddlewaretoken": browser.csrf_token, "text": "one"}
    assert (await browser.http.post("/posts/", data=data, headers=ours)).status_code == 303
    headers = {**JSON_HEADERS, **ours, "X-CSRFToken": browser.csrf_token}
    assert (await browser.http.post("/posts/", json={"text": "two"}, headers=headers)).status_code == 201


async def test_json_may_contain_its_token_as_a_form_does(browser):
    for token, status in ((browser.csrf_token, 201), (FOREIGN, 403), ("", 403), (7, 403)):
        body = {"csrfmiddlewaretoken": token, "text": "by field"}
        assert (await browser.http.post("/posts/", json=body, headers=JSON_HEADERS)).status_code == status
    body = {"csrfmiddlewaretoken": browser.csrf_token, "text": "from elsewhere"}
    headers = {**JSON_HEADERS, "Origin": "https://evil.example"}
    assert (await browser.http.post("/posts/", json=body, headers=headers)).status_code == 403


@pytest.mark.parametrize("path", ["/accounts/signup/", "/accounts/login/"])
async def test_a_json_client_gets_its_token(visitor, path):
    assert len((await visitor.get_json(path)).cookies["csrftoken"]) == 32
    fields = {"handle": "jay", "password1": PASSWORD, "password2": PASSWORD}
    headers = {**JSON_HEADERS, "X-CSRFToken": visitor.csrf_token}
    assert (await visitor.http.post("/accounts/signup/", json=fields, headers=headers)).status_code == 201


async def test_an_invalid_token_cookie_is_replaced(visitor):
    visitor.http.cookies.set("csrftoken", '"><script>', domain="testserver.local")
    answer = await visitor.http.get("/accounts/login/", headers={"Cookie": "csrftoken=short"})
    assert len(answer.cookies["csrftoken"]) == 32


async def test_a_refused_page_keeps_the_text_of_a_post(browser):
    answer = await browser.http.post("/posts/", data={"text": "long in the writing"})
    assert answer.status_code == 403
    assert "long in the writing" in answer.text
