"""Keyword filters in the API."""

import pytest

from tests.support.world import Person
from tests.web.api.conftest import OpenApi
from timelines.posts.post import FOLLOWERS, PostDetails


async def test_a_filter_has_keywords_contexts_and_an_end(site, world, open_api: OpenApi) -> None:
    alice, bob = await world.people("alice", "bob")
    await alice.follows(bob)
    api = await open_api("alice")
    made = await api.post(
        "/api/v2/filters",
        title="Noise",
        context=["home"],
        filter_action="warn",
        expires_in=3600,
        keywords_attributes=[{"keyword": "spam", "whole_word": True}, {"keyword": "egg", "whole_word": False}],
    )
    stored = made.json()
    assert (stored["title"], stored["context"], stored["filter_action"]) == ("Noise", ["home"], "warn")
    assert [(each["keyword"], each["whole_word"]) for each in stored["keywords"]] == [("spam", True), ("egg", False)]
    assert stored["expires_at"] is not None
    assert stored["statuses"] == []
    assert (await api.get("/api/v2/filters")).json() == [stored]
    post = await bob.publishes("many eggs")
    await world.deliver_all()
    (status,) = (await api.get("/api/v1/timelines/home")).json()
    (result,) = status["filtered"]
    assert (result["filter"]["id"], result["keyword_matches"]) == (stored["id"], ["egg"])
    (status,) = (await api.get("/api/v1/timelines/public")).json()
    assert (status["id"], status["filtered"]) == (str(post.id), [result]), "the client compares the contexts"


@pytest.mark.parametrize("path", ["/api/v1/filters", "/api/v2/filters"])
@pytest.mark.parametrize("end", [None, "", 0])
async def test_an_edit_removes_the_end_of_a_filter(world, open_api: OpenApi, path: str, end: object) -> None:
    """Apps send null for a filter that never ends (mastodon/mastodon#15849)."""
    api = await open_api("alice")
    made = (await api.post(path, title="x", phrase="x", context=["home"], expires_in=3600)).json()
    assert made["expires_at"] is not None
    kept = await api.http.put(f"{path}/{made['id']}", json={"title": "x", "phrase": "x", "context": ["home"]})
    assert kept.json()["expires_at"] == made["expires_at"]
    edited = await api.http.put(f"{path}/{made['id']}", json={"context": ["home"], "expires_in": end})
    assert edited.json()["expires_at"] is None


@pytest.mark.parametrize("action", ["warn", "hide", "blur"])
@pytest.mark.parametrize("context", ["home", "thread", "notifications", "account"])
async def test_a_post_has_the_same_filters_at_every_address(site, world, open_api: OpenApi, context, action) -> None:
    """A client puts the answer of an action in the place of the post, which must not uncover it."""
    _alice, bob, carol = await world.people("alice", "bob", "carol")
    api = await open_api("alice")
    for title, words in (("Animals", ["tiger", "soup", "lion"]), ("Food", ["soup"])):
        keywords = [{"keyword": word} for word in words]
        fields = {"title": title, "context": [context], "filter_action": action, "keywords_attributes": keywords}
        await api.post("/api/v2/filters", **fields)
    post = await bob.publishes("tiger soup")
    quote = await carol.publishes("look", details=PostDetails(quote_of=post.id))
    await world.deliver_all()
    url = f"/api/v1/statuses/{post.id}"
    actions = ("favourite", "bookmark", "mute", "reblog", "unmute", "unreblog")
    statuses = [(await api.post(f"{url}/{name}")).json() for name in actions]
    statuses += [statuses[3]["reblog"], (await api.get(url)).json()]
    lists = f"/api/v1/statuses?id[]={post.id}", "/api/v1/bookmarks", "/api/v1/favourites", "/api/v1/timelines/public"
    for path in lists:
        statuses += [each for each in (await api.get(path)).json() if each["id"] == str(post.id)]
    seen = (await api.get(f"/api/v1/statuses/{quote.id}")).json()["quote"]
    assert seen["state"] == "accepted"
    statuses.append(seen["quoted_status"])
    assert len(statuses) == 13
    for status in statuses:
        found = {each["filter"]["title"]: each["keyword_matches"] for each in status["filtered"]}
        assert found == {"Animals": ["tiger", "soup"], "Food": ["soup"]}, status
        assert {each["filter"]["filter_action"] for each in status["filtered"]} == {action}


