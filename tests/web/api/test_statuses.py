"""Posts in the API: publishing, editing and deleting, reactions, threads, polls and scheduled posts."""

from datetime import UTC, datetime, timedelta

import pytest

from socialsite.container import Services
from tests.support.world import World
from tests.web.api.conftest import OpenApi

STATUSES = "/api/v1/statuses"


async def test_a_post_has_its_fields_and_one_id_for_an_idempotency_key(open_api: OpenApi) -> None:
    alice = await open_api("alice")
    fields = {"status": "hello @alice #Cats", "spoiler_text": "cw", "visibility": "private", "language": "de"}
    first = await alice.http.post(STATUSES, json=fields, headers={"Idempotency-Key": "k"})
    assert first.status_code == 200, first.text
    status = first.json()
    assert (status["spoiler_text"], status["visibility"], status["language"]) == ("cw", "private", "de")
    assert [each["acct"] for each in status["mentions"]] == ["alice"]
    assert [each["name"] for each in status["tags"]] == ["cats"]
    assert (status["account"]["acct"], status["account"]["statuses_count"]) == ("alice", 1)
    again = await alice.http.post(STATUSES, data=fields, headers={"Idempotency-Key": "k"})
    assert again.json()["id"] == status["id"]


async def test_a_mention_with_the_host_of_the_site_notifies_and_is_an_entity(open_api: OpenApi, world: World) -> None:
    alice, bob = await open_api("alice"), await open_api("bob")
    status = (await alice.post(STATUSES, status="tea, @bob@localhost? Not @bob@elsewhere.example")).json()
    assert [each["acct"] for each in status["mentions"]] == ["bob"]
    assert status["content"].count("/@bob") == 1
    await world.deliver_all()
    notifications = (await bob.get("/api/v1/notifications")).json()
    assert [(each["type"], each["status"]["id"]) for each in notifications] == [("mention", status["id"])]


async def test_a_client_gets_an_error_with_unexpected_mentions(open_api: OpenApi, world: World) -> None:
    """mastodon/mastodon#18350: nothing is published and nobody notified, so that the client can ask first."""
    alice, bob, _carol = clients = [await open_api(handle) for handle in ("alice", "bob", "carol")]
    own = [await client.get("/api/v1/accounts/verify_credentials") for client in clients]
    me, bob_id, carol_id = [each.json()["id"] for each in own]
    text = "@Bob, @carol@localhost, @nobody and I, @alice"
    later = {"scheduled_at": "2099-01-01T00:00:00Z"}
    for body, unexpected in (
        ({"json": {"status": text, "allowed_mentions": []}}, {bob_id, carol_id}),
        ({"json": {"status": text, "allowed_mentions": [], **later}}, {bob_id, carol_id}),
        ({"json": {"status": text, "allowed_mentions": [int(bob_id)]}}, {carol_id}),
        ({"data": {"status": text, "allowed_mentions[]": ""}}, {bob_id, carol_id}),
        ({"data": {"status": text, "allowed_mentions[]": [me, carol_id]}}, {bob_id}),
    ):
        answer = await alice.http.post(STATUSES, **body)
        assert (answer.status_code, "error" in answer.json()) == (422, True), body
        assert {each["id"] for each in answer.json()["unexpected_accounts"]} == unexpected
    await world.deliver_all()
    assert (await bob.get("/api/v1/notifications")).json() == []
    assert (await alice.get(f"/api/v1/accounts/{me}/statuses")).json() == []
    for fields in ({"allowed_mentions": [bob_id, carol_id, "x"]}, {"status": "no mention", "allowed_mentions": []}, {}):
        assert (await alice.http.post(STATUSES, json={"status": text, **fields})).status_code == 200


async def test_a_language_that_the_site_does_not_know_is_ignored(open_api: OpenApi) -> None:
    """Apps send the language of the device, such as Filipino, or Klingon."""
    alice = await open_api("alice")
    for sent, stored in (("tlh", None), ("fil", "tl"), ("yue-Hant-HK", "zh"), ("zh-TW", "zh")):
        status = await alice.post(STATUSES, status=f"in {sent}", language=sent)
        assert (status.status_code, status.json()["language"]) == (200, stored)
    edited = await alice.http.put(f"{STATUSES}/{status.json()['id']}", json={"status": "edited", "language": "tlh"})
    assert edited.json()["language"] == "zh"


