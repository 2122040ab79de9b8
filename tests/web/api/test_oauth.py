"""OAuth: an app is registered, a person allows it, and it gets a token."""

import asyncio
from urllib.parse import urlencode

import httpx
import pytest

from accounts.oauth import values
from accounts.oauth.scopes import SCOPES
from socialsite.container import Services
from socialsite.ids import AccountId
from tests.support.api import CHALLENGE, OUT_OF_BAND, REDIRECT_URI, VERIFIER, OAuthClient, result_of
from tests.support.browser import HttpBrowser
from tests.support.visitor import PASSWORD

OWN_ACCOUNT = "/api/v1/accounts/verify_credentials"
PKCE = {"code_challenge": CHALLENGE, "code_challenge_method": "S256"}


@pytest.fixture
async def app(visitor: HttpBrowser) -> OAuthClient:
    return await OAuthClient.register(visitor.http)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


# Authorization


async def test_an_app_gets_a_token_by_an_authorization_code(
    app: OAuthClient, alice: HttpBrowser, visitor: HttpBrowser
) -> None:
    returned = await app.authorize(alice, state="a state & more")
    assert returned.status_code == 302
    assert returned.headers["location"].startswith(f"{REDIRECT_URI}?code=")
    result = result_of(returned)
    assert (result["state"], result["iss"]) == ("a state & more", "http://testserver/")
    answer = await app.exchange(result["code"])
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    token = answer.json()
    assert (token["token_type"], token["scope"]) == ("Bearer", "read write follow push")
    own = await visitor.http.get(OWN_ACCOUNT, headers=bearer(token["access_token"]))
    assert own.json()["username"] == "alice"


async def test_the_consent_page_names_the_requested_permissions(app: OAuthClient, alice: HttpBrowser) -> None:
    page = await alice.get(f"/oauth/authorize/?{urlencode(app.query(scope='read:lists write:statuses'))}")
    assert page.status_code == 200
    assert "Allow An app?" in page.text
    assert "Read: lists." in page.text
    assert "Change: posts and timelines." in page.text
    assert "app.example" in page.text
    assert "no-store" in page.headers["cache-control"]
    assert '<html lang="de"' in (await alice.get(f"/oauth/authorize?{urlencode(app.query(lang='de'))}")).text


async def test_a_visitor_returns_to_the_consent_page_after_the_log_in(
    app: OAuthClient, visitor: HttpBrowser, alice: HttpBrowser
) -> None:
    address = f"/oauth/authorize?{urlencode(app.query())}"
    to_login = await visitor.get(address)
    assert to_login.status_code == 303
    assert 'name="next"' in (await visitor.get(to_login.headers["location"])).text
    back = await visitor.post("/accounts/login/", username="alice", password=PASSWORD, next=address)
    assert back.headers["location"] == address
    assert "Allow An app?" in (await visitor.get(address)).text


async def test_force_login_requires_the_password(app: OAuthClient, alice: HttpBrowser) -> None:
    answer = await alice.get(f"/oauth/authorize?{urlencode(app.query(force_login='true'))}")
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/accounts/login/?next=%2Foauth%2Fauthorize")
    assert "force_login" not in answer.headers["location"]


async def test_a_refusal_goes_back_to_the_app(app: OAuthClient, alice: HttpBrowser) -> None:
    result = result_of(await app.authorize(alice, decision="deny", state="s"))
    assert result["error"] == "access_denied"
    assert (result["state"], result["iss"]) == ("s", "http://testserver/")
    assert "code" not in result


@pytest.mark.parametrize(
    "uri",
    ["ivory://oauth", "icecubesapp://", "com.app:/callback", "app:/x?y=1", "com.tapbots.Ivory.10217:/request_token"],
)
async def test_a_scheme_of_an_app_gets_the_code(visitor: HttpBrowser, alice: HttpBrowser, uri: str) -> None:
    app = await OAuthClient.register(visitor.http, uri)
    returned = await app.authorize(alice)
    assert returned.headers["location"].startswith(uri + ("&" if "?" in uri else "?") + "code=")
    assert (await app.exchange(result_of(returned)["code"])).status_code == 200


