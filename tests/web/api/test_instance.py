"""What clients read about the site, strict fields first; and sign-up by an app."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import pytest

from accounts.accounts.service import AccountService
from accounts.sessions.values import TokenGrant
from socialsite.asgi import application
from socialsite.container import Services
from socialsite.ids import AccountId
from tests.support.api import ApiClient
from tests.support.visitor import PASSWORD
from tests.support.world import World
from tests.web.api.conftest import OpenApi
from timelines.media import encoder
from timelines.media.media import UPLOAD_MAX_PIXELS


async def test_the_instance_has_the_fields_without_which_clients_fail(open_api: OpenApi) -> None:
    visitor = await open_api()
    new = (await visitor.get("/api/v2/instance")).json()
    assert new["domain"] == "testserver"
    assert new["version"].startswith("4.")
    assert new["configuration"]["urls"]["streaming"] == "ws://testserver"
    assert isinstance(new["contact"]["email"], str)
    assert new["thumbnail"]["url"].startswith("http://testserver/static/")
    assert new["registrations"]["enabled"] is True
    old = (await visitor.get("/api/v1/instance")).json()
    assert old["uri"] == "testserver"
    assert old["urls"] == {"streaming_api": "ws://testserver"}
    assert set(old["stats"]) == {"user_count", "status_count", "domain_count"}
    for name in ("statuses", "media_attachments", "polls"):
        assert old["configuration"][name] == new["configuration"][name]
        assert None not in new["configuration"][name].values()
    assert new["configuration"]["statuses"]["max_characters"] == 500
    assert new["configuration"]["media_attachments"]["image_matrix_limit"] == UPLOAD_MAX_PIXELS == encoder.MAX_PIXELS


async def test_the_site_describes_itself(open_api: OpenApi, world: World) -> None:
    await (await world.person("alice")).publishes("hello")
    visitor = await open_api()
    weeks = (await visitor.get("/api/v1/instance/activity")).json()
    assert len(weeks) == 12
    assert {name: type(value) for name, value in weeks[0].items()} == dict.fromkeys(
        ("week", "statuses", "logins", "registrations"), str
    )
    assert int(weeks[0]["week"]) - int(weeks[1]["week"]) == 7 * 86_400
    assert (await visitor.get("/api/v1/instance/extended_description")).json()["content"].startswith("<p>")
    assert {"code": "de", "name": "Deutsch"} in (await visitor.get("/api/v1/instance/languages")).json()
    assert (await visitor.get("/api/v1/instance/translation_languages")).json() == {}
    for name in ("privacy_policy", "terms_of_service"):
        assert (await visitor.get(f"/api/v1/instance/{name}")).json()["content"].startswith("<")
    assert (await visitor.get("/api/v1/instance/domain_blocks")).status_code == 404
    health = await visitor.get("/health")
    assert (health.status_code, health.text) == (200, "OK")
    for path in ("/health", "/api/v2/instance", "/about/"):
        sent = parsedate_to_datetime((await visitor.get(path)).headers["Date"])
        assert abs((datetime.now(UTC) - sent).total_seconds()) < 30


async def test_a_text_of_the_site_has_the_day_of_its_last_change(site: Services, open_api: OpenApi) -> None:
    visitor, addresses = await open_api(), ("extended_description", "privacy_policy", "terms_of_service")

    async def days() -> list[str]:
        texts = [(await visitor.get(f"/api/v1/instance/{name}")).json() for name in addresses]
        return [each["effective_date"] if "effective" in each else each["updated_at"] for each in texts]

    shipped, today = await days(), f"{datetime.now(UTC):%Y-%m-%d}"
    assert shipped == ["2026-11-23T00:00:00.000Z", "2026-11-23T00:00:00.000Z", "2026-11-23"]
    await site.site.change(privacy="We keep nothing.", terms="Be kind.", rules=["Be kind."])
    changed = await days()
    assert (changed[0], changed[1][:10], changed[2]) == (shipped[0], today, today)
    await site.site.change(privacy="We keep nothing.", about="A site.", name="Ours")
    assert (await days())[1:] == changed[1:]


async def test_nodeinfo_names_the_api(open_api: OpenApi) -> None:
    visitor = await open_api()
    (link,) = (await visitor.get("/.well-known/nodeinfo")).json()["links"]
    assert link["href"] == "http://testserver/nodeinfo/2.0"
    data = (await visitor.get("/nodeinfo/2.0")).json()
    assert data["metadata"]["upstream"] == {"name": "mastodon"}
    assert data["version"] == "2.0"


async def test_unsupported_parts_of_the_instance_are_empty(open_api: OpenApi) -> None:
    client = await open_api("alice")
    for path in ("custom_emojis", "announcements", "instance/peers"):
        answer = await client.get(f"/api/v1/{path}")
        assert (answer.status_code, answer.json()) == (200, [])


async def test_a_new_site_has_five_rules_in_eight_languages_and_staff_may_delete_them(site, open_api: OpenApi) -> None:
    client = await open_api("alice")
    rules = (await client.get("/api/v1/instance/rules")).json()
    assert [rule["id"] for rule in rules] == ["1", "2", "3", "4", "5"]
    assert all(len(rule["translations"]) == 8 for rule in rules)
    assert (await client.get("/api/v2/instance")).json()["rules"] == rules
    await site.site.change(rules=[])
    assert (await client.get("/api/v1/instance/rules")).json() == []


async def test_an_address_may_end_with_a_slash(open_api: OpenApi) -> None:
    """Mastodon.py ends some addresses so."""
    client = await open_api("alice")
    assert (await client.get("/api/v2/instance/")).json()["title"]
    assert (await client.post("/api/v1/statuses/", status="hello")).status_code == 200
    assert (await client.get("/nodeinfo/2.0/")).status_code == 200


async def test_an_app_reads_the_preferences_of_its_account(open_api: OpenApi) -> None:
    alice = await open_api("alice")
    data = (await alice.get("/api/v1/preferences")).json()
    posting = {name.removeprefix("posting:default:"): value for name, value in data.items() if "posting" in name}
    assert posting == {"visibility": "public", "sensitive": False, "language": None, "quote_policy": "public"}
    chosen = {"privacy": "unlisted", "sensitive": True, "language": "de", "quote_policy": "nobody"}
    await alice.http.patch("/api/v1/accounts/update_credentials", json={"source": chosen})
    changed = (await alice.get("/api/v1/preferences")).json()
    assert changed["posting:default:visibility"] == "unlisted"
    for name in ("sensitive", "language", "quote_policy"):
        assert changed[f"posting:default:{name}"] == chosen[name]
    assert data["reading:expand:spoilers"] is False
    assert (await (await open_api()).get("/api/v1/preferences")).status_code == 401


async def open_app(site: Services, *scopes: str) -> ApiClient:
    grant = TokenGrant("a" * 32, "App", scopes or ("read", "write"))
    return ApiClient(application, token=await site.access_tokens.issue(None, grant))


RIGHT = {"username": "Carol", "email": "carol@example.com", "password": PASSWORD, "agreement": True, "locale": "en"}


async def test_an_app_signs_a_person_up(site: Services) -> None:
    async with await open_app(site) as app:
        answer = await app.post("/api/v1/accounts", **RIGHT)
        assert answer.status_code == 200, answer.text
        token = answer.json()
        assert token["scope"] == "read write"
        async with ApiClient(application, token=token["access_token"]) as carol:
            assert (await carol.get("/api/v1/accounts/verify_credentials")).json()["username"] == "carol"
        again = await app.post("/api/v1/accounts", **RIGHT)
        assert again.status_code == 422
        assert list(again.json()["details"]) == ["username"]


@pytest.mark.parametrize(
    ("wrong", "codes"),
    [
        ({"username": "no spaces"}, {"username": ["ERR_INVALID"]}),
        ({"username": "a" * 21}, {"username": ["ERR_TOO_LONG"]}),
        ({"username": "a" * 101}, {"username": ["ERR_TOO_LONG"]}),
        ({"username": "Admin"}, {"username": ["ERR_RESERVED"]}),
        ({"username": "ALICE", "password": "short"}, {"username": ["ERR_TAKEN"], "password": ["ERR_TOO_SHORT"]}),
        ({"password": "12345"}, {"password": ["ERR_TOO_SHORT", "ERR_INVALID", "ERR_INVALID"]}),
        ({"password": "carol_12"}, {"password": ["ERR_INVALID"]}),
        ({"password": "x" * 5_000}, {"password": ["ERR_TOO_LONG"]}),
        ({"email": "no address"}, {"email": ["ERR_INVALID"]}),
        ({"email": "carol@blocked.example"}, {"email": ["ERR_BLOCKED"]}),
        ({"agreement": "false", "reason": "x"}, {"agreement": ["ERR_ACCEPTED"]}),
        (
            {"username": "", "email": "", "password": "", "agreement": False},
            {"username": ["ERR_BLANK"], "password": ["ERR_BLANK"], "agreement": ["ERR_ACCEPTED"]},
        ),
    ],
)
async def test_a_wrong_sign_up_names_each_fault(
    site: Services, world: World, wrong: dict[str, object], codes: dict[str, list[str]]
) -> None:
    await world.people("alice")
    await site.site.change(blocked_mail_domains=("blocked.example",))
    async with await open_app(site) as app:
        answer = await app.post("/api/v1/accounts", **{**RIGHT, **wrong})
    assert answer.status_code == 422
    details = answer.json()["details"]
    assert {name: [fault["error"] for fault in faults] for name, faults in details.items()} == codes
    assert all(fault["description"] in answer.json()["error"] for faults in details.values() for fault in faults)
    assert await site[AccountService].find_by_handle("carol") is None


async def test_a_sign_up_by_an_app_reads_the_address_and_the_reason(site: Services, settings) -> None:
    settings.MAIL_REQUIRED = True
    await site.site.change(joining="approval")
    async with await open_app(site) as app:
        refused = await app.post("/api/v1/accounts", **RIGHT | {"email": "", "reason": "short"})
        assert {name: faults[0]["error"] for name, faults in refused.json()["details"].items()} == {
            "email": "ERR_INVALID", "reason": "ERR_TOO_SHORT",
        }  # fmt: skip
        assert (
            await app.post("/api/v1/accounts", **RIGHT, reason="I would like to read my friends.")
        ).status_code == 200
    account = await site[AccountService].find_by_handle("carol")
    assert account is not None
    assert (await site.mail.mails.find(AccountId(account.id))).pending == RIGHT["email"]


async def test_a_sign_up_needs_the_token_of_an_app(site: Services, open_api: OpenApi) -> None:
    assert (await (await open_api()).post("/api/v1/accounts", **RIGHT)).status_code == 401
    async with await open_app(site, "read") as app:
        assert (await app.post("/api/v1/accounts", **RIGHT)).status_code == 403