async def test_a_direct_post_and_an_empty_post_are_refused(open_api: OpenApi) -> None:
    alice = await open_api("alice")
    for fields in ({"status": "psst", "visibility": "direct"}, {"status": ""}, {"status": "x", "in_reply_to_id": "9"}):
        answer = await alice.post(STATUSES, **fields)
        assert answer.status_code == 422
        assert answer.json()["error"].startswith("Validation failed: ")
        assert answer.json()["details"]


async def test_clients_write_booleans_in_many_ways(open_api: OpenApi) -> None:
    alice = await open_api("alice")
    for text, is_sensitive in (("True", True), ("1", True), ("true", True), ("False", False), ("0", False)):
        answer = await alice.http.post(STATUSES, data={"status": text, "sensitive": text})
        assert answer.json()["sensitive"] is is_sensitive


async def test_a_version_has_the_links_of_its_post(open_api: OpenApi) -> None:
    alice, _bob = await open_api("alice"), await open_api("bob")
    first = (await alice.post(STATUSES, status="@bob and @nobody #tea")).json()
    url = f"{STATUSES}/{first['id']}"
    second = (await alice.http.put(url, json={"status": "@alice #tea"})).json()
    history = (await alice.get(f"{url}/history")).json()
    assert [each["content"] for each in history] == [first["content"], second["content"]]
    assert "/@bob" in history[0]["content"]


async def test_an_edit_keeps_the_language_and_the_former_version(open_api: OpenApi) -> None:
    alice, visitor = await open_api("alice"), await open_api()
    status = (await alice.post(STATUSES, status="one", spoiler_text="cw", language="en")).json()
    url = f"{STATUSES}/{status['id']}"
    edited = await alice.http.patch(url, data={"status": "two", "spoiler_text": "cw"})
    assert edited.status_code == 200, edited.text
    assert edited.json()["content"] == "<p>two</p>"
    assert (edited.json()["spoiler_text"], edited.json()["language"]) == ("cw", "en")
    assert edited.json()["edited_at"]
    history = (await visitor.get(f"{url}/history")).json()
    assert [version["content"] for version in history] == ["<p>one</p>", "<p>two</p>"]
    assert history[0]["account"]["acct"] == "alice"
    source = (await visitor.get(f"{url}/source")).json()
    assert source == {"id": status["id"], "text": "two", "spoiler_text": "cw"}


async def test_a_deleted_post_returns_its_text(open_api: OpenApi) -> None:
    alice, bob = await open_api("alice"), await open_api("bob")
    url = f"{STATUSES}/{(await alice.post(STATUSES, status='see #this')).json()['id']}"
    assert (await bob.http.delete(url)).status_code == 404
    deleted = await alice.http.delete(url)
    assert (deleted.status_code, deleted.json()["text"]) == (200, "see #this")
    gone = await alice.get(url)
    assert (gone.status_code, gone.json()) == (404, {"error": "Record not found"})


async def test_reactions_answer_with_the_new_counts(open_api: OpenApi) -> None:
    alice, bob = await open_api("alice"), await open_api("bob")
    status_id = (await alice.post(STATUSES, status="hello")).json()["id"]
    url = f"{STATUSES}/{status_id}"
    for action, field, count in (("favourite", "favourited", "favourites_count"), ("bookmark", "bookmarked", None)):
        done = (await bob.post(f"{url}/{action}")).json()
        assert done[field]
        assert count is None or done[count] == 1
        undone = (await bob.post(f"{url}/un{action}")).json()
        assert not undone[field]
        assert count is None or undone[count] == 0
    boost = (await bob.post(f"{url}/reblog")).json()
    assert boost["account"]["acct"] == "bob"
    assert (boost["reblog"]["id"], boost["reblog"]["reblogged"], boost["reblog"]["reblogs_count"]) == (
        status_id, True, 1,
    )  # fmt: skip
    assert [each["acct"] for each in (await alice.get(f"{url}/reblogged_by")).json()] == ["bob"]
    undone = (await bob.post(f"{url}/unreblog")).json()
    assert (undone["id"], undone["reblogged"], undone["reblogs_count"]) == (status_id, False, 0)
    assert (await bob.post(f"{url}/reblog", visibility="private")).status_code == 422
    assert (await alice.post(f"{url}/pin")).json()["pinned"] is True
    assert (await bob.post(f"{url}/pin")).status_code == 422