async def test_out_of_band_shows_the_code(visitor: HttpBrowser, alice: HttpBrowser) -> None:
    app = await OAuthClient.register(visitor.http, OUT_OF_BAND)
    page = await app.authorize(alice)
    assert page.status_code == 200
    code = page.text.partition('id="code"')[2].partition('value="')[2].partition('"')[0]
    assert (await app.exchange(code)).status_code == 200
    assert (await app.authorize(alice, decision="deny")).status_code == 400


@pytest.mark.parametrize(
    ("registered", "asked"),
    [
        ("http://127.0.0.1/cb", "http://127.0.0.1:51234/cb"), ("http://[::1]/cb", "http://[::1]:51234/cb"),
        ("http://127.0.0.1:8000/cb?x=1", "http://127.0.0.1:51234/cb?x=1"), ("http://127.0.0.1", "http://127.0.0.1:1"),
        ("http://127.0.0.1:8000/cb", "http://127.0.0.1/cb"),
    ],
)  # fmt: skip
async def test_a_program_on_the_same_machine_chooses_its_port_at_run_time(
    visitor: HttpBrowser, alice: HttpBrowser, registered: str, asked: str
) -> None:
    """RFC 8252, 7.3 demands this. The exchange repeats the address with its port."""
    app = await OAuthClient.register(visitor.http, registered)
    returned = await app.authorize(alice, redirect_uri=asked)
    assert returned.headers["location"].startswith(f"{asked}{'&' if '?' in asked else '?'}code=")
    assert (await app.exchange(result_of(returned)["code"], redirect_uri=asked)).status_code == 200


@pytest.mark.parametrize(
    ("registered", "asked"),
    [
        ("http://127.0.0.1/cb", "http://127.0.0.1:51234/other"), ("http://127.0.0.1/cb", "http://127.0.0.1:80@evil.example/cb"),
        ("http://127.0.0.1/cb", "https://127.0.0.1:51234/cb"), ("http://127.0.0.1/cb", "http://[::1]:51234/cb"),
        ("http://localhost/cb", "http://localhost:51234/cb"), ("http://127.0.0.1/cb", "http://127.0.0.1.evil.example:1/cb"),
        ("http://127.0.0.1/cb", "http://127.0.0.1:x/cb"), ("http://10.0.0.1/cb", "http://10.0.0.1:51234/cb"),
        ("https://app.example/?u=http://127.0.0.1/", "https://app.example/?u=http://127.0.0.1:1/"),
    ],
)  # fmt: skip
async def test_only_the_port_of_a_loopback_address_varies(
    visitor: HttpBrowser, alice: HttpBrowser, registered: str, asked: str
) -> None:
    app = await OAuthClient.register(visitor.http, registered)
    assert (await app.authorize(alice, redirect_uri=asked)).status_code == 400


@pytest.mark.parametrize("path", ["/oauth/token", "/oauth/revoke"])
async def test_secrets_in_an_address_are_refused_with_the_reason(app: OAuthClient, path: str) -> None:
    query = {"grant_type": "client_credentials", "client_id": app.id, "client_secret": app.secret, "token": "x"}
    for body in ({}, {"grant_type": "client_credentials", "token": "x"}):
        answer = await app.http.post(f"{path}?{urlencode(query)}", data=body)
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")
        assert "body" in answer.json()["error_description"]
    assert (await app.exchange("", grant_type="client_credentials")).status_code == 200


# Attacks


