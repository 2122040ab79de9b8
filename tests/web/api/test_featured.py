"""Hashtags and accounts that a profile features in the API."""

from socialsite.container import Services
from tests.support.api import ApiClient
from tests.web.api.conftest import OpenApi
from timelines.profiles.featured import FEATURED_HASHTAGS_CAP

FEATURED = "/api/v1/featured_tags"


async def own_id(client: ApiClient) -> str:
    account_id: str = (await client.get("/api/v1/accounts/verify_credentials")).json()["id"]
    return account_id


async def test_a_profile_features_hashtags(open_api: OpenApi) -> None:
    alice, visitor = await open_api("alice"), await open_api()
    for text in ("#Tea #cake", "#tea"):
        await alice.post("/api/v1/statuses", status=text)
    assert [each["name"] for each in (await alice.get(f"{FEATURED}/suggestions")).json()] == ["tea", "cake"]
    created = (await alice.post(FEATURED, name="#Tea")).json()
    assert (created["name"], created["statuses_count"]) == ("tea", "2")
    assert (await alice.post("/api/v1/tags/coffee/feature")).json()["featuring"] is True
    shown = (await visitor.get(f"/api/v1/accounts/{await own_id(alice)}/featured_tags")).json()
    assert [(each["name"], each["statuses_count"]) for each in shown] == [("tea", "2"), ("coffee", "0")]
    assert shown[0]["last_status_at"]
    assert (await alice.get("/api/v1/tags/tea")).json()["featuring"] is True
    assert [each["name"] for each in (await alice.get(f"{FEATURED}/suggestions")).json()] == ["cake"]
    assert (await alice.http.delete(f"{FEATURED}/{created['id']}")).json() == {}
    assert (await alice.post("/api/v1/tags/coffee/unfeature")).json()["featuring"] is False
    assert (await alice.get(FEATURED)).json() == []


async def test_a_profile_features_a_limited_number_of_hashtags(open_api: OpenApi) -> None:
    alice = await open_api("alice")
    for number in range(FEATURED_HASHTAGS_CAP):
        assert (await alice.post(FEATURED, name=f"tag{number}")).status_code == 200
    refused = await alice.post(FEATURED, name="more")
    assert (refused.status_code, set(refused.json()["details"])) == (422, {"name"})
    assert (await alice.post(FEATURED, name="tag0")).status_code == 200
    assert (await alice.post(FEATURED, name="no hashtag")).status_code == 404


async def test_a_profile_features_no_blocked_word(open_api: OpenApi, site: Services) -> None:
    alice = await open_api("alice")
    await site.site.change(blocked_words=("pills",))
    for answer in (await alice.post(FEATURED, name="Pills"), await alice.post("/api/v1/tags/pills/feature")):
        assert (answer.status_code, set(answer.json()["details"])) == (422, {"name"})
    assert (await alice.get(FEATURED)).json() == []


async def test_a_profile_features_followed_accounts(open_api: OpenApi) -> None:
    alice, bob, visitor = await open_api("alice"), await open_api("bob"), await open_api()
    bob_id, alice_id = await own_id(bob), await own_id(alice)
    assert (await alice.post(f"/api/v1/accounts/{bob_id}/endorse")).status_code == 422
    await alice.post(f"/api/v1/accounts/{bob_id}/follow")
    assert (await alice.post(f"/api/v1/accounts/{bob_id}/endorse")).json()["endorsed"] is True
    for client, path in ((alice, "/api/v1/endorsements"), (visitor, f"/api/v1/accounts/{alice_id}/endorsements")):
        assert [each["acct"] for each in (await client.get(path)).json()] == ["bob"]
    assert (await alice.post(f"/api/v1/accounts/{bob_id}/unfollow")).json()["endorsed"] is False
    assert (await alice.get("/api/v1/endorsements")).json() == []
    await alice.post(f"/api/v1/accounts/{bob_id}/follow")
    assert (await alice.post(f"/api/v1/accounts/{bob_id}/unpin")).json()["endorsed"] is False


async def test_an_app_chooses_the_language_of_errors(open_api: OpenApi) -> None:
    alice = await open_api("alice")
    english, german = [
        (await alice.post("/api/v1/statuses", status="", lang=lang)).json()["error"] for lang in ("en", "de")
    ]
    assert english != german