async def test_a_private_post_is_found_by_no_address(open_api: OpenApi) -> None:
    alice, bob, visitor = await open_api("alice"), await open_api("bob"), await open_api()
    status_id = (await alice.post(STATUSES, status="for followers", visibility="private")).json()["id"]
    for client in (bob, visitor):
        for part in ("", "/context", "/source", "/history", "/reblogged_by", "/favourited_by"):
            assert (await client.get(f"{STATUSES}/{status_id}{part}")).status_code == 404
        assert (await client.get(STATUSES, **{"id[]": status_id})).json() == []
        assert (await client.get(f"/api/v1/polls/{status_id}")).status_code == 404
    for action in ("favourite", "reblog", "bookmark"):
        assert (await bob.post(f"{STATUSES}/{status_id}/{action}")).status_code == 404


async def test_the_context_has_ancestors_and_replies_in_their_order(open_api: OpenApi) -> None:
    alice, bob = await open_api("alice"), await open_api("bob")
    ids = [(await alice.post(STATUSES, status="root")).json()["id"]]
    for number, client in enumerate((bob, alice, bob)):
        answer = await client.post(STATUSES, status=f"reply {number}", in_reply_to_id=ids[-1])
        assert answer.json()["in_reply_to_account_id"]
        ids.append(answer.json()["id"])
    context = (await alice.get(f"{STATUSES}/{ids[2]}/context")).json()
    assert [each["id"] for each in context["ancestors"]] == ids[:2]
    assert [each["id"] for each in context["descendants"]] == ids[3:]


async def test_favourites_and_bookmarks_have_pages(open_api: OpenApi) -> None:
    alice = await open_api("alice")
    ids = [(await alice.post(STATUSES, status=f"{number}")).json()["id"] for number in range(3)]
    for action, index in (("favourite", "favourites"), ("bookmark", "bookmarks")):
        for status_id in ids:
            await alice.post(f"{STATUSES}/{status_id}/{action}")
        first = await alice.get(f"/api/v1/{index}", limit=2)
        assert [each["id"] for each in first.json()] == [ids[2], ids[1]]
        second = await alice.http.get(first.links["next"]["url"])
        assert [each["id"] for each in second.json()] == [ids[0]]
        assert second.links["prev"]["url"].startswith("http://testserver/api/v1/")
        back = await alice.http.get(second.links["prev"]["url"])
        assert [each["id"] for each in back.json()] == [ids[2], ids[1]]


async def test_a_poll_is_voted_once(open_api: OpenApi) -> None:
    alice, bob = await open_api("alice"), await open_api("bob")
    poll = {"options": ["tea", "milk"], "expires_in": 3600, "multiple": False}
    status = (await alice.post(STATUSES, status="?", poll=poll)).json()
    url = f"/api/v1/polls/{status['poll']['id']}"
    assert [each["title"] for each in status["poll"]["options"]] == ["tea", "milk"]
    voted = await bob.http.post(f"{url}/votes", json={"choices": [1]})
    assert voted.status_code == 200, voted.text
    assert (voted.json()["voted"], voted.json()["own_votes"], voted.json()["votes_count"]) == (True, [1], 1)
    for again in (0, 1):
        assert (await bob.post(f"{url}/votes", choices=[again])).status_code == 422
    assert (await bob.get(url)).json()["options"][1]["votes_count"] == 1


async def test_an_edit_removes_and_adds_a_poll_without_its_former_votes(open_api: OpenApi) -> None:
    alice, bob = await open_api("alice"), await open_api("bob")
    poll = {"options": ["tea", "milk"], "expires_in": 3600}
    url = f"{STATUSES}/{(await alice.post(STATUSES, status='?', poll=poll)).json()['id']}"
    votes = f"/api/v1/polls/{url.rpartition('/')[2]}/votes"
    assert (await bob.post(votes, choices=[0])).status_code == 200
    kept = (await alice.http.put(url, json={"status": "1", "poll": poll})).json()
    assert kept["poll"]["options"][0]["votes_count"] == 1
    assert (await alice.http.put(url, json={"status": "2"})).json()["poll"] is None
    assert (await bob.post(votes, choices=[0])).status_code == 404
    added = (await alice.http.put(url, json={"status": "3", "poll": poll})).json()
    assert ([each["votes_count"] for each in added["poll"]["options"]], added["poll"]["voted"]) == ([0, 0], True)
    assert (await bob.post(votes, choices=[1])).json()["options"][1]["votes_count"] == 1


