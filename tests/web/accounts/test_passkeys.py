"""Passkeys: as second factor, as the whole log-in, and every answer that is refused."""

import asyncio
import json

import pytest

from accounts.factors.passkeys import MALFORMED
from accounts.factors.service import FactorService
from accounts.security.events import SecurityEvents
from socialsite.ids import AccountId
from tests.support.browser import HttpBrowser
from tests.support.second_factors import SoftPasskey, set_up_totp
from tests.support.visitor import PASSWORD


async def register(browser: HttpBrowser, passkey: SoftPasskey, name: str = "Laptop"):
    options = (await browser.post_json("/accounts/passkeys/")).json()
    return await browser.post_json("/accounts/passkeys/", name=name, credential=passkey.create(options))


async def options_for(browser: HttpBrowser, purpose: str = "login"):
    return (await browser.post_json("/accounts/login/options/", purpose=purpose)).json()


async def log_in(browser: HttpBrowser, passkey: SoftPasskey):
    return await browser.post_json("/accounts/login/passkey/", credential=passkey.get(await options_for(browser)))


@pytest.fixture
async def passkey(alice: HttpBrowser) -> SoftPasskey:
    passkey = SoftPasskey()
    answer = await register(alice, passkey)
    assert answer.status_code == 200, answer.text
    assert len(answer.json()["recovery_codes"]) == 10
    return passkey


async def test_an_account_without_a_name_registers_its_handle(alice: HttpBrowser) -> None:
    """Authenticators refuse an empty name (dani-garcia/vaultwarden#6733, better-auth/better-auth#2344)."""
    user = (await alice.post_json("/accounts/passkeys/")).json()["publicKey"]["user"]
    assert (user["name"], user["displayName"]) == ("alice", "alice")
    await alice.post("/accounts/settings/", display_name="Alice A.")
    user = (await alice.post_json("/accounts/passkeys/")).json()["publicKey"]["user"]
    assert (user["name"], user["displayName"]) == ("alice", "Alice A.")


async def test_a_passkey_is_the_whole_log_in(visitor, passkey, site):
    answer = await log_in(visitor, passkey)
    assert (answer.status_code, answer.json()["account"]["handle"]) == (200, "alice")
    assert await visitor.is_signed_in()
    stored = (await site[FactorService].find(1)).passkeys
    assert [(each.name, each.sign_count) for each in stored.values()] == [("Laptop", 1)]
    assert next(iter(stored.values())).last_used_ms > 0


async def test_the_owner_of_a_suspended_account_reads_why_after_a_passkey_alone(visitor, passkey, site):
    await site.accounts.suspend(account_id=AccountId(1))
    credential = passkey.get(await options_for(visitor))
    answer = await visitor.post("/accounts/login/passkey/", credential=credential)
    assert (answer.status_code, "/accounts/suspended/" in answer.text or "suspended" in answer.text) == (401, True)
    answer = await log_in(visitor, passkey)
    assert (answer.status_code, answer.json()["error"]) == (401, "wrong_login")
    assert "suspended" in answer.json()["message"]
    assert not await visitor.is_signed_in()
    await site.accounts.reinstate(account_id=AccountId(1))
    site.accounts.deletion_grace_ms = 60_000
    await site.accounts.request_deletion(account_id=AccountId(1))
    assert (await log_in(visitor, passkey)).json()["error"] == "passkey_refused"
    assert not await visitor.is_signed_in()


async def test_a_passkey_is_the_second_factor_after_the_password(visitor, passkey):
    assert (await visitor.log_in("alice")).json()["error"] == "factor_needed"
    assert (await visitor.get_json("/accounts/login/factor/")).json() == {"has_passkey": True, "has_totp": False}
    passkey.is_verified = False  # the password was the other factor
    options = await options_for(visitor, "factor")
    assert len(options["publicKey"]["allowCredentials"]) == 1
    answer = await visitor.post_json("/accounts/login/factor/", credential=passkey.get(options))
    assert answer.json()["account"]["handle"] == "alice"


async def test_a_passkey_confirms_a_step_up(alice, passkey):
    options = await options_for(alice, "confirm")
    answer = await alice.post("/accounts/confirm/", credential=passkey.get(options), next="/accounts/passkeys/")
    assert answer.headers["location"] == "/accounts/passkeys/"


async def test_a_challenge_is_used_once_also_in_a_race(open_browser, site, passkey):
    browsers = [await open_browser() for _ in range(10)]
    credential = passkey.get(await options_for(browsers[0]))
    answers = await asyncio.gather(
        *(browser.post_json("/accounts/login/passkey/", credential=credential) for browser in browsers)
    )
    assert sorted(answer.status_code for answer in answers) == [200] + [401] * 9


