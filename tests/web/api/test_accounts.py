"""Accounts in the API: profiles, relationships, follow requests, blocks and mutes, and the own profile."""

from typing import Any

import pytest

from tests.support.api import ApiClient
from tests.web.api.conftest import OpenApi

ACCOUNTS = "/api/v1/accounts"


async def own_id(client: ApiClient) -> str:
    account_id: str = (await client.get(f"{ACCOUNTS}/verify_credentials")).json()["id"]
    return account_id


async def act(client: ApiClient, account_id: str, action: str, **fields: Any) -> dict[str, Any]:
    answer = await client.post(f"{ACCOUNTS}/{account_id}/{action}", **fields)
    assert answer.status_code == 200, answer.text
    relationship: dict[str, Any] = answer.json()
    return relationship


async def test_an_account_is_found_by_id_and_by_handle(open_api: OpenApi) -> None:
    alice, visitor = await open_api("alice"), await open_api()
    account_id = await own_id(alice)
    assert (await visitor.get(f"{ACCOUNTS}/{account_id}")).json()["acct"] == "alice"
    for acct in ("alice", "@Alice", "alice@testserver"):
        assert (await visitor.get(f"{ACCOUNTS}/lookup", acct=acct)).json()["id"] == account_id
    for acct in ("nobody", "alice@elsewhere.example", "", "a@b@c"):
        assert (await visitor.get(f"{ACCOUNTS}/lookup", acct=acct)).status_code == 404
    assert [each["id"] for each in (await alice.get(f"{ACCOUNTS}/search", q="@ali")).json()] == [account_id]
    assert (await alice.get(f"{ACCOUNTS}/search", q="ali", following="true")).json() == []
    found = await visitor.http.get(f"{ACCOUNTS}?id[]={account_id}&id[]=999&id[]=x")
    assert [each["id"] for each in found.json()] == [account_id]


async def test_actions_answer_with_the_relationship(open_api: OpenApi) -> None:
    alice, bob = await open_api("alice"), await open_api("bob")
    bob_id, alice_id = await own_id(bob), await own_id(alice)
    followed = await act(alice, bob_id, "follow", reblogs=False)
    assert (followed["following"], followed["showing_reblogs"]) == (True, False)
    assert (await act(alice, bob_id, "follow", reblogs=True))["showing_reblogs"] is True
    assert (await bob.get(f"{ACCOUNTS}/relationships", **{"id[]": alice_id})).json()[0]["followed_by"] is True
    assert [each["acct"] for each in (await bob.get(f"{ACCOUNTS}/{bob_id}/followers")).json()] == ["alice"]
    assert [each["acct"] for each in (await bob.get(f"{ACCOUNTS}/{alice_id}/following")).json()] == ["bob"]
    assert (await act(bob, alice_id, "remove_from_followers"))["followed_by"] is False
    assert (await act(alice, bob_id, "mute", duration=3600))["muting_expires_at"]
    (muted,) = (await alice.get("/api/v1/mutes")).json()
    assert (muted["acct"], bool(muted["mute_expires_at"])) == ("bob", True)
    assert (await act(alice, bob_id, "unmute"))["muting"] is False
    assert (await act(alice, bob_id, "mute", duration=0))["muting_expires_at"] is None
    assert (await act(alice, bob_id, "block"))["blocking"] is True
    assert [each["acct"] for each in (await alice.get("/api/v1/blocks")).json()] == ["bob"]
    assert (await bob.get(f"{ACCOUNTS}/{alice_id}/followers")).status_code == 404
    assert (await act(alice, bob_id, "unblock"))["blocking"] is False
    assert (await act(alice, bob_id, "unfollow"))["following"] is False


@pytest.mark.parametrize(
    ("action", "fields"),
    [("follow", {"notify": "true"}), ("follow", {"languages[]": "de"}), ("mute", {"notifications": "false"})],
)
async def test_unsupported_options_of_an_action_are_refused(
    open_api: OpenApi, action: str, fields: dict[str, str]
) -> None:
    alice, bob_id = await open_api("alice"), await own_id(await open_api("bob"))
    assert (await alice.http.post(f"{ACCOUNTS}/{bob_id}/{action}", data=fields)).status_code == 422
    relationship = (await alice.get(f"{ACCOUNTS}/relationships", **{"id[]": bob_id})).json()[0]
    assert (relationship["following"], relationship["muting"]) == (False, False)


async def test_a_private_account_answers_follow_requests(open_api: OpenApi) -> None:
    alice, bob, carol = await open_api("alice"), await open_api("bob"), await open_api("carol")
    ids = {"alice": await own_id(alice), "bob": await own_id(bob), "carol": await own_id(carol)}
    await alice.http.patch(f"{ACCOUNTS}/update_credentials", data={"locked": "true"})
    for client in (bob, carol):
        relationship = await act(client, ids["alice"], "follow")
        assert (relationship["following"], relationship["requested"]) == (False, True)
    requests = (await alice.get("/api/v1/follow_requests")).json()
    assert {each["acct"] for each in requests} == {"bob", "carol"}
    asked = (await alice.get(f"{ACCOUNTS}/relationships", **{"id[]": ids["bob"]})).json()[0]
    assert asked["requested_by"] is True
    assert (await alice.post(f"/api/v1/follow_requests/{ids['bob']}/authorize")).json()["followed_by"] is True
    refused = await alice.post(f"/api/v1/follow_requests/{ids['carol']}/reject")
    assert (refused.json()["followed_by"], refused.json()["requested_by"]) == (False, False)
    assert (await alice.get("/api/v1/follow_requests")).json() == []