async def test_errors_that_apps_know_have_the_texts_of_mastodon(open_api: OpenApi) -> None:
    alice, bob = await open_api("alice"), await open_api("bob")
    late = await alice.post(STATUSES, status="later", scheduled_at="banana")
    assert (late.status_code, late.json()["error"]) == (422, "Record invalid")
    assert late.json()["details"]["scheduled_at"][0]["description"] == "This is not a date and time."
    poll = {"options": ["tea", "milk"], "expires_in": 3600}
    url = f"/api/v1/polls/{(await alice.post(STATUSES, status='?', poll=poll)).json()['id']}/votes"
    both = await bob.post(url, choices=["0", "1"])
    assert (both.status_code, both.json()["error"]) == (422, "You have already voted on this poll.")
    assert both.json()["details"]["choices"][0]["description"] == "Choose one option only."


async def test_a_scheduled_post_names_the_post_that_it_quotes(open_api: OpenApi) -> None:
    alice = await open_api("alice")
    quoted = (await alice.post(STATUSES, status="first")).json()["id"]
    fields = {"quoted_status_id": quoted, "quote_approval_policy": "nobody"}
    scheduled = await alice.post(STATUSES, status="look", scheduled_at="2099-01-01T00:00:00Z", **fields)
    assert scheduled.status_code == 200, scheduled.text
    assert scheduled.json()["params"].items() >= fields.items()


async def test_a_text_fits_if_it_does_as_apps_count_links(open_api: OpenApi) -> None:
    """Apps count a link as `characters_reserved_per_url`, whatever its length."""
    alice = await open_api("alice")
    fits = "a" * 476 + " https://example.org/" + "b" * 300
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    post = (await alice.post(STATUSES, status=fits)).json()
    assert (await alice.http.put(f"{STATUSES}/{post['id']}", json={"status": fits + "c"})).status_code == 200
    assert (await alice.post(STATUSES, status=fits, scheduled_at=later)).status_code == 200
    assert (await alice.post(STATUSES, status="a" + fits)).status_code == 422


async def test_a_scheduled_post_can_be_moved_and_deleted(open_api: OpenApi, site: Services) -> None:
    alice, bob = await open_api("alice"), await open_api("bob")
    at = datetime.fromtimestamp(site.clock.now_ms() / 1000, UTC) + timedelta(hours=1)
    scheduled = await alice.post(STATUSES, status="later", scheduled_at=at.isoformat(), visibility="unlisted")
    assert scheduled.status_code == 200, scheduled.text
    url = f"/api/v1/scheduled_statuses/{scheduled.json()['id']}"
    params = scheduled.json()["params"]
    assert (params["text"], params["visibility"]) == ("later", "unlisted")
    later = (at + timedelta(hours=1)).isoformat()
    moved = (await alice.http.put(url, json={"scheduled_at": later})).json()
    assert moved["id"] == scheduled.json()["id"]
    assert moved["scheduled_at"] > scheduled.json()["scheduled_at"]
    assert (await bob.get(url)).status_code == 404
    assert [each["id"] for each in (await alice.get("/api/v1/scheduled_statuses")).json()] == [moved["id"]]
    assert (await alice.http.delete(url)).json() == {}
    assert (await alice.get("/api/v1/scheduled_statuses")).json() == []
    assert (await alice.post(STATUSES, status="x", scheduled_at=datetime.now(UTC).isoformat())).status_code == 422


async def test_a_post_is_scheduled_once_for_an_idempotency_key(open_api: OpenApi) -> None:
    alice = await open_api("alice")
    fields, key = {"status": "later", "scheduled_at": "4000-01-01T00:00:00Z"}, {"Idempotency-Key": "k"}
    answers = [await alice.http.post(STATUSES, data=fields, headers=key) for _ in range(2)]
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert (await alice.http.post(STATUSES, data=fields | {"status": "other"}, headers=key)).status_code == 422
    assert (await alice.http.post(STATUSES, data={"status": "now"}, headers=key)).status_code == 422
    assert len((await alice.get("/api/v1/scheduled_statuses")).json()) == 1


async def test_the_number_of_own_posts_is_current(open_api: OpenApi) -> None:
    alice = await open_api("alice")
    first, second = [(await alice.post(STATUSES, status=text)).json() for text in ("one", "two")]
    assert (first["account"]["statuses_count"], second["account"]["statuses_count"]) == (1, 2)
    await alice.http.delete(f"{STATUSES}/{first['id']}")
    assert (await alice.get(f"{STATUSES}/{second['id']}")).json()["account"]["statuses_count"] == 1


