"""Access tokens in requests: who they sign in, what they permit, and when they end."""

import pytest

from accounts.sessions.values import ACCESS_TOKENS_CAP, TokenGrant
from socialsite.asgi import application
from socialsite.container import Services
from socialsite.ids import AccountId
from tests.support.api import ApiClient, create_token
from tests.support.browser import HttpBrowser
from tests.web.api.conftest import OpenApi

OWN_ACCOUNT = "/api/v1/accounts/verify_credentials"


async def test_a_token_signs_in_its_account(open_api: OpenApi) -> None:
    answer = await (await open_api("alice")).get(OWN_ACCOUNT)
    assert answer.status_code == 200
    assert answer.json()["username"] == "alice"
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("scopes", ["read", "read:accounts", "profile", "write read:accounts"])
async def test_a_scope_includes_its_parts(open_api: OpenApi, scopes: str) -> None:
    assert (await (await open_api("alice", scopes)).get(OWN_ACCOUNT)).status_code == 200


@pytest.mark.parametrize("scopes", ["write", "follow", "push", "read:statuses", "write:accounts"])
async def test_another_scope_is_refused(open_api: OpenApi, scopes: str) -> None:
    answer = await (await open_api("alice", scopes)).get(OWN_ACCOUNT)
    assert answer.status_code == 403
    assert answer.json() == {"error": "This action is outside the authorized scopes"}


@pytest.mark.parametrize("text", ["", "x", "1-" + "a" * 43, "999999999999999-" + "a" * 43, "f" * 32 + "-" + "a" * 43])
async def test_a_text_that_is_no_token_is_refused(open_api: OpenApi, text: str) -> None:
    await open_api("alice")
    async with ApiClient(application, token=text) as client:
        answer = await client.get(OWN_ACCOUNT)
    assert answer.status_code == 401
    assert answer.json() == {"error": "The access token is invalid"}


@pytest.mark.parametrize(
    ("method", "path", "token", "status", "challenge"),
    [
        ("GET", OWN_ACCOUNT, "", 401, ""),
        ("GET", OWN_ACCOUNT, "x", 401, 'error="invalid_token"'),
        ("GET", "/api/v1/accounts/1", "x", 401, 'error="invalid_token"'),
        ("GET", "/api/v1/streaming/user", "x", 401, 'error="invalid_token"'),
        ("GET", "/api/v1/streaming/user?access_token=x", "", 401, 'error="invalid_token"'),
        ("POST", "/api/v1/statuses", "of_alice", 403, 'error="insufficient_scope", scope="write:statuses"'),
        ("POST", "/api/v2/media", "of_alice", 403, 'error="insufficient_scope", scope="write:media"'),
    ],
)
async def test_a_refused_token_is_answered_with_a_challenge(
    open_api: OpenApi, method: str, path: str, token: str, status: int, challenge: str
) -> None:
    """RFC 6750, 3; RFC 9110, 11.6.1."""
    client = await open_api("alice", "read") if token == "of_alice" else ApiClient(application, token=token)
    answer = await client.http.request(method, path)
    assert answer.status_code == status
    assert answer.headers.get_list("www-authenticate") == [", ".join(filter(None, ['Bearer realm="API"', challenge]))]


async def test_a_token_of_an_app_has_no_account(site: Services) -> None:
    token = await site.access_tokens.issue(None, TokenGrant("a" * 32, "App", ("read",)))
    async with ApiClient(application, token=token) as client:
        answer = await client.get(OWN_ACCOUNT)
    assert answer.status_code == 422
    assert answer.json() == {"error": "This method requires an authenticated user"}


async def test_a_cookie_is_no_token_and_a_token_is_no_cookie(alice: HttpBrowser, site: Services) -> None:
    cookie = alice.http.cookies["sessionid"]
    assert (await alice.get(OWN_ACCOUNT)).status_code == 401
    for text in (cookie, cookie.replace(".", "-")):
        assert (await alice.get(OWN_ACCOUNT, Authorization=f"Bearer {text}")).status_code == 401
    token = await create_token(site, "alice")
    for text in (token, token.replace("-", ".", 1)):
        alice.http.cookies.clear()
        alice.http.cookies.set("sessionid", text)
        assert not await alice.is_signed_in()


@pytest.mark.parametrize("path", [OWN_ACCOUNT, "/api/v1/timelines/public"])
async def test_the_query_of_a_request_has_no_token_because_addresses_are_logged(
    open_api: OpenApi, site: Services, path: str
) -> None:
    """RFC 9700, 4.3.2. Browsers cannot send a header when they open a stream, so a stream reads the query."""
    await open_api("alice")
    answer = await (await open_api()).get(path, access_token=await create_token(site, "alice"))
    assert (answer.status_code, answer.json()["error"]) == (401, "The access token is invalid")


async def test_a_token_ends_with_the_password_and_with_a_suspension(open_api: OpenApi, site: Services) -> None:
    client = await open_api("alice")
    account = await site.accounts.get_by_handle("alice")
    await site.accounts.set_password(account=account, new="another long password")
    assert (await client.get(OWN_ACCOUNT)).status_code == 401
    client = await open_api("alice")
    assert (await client.get(OWN_ACCOUNT)).status_code == 200
    await site.accounts.suspend(account_id=AccountId(account.id))
    await site.accounts.reinstate(account_id=AccountId(account.id))
    assert (await client.get(OWN_ACCOUNT)).status_code == 401


async def test_access_tokens_have_a_cap_of_their_own(alice: HttpBrowser, site: Services) -> None:
    account = await site.accounts.get_by_handle("alice")
    for _ in range(ACCESS_TOKENS_CAP + 1):
        await create_token(site, "alice", "read")
    assert len(await site.access_tokens.list_tokens(AccountId(account.id))) == ACCESS_TOKENS_CAP
    assert await alice.is_signed_in()


async def test_an_unknown_address_is_json(open_api: OpenApi) -> None:
    answer = await (await open_api()).get("/api/v1/nothing")
    assert answer.status_code == 404
    assert answer.json() == {"error": "Record not found"}
    assert (await (await open_api()).http.put("/api/v1/accounts/verify_credentials")).status_code == 405