async def test_followers_have_pages(open_api: OpenApi) -> None:
    alice = await open_api("alice")
    alice_id = await own_id(alice)
    for name in ("bob", "carol", "dave"):
        await act(await open_api(name), alice_id, "follow")
    first = await alice.get(f"{ACCOUNTS}/{alice_id}/followers", limit=2)
    second = await alice.http.get(first.links["next"]["url"])
    assert [each["acct"] for each in (*first.json(), *second.json())] == ["dave", "carol", "bob"]
    assert "next" not in second.links
    newer = first.links["prev"]["url"]
    assert (await alice.http.get(newer)).json() == []
    await act(await open_api("erin"), alice_id, "follow")
    assert [each["acct"] for each in (await alice.http.get(newer)).json()] == ["erin"]
    assert [each["acct"] for each in (await alice.http.get(second.links["prev"]["url"])).json()] == ["erin", "dave"]


async def test_a_change_of_the_own_profile_keeps_absent_fields(open_api: OpenApi) -> None:
    alice = await open_api("alice")
    url = f"{ACCOUNTS}/update_credentials"
    changed = await alice.http.patch(url, data={"note": "I am", "fields_attributes[0][value]": "https://a.example.org"})
    assert changed.status_code == 200, changed.text
    changed = await alice.http.patch(url, json={"display_name": "Alice A.", "source": {"language": "de"}})
    account = changed.json()
    assert (account["display_name"], account["note"]) == ("Alice A.", "<p>I am</p>")
    assert (account["source"]["note"], account["source"]["language"]) == ("I am", "de")
    assert account["source"]["fields"][0]["value"] == "https://a.example.org"
    for fields in ({"indexable": "false"}, {"source[privacy]": "direct"}, {"source[language]": "xx"}):
        assert (await alice.http.patch(url, data=fields)).status_code == 422
    unnamed = await alice.http.put(url, data={"display_name": ""})
    assert (unnamed.status_code, unnamed.json()["display_name"], unnamed.json()["note"]) == (200, "", "<p>I am</p>")


async def test_an_account_is_discoverable_as_it_chooses(open_api: OpenApi) -> None:
    alice, bob = await open_api("alice"), await open_api("bob")
    url = f"{ACCOUNTS}/update_credentials"

    async def update(**fields: bool) -> tuple[bool, bool]:
        changed = await alice.http.patch(url, json=fields)
        assert changed.status_code == 200, changed.text
        account = changed.json()
        return account["discoverable"], account["source"]["discoverable"]

    async def find(**fields: str) -> list[str]:
        return [each["acct"] for each in (await bob.get(f"{ACCOUNTS}/search", q="ali", **fields)).json()]

    assert await update(bot=True) == (True, True)
    assert await find() == ["alice"]
    assert await update(discoverable=False) == (False, False)
    assert await find() == []
    await act(bob, await own_id(alice), "follow")
    assert await find() == ["alice"]
    assert await update(discoverable=True) == (True, True)
    # Nobody finds a private account. An app that sends back what it read changes nothing.
    assert await update(locked=True, discoverable=False) == (False, False)
    assert (await alice.http.patch(url, json={"discoverable": True})).status_code == 422
    assert await update(locked=False) == (True, True)


async def test_the_scope_of_each_part_is_needed(open_api: OpenApi) -> None:
    await open_api("alice")
    bob_id = await own_id(await open_api("bob"))
    for scopes, action in (("write:mutes", "follow"), ("write:follows", "block"), ("read write:blocks", "mute")):
        client = await open_api("alice", scopes)
        assert (await client.post(f"{ACCOUNTS}/{bob_id}/{action}")).status_code == 403
    follow = await open_api("alice", "follow")
    for action in ("follow", "mute", "block"):
        await act(follow, bob_id, action)
    assert (await follow.get("/api/v1/bookmarks")).status_code == 403


async def test_a_post_has_the_defaults_of_its_author_for_absent_fields(open_api: OpenApi) -> None:
    alice = await open_api("alice")
    preferred = {"source[privacy]": "unlisted", "source[sensitive]": "true", "bot": "true"}
    account = (await alice.http.patch(f"{ACCOUNTS}/update_credentials", data=preferred)).json()
    assert (account["source"]["privacy"], account["source"]["sensitive"], account["bot"]) == ("unlisted", True, True)
    status = (await alice.post("/api/v1/statuses", status="x")).json()
    assert (status["visibility"], status["sensitive"]) == ("unlisted", True)
    status = (await alice.post("/api/v1/statuses", status="y", visibility="public", sensitive=False)).json()
    assert (status["visibility"], status["sensitive"]) == ("public", False)
    locked = (await alice.http.patch(f"{ACCOUNTS}/update_credentials", data={"locked": "true"})).json()
    assert locked["source"]["privacy"] == "private"


async def test_an_account_has_no_identity_proofs(open_api: OpenApi) -> None:
    alice = await open_api("alice")
    proofs = await alice.get(f"{ACCOUNTS}/{await own_id(alice)}/identity_proofs")
    assert (proofs.status_code, proofs.json()) == (200, [])


async def test_familiar_followers_are_followed_by_the_viewer(open_api: OpenApi) -> None:
    alice, bob, carol = await open_api("alice"), await open_api("bob"), await open_api("carol")
    bob_id, carol_id = await own_id(bob), await own_id(carol)
    await act(alice, bob_id, "follow")
    await act(bob, carol_id, "follow")
    (found,) = (await alice.get(f"{ACCOUNTS}/familiar_followers", **{"id[]": carol_id})).json()
    assert (found["id"], [each["acct"] for each in found["accounts"]]) == (carol_id, ["bob"])
    (found,) = (await carol.get(f"{ACCOUNTS}/familiar_followers", **{"id[]": bob_id})).json()
    assert found["accounts"] == []
