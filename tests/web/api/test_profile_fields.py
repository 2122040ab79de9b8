"""The fields of a profile in the API, as apps send them. Cases of other sites name their reports."""

import json
from typing import Any

import pytest

from accounts.profile_texts import ProfileField, encode_fields
from socialsite.container import Services
from socialsite.ids import AccountId
from tests.support.api import ApiClient
from tests.web.api.conftest import OpenApi

URL = "/api/v1/accounts/update_credentials"
TWO = [{"name": "Link", "value": "https://a.example.org"}, {"name": "Pronouns", "value": "she/her"}]


async def update(client: ApiClient, **request: Any) -> list[tuple[str, str]]:
    """Return the names and values of the changed account, as its forms show them."""
    answer = await client.http.patch(URL, **request)
    assert answer.status_code == 200, answer.text
    return [(each["name"], each["value"]) for each in answer.json()["source"]["fields"]]


@pytest.mark.parametrize(
    "request_of_app",
    [
        {"json": {"fields_attributes": TWO}},  # mastodon#8611: a list in JSON was ignored
        {"json": {"fields_attributes": {"0": TWO[0], "1": TWO[1]}}},
        {"json": {"fields_attributes": {"420": TWO[0], "69": TWO[1]}}},  # mastodon#22174: the order counts
        {"data": {f"fields_attributes[{n}][{key}]": text for n, each in enumerate(TWO) for key, text in each.items()}},
        {"params": {f"fields_attributes[{n}][{k}]": text for n, each in enumerate(TWO) for k, text in each.items()}},
        {
            "content": "&".join(f"fields_attributes[][{key}]={text}" for each in TWO for key, text in each.items()),
            "headers": {"Content-Type": "application/x-www-form-urlencoded"},
        },
        # Mastodon.py#322: an app sends back what it read
        {"json": {"fields_attributes": [each | {"verified_at": None} for each in TWO]}},
        {"json": {"fields_attributes": [*TWO, {"name": "", "value": ""}, {"name": "emptied", "value": " "}]}},
    ],
)
async def test_every_form_of_the_fields_is_read(open_api: OpenApi, request_of_app: dict[str, Any]) -> None:
    alice = await open_api("alice")
    assert await update(alice, **request_of_app) == [("Link", "https://a.example.org"), ("Pronouns", "she/her")]
    account = (await alice.get("/api/v1/accounts/verify_credentials")).json()
    assert [each["name"] for each in account["fields"]] == ["Link", "Pronouns"]
    assert account["fields"][1] == {"name": "Pronouns", "value": "she/her", "verified_at": None}


@pytest.mark.parametrize(
    "request_of_app",
    [
        {"json": {"fields_attributes": []}},
        {"json": {"fields_attributes": {}}},
        {"data": {"fields_attributes[]": ""}},
        {"data": {"fields_attributes[0][name]": "", "fields_attributes[0][value]": ""}},
    ],
)
async def test_an_empty_list_removes_all_fields(open_api: OpenApi, request_of_app: dict[str, Any]) -> None:
    alice = await open_api("alice")
    await update(alice, json={"fields_attributes": TWO})
    assert await update(alice, json={"note": "kept"}) == [tuple(each.values()) for each in TWO]
    assert await update(alice, **request_of_app) == []


@pytest.mark.parametrize(
    "fields",
    [
        [{"name": f"n{number}", "value": "v"} for number in range(5)],
        [{"name": "a", "value": "v" * 256}],
        [{"name": "n" * 256, "value": "v"}],
        [{"value": "a text without a name"}],
        [{"name": "\u200b", "value": "zero-width"}],
        [{"name": "Link", "value": "no address"}],
    ],
)
async def test_a_refused_field_changes_nothing(open_api: OpenApi, fields: list[dict[str, str]]) -> None:
    alice = await open_api("alice")
    await update(alice, json={"fields_attributes": TWO})
    answer = await alice.http.patch(URL, json={"fields_attributes": fields})
    assert answer.status_code == 422
    assert "fields_attributes" in json.dumps(answer.json())
    assert len(await update(alice, json={})) == 2


async def test_a_field_with_the_name_of_the_link_stays_a_field(open_api: OpenApi, site: Services) -> None:
    """Its owner named it on the page of settings. An app sends it back with another change."""
    alice, account = await open_api("alice"), await site.accounts.get_by_handle("alice")
    fields = encode_fields([ProfileField("Link", "in my shop"), ProfileField("Link", "https://a.example.org")])
    await site.accounts.edit_profile(account_id=AccountId(account.id), fields=fields)
    source = (await alice.get("/api/v1/accounts/verify_credentials")).json()["source"]["fields"]
    assert await update(alice, json={"note": "new", "fields_attributes": source}) == [
        ("Link", "in my shop"),
        ("Link", "https://a.example.org"),
    ]
    edited = await site.accounts.get(AccountId(account.id))
    assert (edited.link, edited.fields, edited.bio) == ("", fields, "new")


async def test_five_fields_fit_if_one_of_them_is_the_link(open_api: OpenApi) -> None:
    alice = await open_api("alice")
    limits = (await alice.get("/api/v2/instance")).json()["configuration"]["accounts"]
    names = "max_profile_fields", "profile_field_name_limit", "profile_field_value_limit"
    assert [limits[name] for name in names] == [5, 255, 255]
    fields = [TWO[0], *({"name": f"n{number}" * 50, "value": "🏳️‍🌈" * 255} for number in range(4))]
    assert len(await update(alice, json={"fields_attributes": fields})) == 5


async def test_markup_in_a_field_is_text(open_api: OpenApi) -> None:
    """mastodon#8718 and glitch-soc#480: values were escaped twice or not at all."""
    alice = await open_api("alice")
    value = '<a href="javascript:1">x</a> & https://a.example.org/?a=1&b=2'
    await update(alice, json={"fields_attributes": [{"name": "<b>", "value": value}]})
    (field,) = (await alice.get("/api/v1/accounts/verify_credentials")).json()["fields"]
    assert field["name"] == "<b>"
    assert field["value"].startswith("&lt;a href=&quot;javascript:1&quot;&gt;x&lt;/a&gt; &amp; <a href=")
    assert 'href="https://a.example.org/?a=1&amp;b=2" rel="me nofollow noopener"' in field["value"]