@pytest.mark.parametrize(
    "fields",
    [
        {"client_id": "f" * 32}, {"client_id": "x"}, {"client_id": ""}, {"redirect_uri": ""},
        {"redirect_uri": "https://app.example/callback/"}, {"redirect_uri": "https://app.example/callback?x=1"},
        {"redirect_uri": "https://app.example.evil.example/callback"}, {"redirect_uri": "https://evil.example/"},
        {"redirect_uri": "https://app.example:443/callback"}, {"redirect_uri": "HTTPS://app.example/callback"},
        {"redirect_uri": "https://app.example/callback%00"}, {"redirect_uri": OUT_OF_BAND},
    ],
)  # fmt: skip
async def test_an_unknown_app_or_address_redirects_nowhere(
    app: OAuthClient, alice: HttpBrowser, fields: dict[str, str]
) -> None:
    page = await alice.get(f"/oauth/authorize?{urlencode(app.query(**fields))}")
    assert page.status_code == 400
    assert "location" not in page.headers
    sent = await alice.post("/oauth/authorize", **app.query(**fields), decision="allow")
    assert sent.status_code == 400
    assert "location" not in sent.headers


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"response_type": ""}, "invalid_request"),
        ({"scope": "read admin:read"}, "invalid_scope"),
        ({"code_challenge": CHALLENGE}, "invalid_request"),
        ({"code_challenge": CHALLENGE, "code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": "S256"}, "invalid_request"),
        ({"code_challenge": "short", "code_challenge_method": "S256"}, "invalid_request"),
    ],
)
async def test_a_wrong_request_goes_back_with_an_error(
    app: OAuthClient, alice: HttpBrowser, fields: dict[str, str], error: str
) -> None:
    result = result_of(await app.authorize(alice, state="s", **fields))
    assert (result["error"], result["state"], result["iss"]) == (error, "s", "http://testserver/")
    sent = await alice.post("/oauth/authorize", **app.query(**fields), decision="allow")
    assert "code" not in result_of(sent)


async def test_a_scope_beyond_the_registration_is_refused(visitor: HttpBrowser, alice: HttpBrowser) -> None:
    app = await OAuthClient.register(visitor.http, scopes="read:statuses")
    for scope in ("read", "read:lists", "write", "follow"):
        assert result_of(await app.authorize(alice, scope=scope))["error"] == "invalid_scope"
    answer = await app.exchange("", grant_type="client_credentials", scope="read")
    assert answer.json()["error"] == "invalid_scope"
    assert (await app.exchange(await app.get_code(alice, scope=""))).json()["scope"] == "read:statuses"


async def test_a_code_is_used_once_even_in_a_race(app: OAuthClient, alice: HttpBrowser, site: Services) -> None:
    code = await app.get_code(alice)
    answers = await asyncio.gather(*(app.exchange(code) for _ in range(12)))
    assert sorted(answer.status_code for answer in answers) == [200] + [400] * 11
    assert {answer.json().get("error") for answer in answers} == {None, "invalid_grant"}
    account = await site.accounts.get_by_handle("alice")
    assert len(await site.access_tokens.list_tokens(AccountId(account.id))) <= 1


async def test_a_repeated_code_ends_the_token_that_it_gave(app: OAuthClient, alice: HttpBrowser) -> None:
    """The app or a thief has the token, and the site cannot know which (RFC 6749, 4.1.2)."""
    code, other_code = await app.get_code(alice), await app.get_code(alice)
    token, kept = [(await app.exchange(each)).json()["access_token"] for each in (code, other_code)]
    for secret, status in (("wrong", 401), (app.secret, 400)):
        assert (await app.exchange(code, client_secret=secret)).status_code == status
        answers = [
            await app.http.get(OWN_ACCOUNT, headers={"Authorization": f"Bearer {each}"}) for each in (token, kept)
        ]
        assert [answer.status_code for answer in answers] == [200 if secret == "wrong" else 401, 200]


@pytest.mark.parametrize(
    "fields", [{"redirect_uri": "https://evil.example/"}, {"redirect_uri": ""}, {"code_verifier": VERIFIER}]
)
async def test_a_failed_exchange_uses_the_code_up(app: OAuthClient, alice: HttpBrowser, fields: dict[str, str]) -> None:
    code = await app.get_code(alice)
    assert (await app.exchange(code, **fields)).json()["error"] == "invalid_grant"
    assert (await app.exchange(code)).json()["error"] == "invalid_grant"


async def test_a_code_belongs_to_its_app(app: OAuthClient, alice: HttpBrowser, visitor: HttpBrowser) -> None:
    other = await OAuthClient.register(visitor.http)
    code = await app.get_code(alice)
    assert (await other.exchange(code)).json()["error"] == "invalid_grant"
    for secret in ("wrong", other.secret):
        answer = await app.exchange(code, client_secret=secret)
        assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")
    assert (await app.exchange(code)).status_code == 200