async def test_a_filter_is_edited_by_its_owner_only(site, world, open_api: OpenApi) -> None:
    alice, bob = await world.people("alice", "bob")
    await alice.follows(bob)
    await bob.publishes("many eggs")
    await world.deliver_all()
    api, other = await open_api("alice"), await open_api("bob")
    keywords = [{"keyword": "spam", "whole_word": True}, {"keyword": "egg", "whole_word": False}]
    made = await api.post(
        "/api/v2/filters", title="Noise", context=["home"], expires_in=3600, keywords_attributes=keywords
    )
    stored = made.json()
    url = f"/api/v2/filters/{stored['id']}"
    edited = await api.http.put(
        url,
        data={
            "title": "More noise",
            "filter_action": "hide",
            "keywords_attributes[0][id]": stored["keywords"][0]["id"],
            "keywords_attributes[0][_destroy]": "true",
            "keywords_attributes[1][keyword]": "bacon",
        },
    )
    assert [each["keyword"] for each in edited.json()["keywords"]] == ["egg", "bacon"]
    assert edited.json()["context"] == ["home"]
    assert edited.json()["expires_at"] == stored["expires_at"]
    assert (await api.get("/api/v1/timelines/home")).json() == []
    keyword = (await api.post(f"{url}/keywords", keyword="tofu", whole_word=True)).json()
    keyword_url = f"/api/v2/filters/keywords/{keyword['id']}"
    assert (await api.http.put(keyword_url, json={"keyword": "seitan"})).json() == keyword | {"keyword": "seitan"}
    assert len((await api.get(f"{url}/keywords")).json()) == 3
    assert (await api.http.delete(keyword_url)).json() == {}
    for path in (url, f"{url}/keywords", keyword_url, f"/api/v1/filters/{stored['keywords'][1]['id']}"):
        assert (await other.get(path)).status_code == 404
    assert (await api.post("/api/v2/filters", title="x", context=["moon"])).status_code == 422
    assert (await api.http.delete(url)).json() == {}
    assert (await api.get("/api/v2/filters")).json() == (await api.get("/api/v1/filters")).json() == []


async def test_a_filter_hides_a_single_post_and_its_boosts(site, world, open_api: OpenApi, alice) -> None:
    bob, carol = await world.people("bob", "carol")
    await Person(site, await site.accounts.get_by_handle("alice")).follows(carol)
    post, secret = await bob.publishes("many eggs"), await bob.publishes("hidden", audience=FOLLOWERS)
    await site.reactions.boost(account_id=carol.id, post_id=post.id, now_ms=site.clock.now_ms())
    await world.deliver_all()
    api, other = await open_api("alice"), await open_api("bob")
    keywords = [{"keyword": "spam"}]
    made = (await api.post("/api/v2/filters", title="", context=["home"], keywords_attributes=keywords)).json()
    url = f"/api/v2/filters/{made['id']}"
    added = (await api.post(f"{url}/statuses", status_id=str(post.id))).json()
    assert added["status_id"] == str(post.id)
    assert (await api.post(f"{url}/statuses", status_id=str(post.id))).json() == added, "no second filter of the post"
    for refused, status in ((str(secret.id), 404), ("x", 422), ("", 422)):
        assert (await api.post(f"{url}/statuses", status_id=refused)).status_code == status
    assert (await other.post(f"{url}/statuses", status_id=str(post.id))).status_code == 404
    (boost,) = (await api.get("/api/v1/timelines/home")).json()
    (result,) = boost["filtered"]
    assert (result["filter"]["id"], result["keyword_matches"], result["status_matches"]) == (
        made["id"], None, [str(post.id)],
    )  # fmt: skip
    stored = (await api.get(url)).json()
    assert ([each["keyword"] for each in stored["keywords"]], stored["statuses"]) == (["spam"], [added])
    status_url = f"/api/v2/filters/statuses/{added['id']}"
    assert (await api.get(status_url)).json() == added
    assert (await api.get(f"{url}/statuses")).json() == [added]
    assert (await api.get(f"/api/v2/filters/keywords/{added['id']}")).status_code == 404
    assert len((await api.get("/api/v1/filters")).json()) == 1
    assert (await api.http.put(url, json={"filter_action": "hide", "title": "Eggs"})).json()["statuses"] == [added]
    assert (await api.get("/api/v1/timelines/home")).json() == []
    assert f'href="/@bob/{post.id}/"' in (await alice.get("/accounts/filters/")).text
    assert (await api.http.delete(status_url)).json() == {}
    assert (await api.get(status_url)).status_code == 404
    assert len((await api.get("/api/v1/timelines/home")).json()) == 1