@pytest.mark.parametrize("purpose", ["factor", "confirm"])
async def test_a_second_step_and_a_step_up_use_their_challenge_once_in_a_race(visitor, passkey, site, purpose):
    await visitor.log_in("alice")
    if purpose == "confirm":
        await visitor.post_json("/accounts/login/factor/", credential=passkey.get(await options_for(visitor, "factor")))
    credential = passkey.get(await options_for(visitor, purpose))
    path = {"factor": "/accounts/login/factor/", "confirm": "/accounts/confirm/"}[purpose]
    answers = await asyncio.gather(*(visitor.post_json(path, credential=credential) for _ in range(10)))
    assert sorted(answer.status_code for answer in answers) == [200] + [401] * 9


@pytest.mark.parametrize("purpose", ["login", "factor", "confirm"])
async def test_a_passkey_that_was_disabled_after_the_challenge_is_refused(alice, visitor, passkey, site, purpose):
    browser = alice if purpose == "confirm" else visitor
    if purpose == "factor":
        await browser.log_in("alice")
    credential = passkey.get(await options_for(browser, purpose))
    await site[FactorService].disable(AccountId(1))
    paths = {"login": "passkey/", "factor": "factor/"}
    path = f"/accounts/login/{paths[purpose]}" if purpose in paths else "/accounts/confirm/"
    answer = await browser.post_json(path, credential=credential)
    assert (answer.status_code, answer.json()["error"]) == (401, "passkey_refused")


@pytest.mark.parametrize("fault", ["origin", "rp_id", "unverified", "old count", "other key", "other purpose", "type"])
async def test_a_faulty_answer_is_refused(visitor, passkey, fault):
    assert (await log_in(visitor, passkey)).status_code == 200
    visitor.http.cookies.clear()
    options = await options_for(visitor)
    match fault:
        case "origin":
            passkey.origin = "https://evil.example"
        case "rp_id":
            passkey.rp_id = "evil.example"
        case "unverified":
            passkey.is_verified = False
        case "old count":
            passkey.count -= 1
        case "other key":
            passkey.key = SoftPasskey().key
        case "other purpose":
            await visitor.log_in("alice")
            options = await options_for(visitor, "factor")
    credential = passkey.get(options)
    if fault == "type":
        credential = passkey.create({"publicKey": {**options["publicKey"], "user": {"id": passkey.user_handle}}})
    answer = await visitor.post_json("/accounts/login/passkey/", credential=credential)
    assert (answer.status_code, answer.json()["error"]) == (401, "passkey_refused")
    assert not await visitor.is_signed_in()


@pytest.mark.parametrize(
    "fields",
    [
        {"authenticatorAttachment": "platform", "clientExtensionResults": {"credProps": {"rk": True}}},
        {"authenticatorAttachment": None, "clientExtensionResults": None, "unknown": 1},
        {"response": {"transports": ["hybrid", "unknown"], "publicKeyAlgorithm": -7, "publicKey": "AA"}},
        {"response": {"userHandle": None}},
    ],
)
async def test_further_fields_of_password_managers_change_nothing(alice, visitor, fields):
    passkey = SoftPasskey()
    options = (await alice.post_json("/accounts/passkeys/")).json()
    credential = with_fields(passkey.create(options), fields)
    assert (await alice.post_json("/accounts/passkeys/", name="x", credential=credential)).status_code == 200
    await visitor.log_in("alice")
    credential = with_fields(passkey.get(await options_for(visitor, "factor")), fields)
    assert (await visitor.post_json("/accounts/login/factor/", credential=credential)).status_code == 200


def with_fields(credential: str, fields: dict[str, object]) -> str:
    """Return the JSON with further fields, and base64 with padding."""
    data = json.loads(credential)
    data["response"] = {name: text + "=" * (-len(text) % 4) for name, text in data["response"].items()}
    data["response"] |= fields.get("response", {})
    return json.dumps(data | {name: field for name, field in fields.items() if name != "response"})


async def test_a_passkey_that_stops_counting_is_accepted_with_an_event(visitor, passkey, site):
    for count, status in ((7, 200), (-1, 200), (-1, 200), (8, 200), (7, 401)):
        passkey.count = count
        assert (await log_in(visitor, passkey)).status_code == status
        visitor.http.cookies.clear()
    events = [
        (event.kind, event.details["name"])
        for event in await site[SecurityEvents].list_newest(1)
        if "name" in event.details
    ]
    names = [kind for kind, name in events if kind.startswith("passkey_") and name == "Laptop"]
    assert sorted(names) == ["passkey_added", "passkey_repeated", "passkey_uncounted"]


async def test_the_host_header_has_no_influence(visitor, passkey):
    options = await visitor.http.post(
        "/accounts/login/options/",
        headers={"Host": "evil.example", "Accept": "application/json", "X-CSRFToken": visitor.csrf_token},
    )
    assert options.status_code == 403 or options.json()["publicKey"]["rpId"] == "localhost"
    assert (await options_for(visitor))["publicKey"]["rpId"] == "localhost"