async def test_pkce_needs_its_verifier(app: OAuthClient, alice: HttpBrowser) -> None:
    for fields in ({}, {"code_verifier": "w" * 43}, {"code_verifier": CHALLENGE}, {"code_verifier": VERIFIER + "v"}):
        answer = await app.exchange(await app.get_code(alice, **PKCE), **fields)
        assert answer.json()["error"] == "invalid_grant"
    answer = await app.exchange(await app.get_code(alice, **PKCE), code_verifier=VERIFIER)
    assert answer.status_code == 200


async def test_an_app_without_its_secret_needs_pkce(app: OAuthClient, alice: HttpBrowser) -> None:
    answer = await app.exchange(await app.get_code(alice, **PKCE), code_verifier=VERIFIER, client_secret="")
    assert answer.status_code == 200
    answer = await app.exchange(await app.get_code(alice), client_secret="")
    assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client")


@pytest.mark.parametrize("way", ["form", "basic"])
async def test_an_empty_secret_is_an_absent_one(app: OAuthClient, alice: HttpBrowser, visitor, way: str) -> None:
    """Libraries send it for apps without a secret (benavlabs/crudauth#13, openid/AppAuth-Android#639)."""
    for fields, status in ((PKCE, 200), ({}, 401)):
        body = {"grant_type": "authorization_code", "code": await app.get_code(alice, **fields)}
        body |= {"redirect_uri": app.redirect_uri, "code_verifier": VERIFIER if fields else ""}
        if way == "form":
            answer = await visitor.http.post("/oauth/token", data={**body, "client_id": app.id, "client_secret": ""})
        else:
            answer = await visitor.http.post("/oauth/token", data=body, auth=(app.id, ""))
        assert answer.status_code == status, answer.text


async def test_an_empty_challenge_is_an_absent_one(app: OAuthClient, alice: HttpBrowser) -> None:
    query = urlencode({**app.query(), "code_challenge": "", "code_challenge_method": ""})
    assert 'name="decision"' in (await alice.get(f"/oauth/authorize?{query}")).text


async def test_a_code_ends_with_the_session_in_which_it_was_permitted(app: OAuthClient, alice: HttpBrowser) -> None:
    """After a log-out everywhere, a thief of the session has no valid code."""
    code = await app.get_code(alice)
    await alice.post_json("/accounts/sessions/", session="all")
    assert (await app.exchange(code)).json()["error"] == "invalid_grant"


async def test_a_code_ends_with_the_password_and_a_suspension(
    app: OAuthClient, alice: HttpBrowser, bob: HttpBrowser, site: Services
) -> None:
    code = await app.get_code(alice)
    account = await site.accounts.get_by_handle("alice")
    await site.accounts.set_password(account=account, new="another long password")
    assert (await app.exchange(code)).json()["error"] == "invalid_grant"
    code = await app.get_code(bob)
    await site.accounts.suspend(account_id=AccountId((await site.accounts.get_by_handle("bob")).id))
    assert (await app.exchange(code)).json()["error"] == "invalid_grant"


async def test_a_code_expires(app: OAuthClient, alice: HttpBrowser, monkeypatch: pytest.MonkeyPatch) -> None:
    assert values.CODE_TTL_MS == 600_000
    monkeypatch.setattr("accounts.oauth.repository.CODE_TTL_MS", 1)
    code = await app.get_code(alice)
    await asyncio.sleep(0.01)
    assert (await app.exchange(code)).json()["error"] == "invalid_grant"


async def test_the_consent_needs_the_csrf_token(app: OAuthClient, alice: HttpBrowser) -> None:
    answer = await alice.http.post("/oauth/authorize", data=app.query() | {"decision": "allow"})
    assert answer.status_code == 403


@pytest.mark.parametrize("values", [[], [""]])
@pytest.mark.parametrize(("address", "name"), [("token", "grant_type"), ("token", "code"), ("revoke", "token")])
async def test_a_missing_or_empty_field_is_an_invalid_request(
    app: OAuthClient, visitor: HttpBrowser, address: str, name: str, values: list[str]
) -> None:
    """RFC 6749, 5.2."""
    fields = {"client_id": app.id, "client_secret": app.secret, "grant_type": "authorization_code"}
    answer = await visitor.http.post(f"/oauth/{address}", data={**fields, name: values})
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")