async def test_a_filter_may_begin_without_keywords(site, world, open_api: OpenApi, alice) -> None:
    post = await (await world.person("bob")).publishes("many eggs")
    api = await open_api("alice")
    assert (await api.post("/api/v2/filters", title="", context=["public"])).status_code == 422
    made = (await api.post("/api/v2/filters", title="Later", context=["public"])).json()
    assert (made["title"], made["keywords"], made["statuses"]) == ("Later", [], [])
    (status,) = (await api.get("/api/v1/timelines/public")).json()
    assert status["filtered"] == []
    url = f"/api/v2/filters/{made['id']}"
    await api.post(f"{url}/statuses", status_id=str(post.id))
    await api.post(f"{url}/keywords", keyword="spam")
    stored = (await api.http.put(url, json={"title": "Now"})).json()
    assert [each["keyword"] for each in stored["keywords"]] == ["spam"]
    assert [each["status_id"] for each in stored["statuses"]] == [str(post.id)]
    (status,) = (await api.get("/api/v1/timelines/public")).json()
    assert status["filtered"][0]["filter"]["title"] == "Now"
    assert (await api.get("/api/v1/filters")).json()[0]["phrase"] == "spam"
    assert "Now" in (await alice.get("/accounts/filters/")).text


async def test_a_filter_of_version_one_hides_only_in_its_context(site, world, open_api: OpenApi) -> None:
    alice, bob = await world.people("alice", "bob")
    await alice.follows(bob)
    await bob.publishes("@alice about anime")
    await world.deliver_all()
    api = await open_api("alice")
    data = {"phrase": "anime", "context[]": "notifications", "irreversible": "True", "whole_word": "False"}
    made = (await api.http.post("/api/v1/filters", data=data)).json()
    assert (made["phrase"], made["context"], made["irreversible"], made["whole_word"]) == (
        "anime", ["notifications"], True, False,
    )  # fmt: skip
    assert len((await api.get("/api/v1/timelines/home")).json()) == 1
    assert (await api.get("/api/v1/notifications")).json() == []
    url = f"/api/v1/filters/{made['id']}"
    changed = (await api.http.put(url, json={"phrase": "manga", "context": ["home"]})).json()
    assert (changed["phrase"], changed["irreversible"]) == ("manga", True)
    assert (await api.http.delete(url)).status_code == 200
    assert (await api.get(url)).status_code == 404


async def test_an_edit_on_the_settings_page_keeps_group_and_contexts(site, world, open_api: OpenApi) -> None:
    alice = await world.person("alice")
    api = await open_api("alice")
    keywords = [{"keyword": "one"}, {"keyword": "two"}]
    made = (await api.post("/api/v2/filters", title="T", context=["thread"], keywords_attributes=keywords)).json()
    number = int(made["keywords"][0]["id"])
    await site.filters.edit(
        account_id=alice.id, number=number, phrase="three", action="warn", until_ms=None, whole_word=False
    )
    stored = (await api.get(f"/api/v2/filters/{made['id']}")).json()
    assert (stored["title"], stored["context"]) == ("T", ["thread"])
    assert [each["keyword"] for each in stored["keywords"]] == ["three", "two"]