@pytest.mark.parametrize(
    ("site_url", "origin", "rp_id"),
    [
        ("https://Social.Example.org", "https://social.example.org", "social.example.org"),
        ("https://social.example.org:443", "https://social.example.org", "social.example.org"),
        ("https://bücher.example", "https://xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("https://social.example.org:8443/", "https://social.example.org:8443", "social.example.org"),
    ],
)
async def test_a_passkey_belongs_to_the_site_in_every_spelling(alice, visitor, settings, site_url, origin, rp_id):
    settings.SITE_URL = site_url
    passkey = SoftPasskey(origin=origin, rp_id=rp_id)
    assert (await register(alice, passkey)).status_code == 200
    assert (await options_for(visitor))["publicKey"]["rpId"] == rp_id
    assert (await log_in(visitor, passkey)).status_code == 200
    passkey.origin = origin.replace("https", "http")
    assert (await log_in(visitor, passkey)).status_code == 401


async def test_the_page_leads_to_the_host_of_passkeys(alice, settings):
    settings.SITE_URL = "http://social.example"
    page = (await alice.get("/accounts/passkeys/")).text
    assert '<a href="http://social.example/accounts/passkeys/">' in page
    assert 'data-passkey="create"' not in page


async def test_a_passkey_of_another_account_confirms_nothing(alice, bob, passkey, site):
    other = SoftPasskey()
    await register(bob, other)
    assert (await visitor_confirm(alice, other)).status_code == 401
    assert "factor_refused" in [event.kind for event in await site[SecurityEvents].list_newest(1)]
    assert (await visitor_confirm(alice, passkey)).status_code == 200


async def visitor_confirm(browser: HttpBrowser, passkey: SoftPasskey):
    credential = passkey.get(await options_for(browser, "confirm"))
    return await browser.post_json("/accounts/confirm/", credential=credential)


async def test_an_account_cannot_remove_the_passkey_of_another_account(alice, bob, passkey, site):
    (id,) = (await site[FactorService].find(1)).passkeys
    assert (await bob.post_json("/accounts/factors/remove/", factor=id)).status_code == 404
    assert (await alice.post_json("/accounts/factors/remove/", factor=id)).status_code == 200
    assert (await log_in(bob, passkey)).status_code == 401


async def test_the_number_of_passkeys_is_capped_and_leaves_room_for_codes(alice, passkey, site):
    for _ in range(9):
        assert (await register(alice, SoftPasskey())).status_code == 200
    assert (await register(alice, SoftPasskey())).status_code == 422
    assert len((await alice.get_json("/accounts/security/")).json()["factors"]["passkeys"]) == 10
    await set_up_totp(alice, site.clock)


@pytest.mark.parametrize(
    "credential",
    [
        "", "null", "[]", "{}", "\x7f", '{"rawId":1}', '{"rawId":"AA","response":{}}', '{"rawId":"AA","response":[]}',
        '{"rawId":"AA","response":{"clientDataJSON":"bnVsbA","attestationObject":"oA","authenticatorData":"AA",'
        '"signature":"AA"}}',
        '{"rawId":"AA","response":{"clientDataJSON":"eyJ0eXBlIjoxLCJjaGFsbGVuZ2UiOnt9LCJvcmlnaW4iOltdfQ",'
        '"attestationObject":"' + "gYGB" * 2_000 + '","authenticatorData":"AA","signature":"AA"}}',
        "[" * 11_000, "x" * 13_000,
    ],
)  # fmt: skip
async def test_texts_that_are_no_credential_are_refused(alice, visitor, passkey, credential):
    assert (await visitor.post_json("/accounts/login/passkey/", credential=credential)).status_code == 401
    answer = await alice.post_json("/accounts/passkeys/", name="x", credential=credential)
    assert answer.status_code in (200, 401, 422)
    assert "recovery_codes" not in answer.text
    await visitor.log_in("alice")
    answer = await visitor.post_json("/accounts/login/factor/", credential=credential)
    assert answer.status_code in (401, 422)
    assert RecursionError in MALFORMED


class KeylessPasskey(SoftPasskey):
    """Answers the request for a new passkey without a public key."""

    def _data(self, attested: bytes = b"") -> bytes:
        return super()._data()


async def test_a_new_passkey_without_a_public_key_is_refused(alice):
    assert (await register(alice, KeylessPasskey())).status_code in (401, 422)
    assert (await alice.get_json("/accounts/security/")).json()["factors"]["passkeys"] == []


async def test_a_refused_passkey_leads_back_to_the_log_in(visitor, passkey):
    answer = await visitor.post("/accounts/login/passkey/", credential="{}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/accounts/login/")
    assert "could not be checked" in (await visitor.get("/accounts/login/")).text
    assert (await visitor.post("/accounts/login/", username="alice", password=PASSWORD)).status_code == 303