@pytest.mark.parametrize("grant_type", ["password", "refresh_token", "implicit"])
async def test_other_grants_do_not_exist(app: OAuthClient, grant_type: str) -> None:
    answer = await app.exchange("", grant_type=grant_type, username="alice", password=PASSWORD)
    assert (answer.status_code, answer.json()["error"]) == (400, "unsupported_grant_type")


# Tokens of apps, the end of tokens, metadata


async def test_an_app_gets_a_token_for_itself(app: OAuthClient, visitor: HttpBrowser) -> None:
    answer = await app.exchange("", grant_type="client_credentials")
    token = answer.json()["access_token"]
    assert answer.json()["scope"] == "read"
    own = await visitor.http.get("/api/v1/apps/verify_credentials", headers=bearer(token))
    assert own.json()["name"] == "An app"
    assert "client_secret" not in own.json()
    assert (await visitor.http.get("/api/v1/apps/verify_credentials")).status_code == 401
    wrong = await app.exchange("", grant_type="client_credentials", client_secret="")
    assert wrong.status_code == 401
    assert "www-authenticate" in wrong.headers


async def test_a_token_request_may_use_basic_authentication_and_json(app: OAuthClient, visitor: HttpBrowser) -> None:
    body = {"grant_type": "client_credentials", "scope": "write"}
    answer = await visitor.http.post("/oauth/token", json=body, auth=(app.id, app.secret))
    assert answer.json()["scope"] == "write"
    assert (await visitor.http.post("/oauth/token", json=body, auth=(app.id, "x"))).status_code == 401
    malformed = await visitor.http.post("/oauth/token", json=body, headers={"Authorization": "Basic %"})
    assert malformed.status_code == 401


async def test_a_revoked_token_ends(app: OAuthClient, alice: HttpBrowser, visitor: HttpBrowser) -> None:
    token = await app.get_token(alice)
    fields = {"client_id": app.id, "client_secret": app.secret, "token": token}
    other = await OAuthClient.register(visitor.http)
    for wrong in ({"client_id": other.id, "client_secret": other.secret}, {"client_secret": "x"}, {"client_id": ""}):
        assert (await visitor.http.post("/oauth/revoke", data=fields | wrong)).status_code == 403
    assert (await visitor.http.get(OWN_ACCOUNT, headers=bearer(token))).status_code == 200
    for _ in range(2):
        answer = await visitor.http.post("/oauth/revoke", data=fields)
        assert (answer.status_code, answer.json()) == (200, {})
    assert (await visitor.http.get(OWN_ACCOUNT, headers=bearer(token))).status_code == 401


async def test_the_page_shows_and_ends_apps(app: OAuthClient, alice: HttpBrowser, visitor: HttpBrowser) -> None:
    tokens = [await app.get_token(alice) for _ in range(2)]
    assert (await alice.get("/accounts/sessions/")).text.count("End the access of An app") == 2
    shown = (await alice.get_json("/accounts/sessions/")).json()["apps"]
    assert [each["scopes"] for each in shown] == [["read", "write", "follow", "push"]] * 2
    assert (await alice.post_json("/accounts/sessions/", session=shown[0]["id"])).status_code == 200
    statuses = [(await visitor.http.get(OWN_ACCOUNT, headers=bearer(token))).status_code for token in tokens]
    assert sorted(statuses) == [200, 401]
    assert (await alice.post_json("/accounts/sessions/", session="all")).status_code == 200
    statuses = [(await visitor.http.get(OWN_ACCOUNT, headers=bearer(token))).status_code for token in tokens]
    assert statuses == [401, 401]


async def test_the_metadata_names_existing_addresses(visitor: HttpBrowser) -> None:
    answer = await visitor.get("/.well-known/oauth-authorization-server")
    data = answer.json()
    assert data["issuer"] == "http://testserver/"
    assert data["code_challenge_methods_supported"] == ["S256"]
    assert data["scopes_supported"] == list(SCOPES)
    assert "authorization_code" in data["grant_types_supported"]
    for name in ("authorization", "token", "revocation"):
        assert (await visitor.http.get(httpx.URL(data[f"{name}_endpoint"]))).status_code != 404