async def test_a_quote_contains_the_quoted_post_until_it_is_revoked(open_api: OpenApi) -> None:
    alice, bob = await open_api("alice"), await open_api("bob")
    quoted = (await alice.post(STATUSES, status="quote me @bob")).json()
    assert quoted["quote_approval"] == {"automatic": ["public"], "manual": [], "current_user": "automatic"}
    answer = await bob.post(STATUSES, status="as she says", quoted_status_id=quoted["id"])
    assert answer.status_code == 200, answer.text
    quote = answer.json()
    assert (quote["quote"]["state"], quote["quote"]["quoted_status"]["id"]) == ("accepted", quoted["id"])
    assert quote["quote"]["quoted_status"]["account"]["acct"] == "alice"
    assert [each["acct"] for each in quote["quote"]["quoted_status"]["mentions"]] == ["bob"]
    boost = (await alice.post(f"{STATUSES}/{quote['id']}/reblog")).json()
    assert boost["reblog"]["quote"]["quoted_status"]["id"] == quoted["id"]
    quotes = f"{STATUSES}/{quoted['id']}/quotes"
    assert [each["id"] for each in (await alice.get(quotes)).json()] == [quote["id"]]
    assert (await alice.get(f"{STATUSES}/{quoted['id']}")).json()["quotes_count"] == 1
    assert (await bob.post(f"{quotes}/{quote['id']}/revoke")).status_code == 404
    revoked = await alice.post(f"{quotes}/{quote['id']}/revoke")
    assert revoked.json()["quote"] == {"state": "revoked", "quoted_status": None}
    assert (await alice.get(quotes)).json() == []


async def test_the_author_chooses_who_may_quote(open_api: OpenApi) -> None:
    alice, bob = await open_api("alice"), await open_api("bob")
    status = (await alice.post(STATUSES, status="hello", quote_approval_policy="followers")).json()
    url = f"{STATUSES}/{status['id']}"
    assert (await bob.get(url)).json()["quote_approval"]["current_user"] == "denied"
    (listed,) = (await bob.get("/api/v1/timelines/public")).json()
    assert listed["quote_approval"] == {"automatic": ["followers"], "manual": [], "current_user": "unknown"}
    changed = await alice.http.put(f"{url}/interaction_policy", json={"quote_approval_policy": "public"})
    assert changed.status_code == 200, changed.text
    assert (await bob.get(url)).json()["quote_approval"]["current_user"] == "automatic"
    profile = {"source": {"quote_policy": "nobody"}}
    account = (await alice.http.patch("/api/v1/accounts/update_credentials", json=profile)).json()
    assert account["source"]["quote_policy"] == "nobody"
    other = (await alice.post(STATUSES, status="other")).json()
    assert (await bob.post(STATUSES, status="x", quoted_status_id=other["id"])).status_code == 422


@pytest.mark.parametrize(
    ("method", "path", "fields", "name"),
    [
        ("POST", "/api/v1/statuses", {"status": "hi", "in_reply_to_id": "x"}, "in_reply_to_id"),
        ("POST", "/api/v1/statuses", {"status": "hi", "in_reply_to_id": "7"}, "in_reply_to_id"),
        ("POST", "/api/v1/statuses", {"status": ""}, "text"),
        ("PATCH", "/api/v1/accounts/update_credentials", {"note": "x" * 501}, "note"),
        ("PATCH", "/api/v1/profile", {"note": "x" * 501}, "note"),
        ("PATCH", "/api/v1/profile", {"fields_attributes": [{"name": "", "value": "b"}] * 7}, "fields_attributes"),
        ("PATCH", "/api/v1/profile", {"source": {"language": "xx"}}, "source[language]"),
        ("PATCH", "/api/v1/profile", {"display_name": "x" * 51}, "display_name"),
        (
            "POST", "/api/v2/filters",
            {"title": "a", "context": ["home"], "keywords_attributes": [{"keyword": "x" * 500}]}, "keywords_attributes",
        ),
        ("POST", "/api/v1/filters", {"phrase": "x" * 500, "context": ["home"]}, "phrase"),
        ("POST", "/api/v1/push/subscription", {"subscription": {"endpoint": "x"}}, "subscription[endpoint]"),
    ],
)  # fmt: skip
async def test_an_error_names_the_field_of_the_request(
    open_api: OpenApi, method: str, path: str, fields: dict[str, object], name: str
) -> None:
    api = await open_api("alice")
    answer = await api.http.request(method, path, json=fields)
    assert (answer.status_code, list(answer.json()["details"])) == (422, [name])


async def test_an_error_names_the_picture_of_the_request(open_api: OpenApi) -> None:
    answer = await (await open_api("alice")).http.patch("/api/v1/profile", files={"header": ("a.jpg", b"no picture")})
    assert (answer.status_code, list(answer.json()["details"])) == (422, ["header"])
