"""The registration of apps, and the addresses to which they may redirect."""

import pytest

from tests.support.api import OUT_OF_BAND, REDIRECT_URI, OAuthClient
from tests.support.browser import HttpBrowser


async def test_a_registration_has_every_field(visitor: HttpBrowser) -> None:
    answer = await visitor.http.post(
        "/api/v1/apps",
        json={
            "client_name": "An app",
            "redirect_uris": [REDIRECT_URI, OUT_OF_BAND],
            "scopes": "read write:statuses",
            "website": "https://app.example",
        },
    )
    assert answer.status_code == 200
    data = answer.json()
    assert len(data.pop("client_secret")) >= 40
    assert data.pop("id") == data.pop("client_id")
    assert len(data.pop("vapid_key")) == 87
    assert data == {
        "name": "An app", "website": "https://app.example", "scopes": ["read", "write:statuses"],
        "redirect_uri": f"{REDIRECT_URI}\n{OUT_OF_BAND}", "redirect_uris": [REDIRECT_URI, OUT_OF_BAND],
        "client_secret_expires_at": 0,
    }  # fmt: skip


async def test_redirect_uris_may_be_separate_lines(visitor: HttpBrowser) -> None:
    app = await OAuthClient.register(visitor.http, f"{OUT_OF_BAND}\nivory://oauth")
    assert app.registration["redirect_uris"] == [OUT_OF_BAND, "ivory://oauth"]


@pytest.mark.parametrize(
    "uri",
    [
        "javascript:alert(1)", "JavaScript:alert(1)", "data:text/html,x", "vbscript:x", "file:///etc/passwd", "blob:x",
        "", "/callback", "//app.example", "https://", "https:app.example", "http://a@b/", "https://app.example/#x",
        "https://app.example/;x", "https://app example", "https://*", "x\u0000:y", "1x:y", "https://[::1",
        "intent://x#y", "intent:x", "filesystem:https://a.example/", "chrome://settings", "chrome-extension://x/",
        "ms-msdt:x", "ms-word:x", "search-ms:x", "mailto:a@b.example", "ftp://a.example", "tel:1", "sms:1", "web+x:y",
        "itms-services://x", "shortcuts://run", "moz-extension://x", "x-apple.systempreferences:y", "urn:x", "tg://x",
        "https://app.example/" + "x" * 500,
    ],
)  # fmt: skip
async def test_a_dangerous_redirect_uri_is_refused(visitor: HttpBrowser, uri: str) -> None:
    answer = await visitor.http.post("/api/v1/apps", json={"client_name": "An app", "redirect_uris": [uri]})
    assert answer.status_code in (400, 422)
    assert answer.status_code == 400 or "redirect_uris" in answer.json()["details"]


@pytest.mark.parametrize(
    "uri",
    [
        "com.keylesspalace.tusky://my.tusky.app/", "icecubesapp://", "ivory://oauth", "mona://callback", "fedilab://x",
        "megalodon-android-auth://callback", "mastodon-android-auth://callback", "mastodon://joinmastodon.org/oauth",
        "fedi://appredirect", "tooot://instance-auth", "mammoth://", "mastopiri://callback", "whalebird://x",
        "subwaytooter-oauth://x", "moshidon-android-auth://callback", "org.joinmastodon.app:/oauth", "http://127.0.0.1:1/",
        "https://elk.zone/api/x/oauth/https%3A%2F%2Fa.example", OUT_OF_BAND,
    ],
)  # fmt: skip
async def test_the_redirect_uri_of_an_app_is_accepted(visitor: HttpBrowser, uri: str) -> None:
    answer = await visitor.http.post("/api/v1/apps", json={"client_name": "An app", "redirect_uris": [uri]})
    assert answer.status_code == 200


async def test_all_redirect_uris_of_an_app_have_1500_characters_at_most(visitor: HttpBrowser) -> None:
    uris = ["https://app.example/" + str(n) * 280 for n in range(6)]
    for count, status in ((5, 200), (6, 422)):
        answer = await visitor.http.post("/api/v1/apps", json={"client_name": "An app", "redirect_uris": uris[:count]})
        assert answer.status_code == status


@pytest.mark.parametrize("name", ["Evil\n\nYour account is locked.", "An \u202eppa", "\u200b", "x" * 61, "a\0b"])
async def test_a_name_of_an_app_that_could_imitate_other_text_is_refused(visitor: HttpBrowser, name: str) -> None:
    right = {"redirect_uris": REDIRECT_URI, "scopes": "read"}
    assert (await visitor.http.post("/api/v1/apps", json=right | {"client_name": name})).status_code in (400, 422)


@pytest.mark.parametrize("fields", [{"client_name": ""}, {"scopes": "read admin:read"}, {"website": "javascript:x"}])
async def test_wrong_fields_are_refused(visitor: HttpBrowser, fields: dict[str, str]) -> None:
    right = {"client_name": "An app", "redirect_uris": REDIRECT_URI, "scopes": "read"}
    answer = await visitor.http.post("/api/v1/apps", data=right | fields)
    assert answer.status_code == 422
    assert answer.json()["error"].startswith("Validation failed: ")
    assert list(answer.json()["details"]) == list(fields)
