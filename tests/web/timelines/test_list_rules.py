"""Rules of lists on their pages: exclusive lists, replies policies, and lists made of other lists."""

import re

import pytest


@pytest.fixture
async def lists(alice, bob, open_browser, world) -> list[str]:
    """The paths of Alice's lists: one with Bob and Carol, one with Carol and Dave."""
    for handle in ("carol", "dave"):
        await world.person(handle)
    paths = []
    for title, handles in (("One", ("bob", "carol")), ("Two", ("carol", "dave"))):
        made = (await alice.post_json("/lists/", title=title)).json()
        paths.append(f"/lists/{made['id']}/")
        for handle in handles:
            await alice.post_json(f"{paths[-1]}members/", handle=handle)
    return paths


def on(page: dict) -> set[str]:
    return {each["handle"] for each in page["members"]["accounts"]}


async def test_lists_are_made_of_lists_by_form_and_by_json(alice, lists):
    made = await alice.post("/lists/", **{"title": "Both", "first": "1", "operation": "union", "part-2": "1"})
    assert (made.status_code, made.headers["location"]) == (303, "/lists/3/")
    page = (await alice.get_json("/lists/3/")).json()
    assert on(page) == {"bob", "carol", "dave"}
    assert page["list"] == {
        "id": "3", "title": "Both", "members": 3, "replies": "all", "exclusive": False,
        "operation": "union", "parts": ["1", "2"], "missing": [],
    }  # fmt: skip
    made = await alice.post_json("/lists/", title="Common", operation="intersection", parts="1, 2")
    assert (made.status_code, made.json()["members"]) == (201, 1)
    edited = await alice.post_json("/lists/4/edit/", operation="difference")
    assert (edited.json()["parts"], edited.json()["title"]) == (["1", "2"], "Common")
    assert on((await alice.get_json("/lists/4/")).json()) == {"bob"}
    edited = await alice.post("/lists/4/edit/", **{"title": "Other", "first": "2", "part-1": "1"})
    assert edited.status_code == 303
    assert on((await alice.get_json("/lists/4/")).json()) == {"dave"}
    html = (await alice.get("/lists/4/")).text
    assert '<option value="2" selected>Two' in html
    assert re.search(r'name="part-1" value="1" checked', html)
    assert "members/remove/" not in html
    assert "combined list" in (await alice.get("/lists/")).text


async def test_members_of_a_virtual_list_are_paged(alice, lists, world, site):
    for number in range(35):
        await world.person(f"more{number}")
        await alice.post_json("/lists/1/members/", handle=f"more{number}")
    await alice.post_json("/lists/", title="Both", operation="union", parts="1 2")
    handles, path = [], "/lists/3/"
    while path:
        page = (await alice.get_json(path)).json()
        handles += [each["handle"] for each in page["members"]["accounts"]]
        path = page["members"]["next"]
    assert len(handles) == len(set(handles)) == 38


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"operation": "union", "parts": "1"}, "parts"),
        ({"operation": "union", "parts": "1 99"}, "parts"),
        ({"operation": "union", "parts": "x"}, "parts"),
        ({"operation": "union", "parts": "1 1"}, "parts"),
        ({"operation": "union"}, "parts"),
        ({"operation": "sum", "parts": "1 2"}, "operation"),
    ],
)
async def test_an_impossible_virtual_list_is_refused_beside_the_form(alice, lists, fields, wrong):
    answer = await alice.post_json("/lists/", title="Both", **fields)
    assert (answer.status_code, list(answer.json()["fields"])) == (422, [wrong])
    answer = await alice.post("/lists/", title="My own title", **fields)
    assert answer.status_code == 422
    assert 'class="error"' in answer.text
    assert 'value="My own title"' in answer.text


async def test_a_refused_virtual_list_keeps_the_chosen_parts(alice, lists):
    chosen = {"first": "2", "operation": "difference", "part-1": "1"}
    page = (await alice.post("/lists/", title="", **chosen)).text
    assert '<option value="2" selected>' in page
    assert '<option value="difference" selected>' in page
    assert 'name="part-1" value="1" checked' in page
    assert 'name="part-2" value="1" checked' not in page
    await alice.post_json("/lists/", title="Both", operation="union", parts="1 2")
    page = (await alice.post("/lists/3/edit/", title="", replies="none", **chosen)).text
    assert '<option value="2" selected>' in page
    assert '<option value="difference" selected>' in page
    assert 'name="part-1" value="1" checked' in page
    assert '<option value="none" selected>' in page
    page = (await alice.post("/lists/1/edit/", title="", exclusive="1")).text
    assert re.search(r'name="exclusive" value="1"[^>]* checked', page)


async def test_a_list_over_the_cap_is_refused_with_its_title(alice, site, monkeypatch):
    monkeypatch.setattr(site.lists, "lists_cap", 0)
    answer = await alice.post("/lists/", title="My own title")
    assert answer.status_code == 409
    assert 'value="My own title"' in answer.text
    assert "as many lists as this site allows" in answer.text
    assert (await alice.post_json("/lists/", title="Mine")).json()["error"] == "lists_cap"


async def test_a_list_made_of_itself_is_refused_and_a_deleted_part_is_shown(alice, lists):
    await alice.post_json("/lists/", title="Both", operation="union", parts="1 2")
    answer = await alice.post_json("/lists/3/edit/", parts="1 3")
    assert (answer.status_code, answer.json()["fields"]) == (422, {"parts": "A list cannot combine itself."})
    await alice.post_json("/lists/2/delete/")
    page = (await alice.get_json("/lists/3/")).json()
    assert (page["list"]["missing"], on(page)) == (["2"], {"bob", "carol"})
    assert "was deleted" in (await alice.get("/lists/3/")).text
    for action in ("members/", "members/remove/"):
        answer = await alice.post_json(f"/lists/3/{action}", handle="bob")
        assert (answer.status_code, answer.json()["error"]) == (409, "virtual_list")


async def test_posts_of_an_exclusive_lists_members_appear_only_there(alice, bob, lists, world):
    await alice.post_json("/@bob/follow/")
    post = await bob.publish("not at home")
    await world.deliver_all()
    assert await alice.post_ids("/") == [post["id"]]
    answer = await alice.post("/lists/1/edit/", title="One", replies="all", exclusive="1")
    assert answer.status_code == 303
    assert await alice.post_ids("/") == []
    page = (await alice.get_json("/lists/1/")).json()
    assert ([each["id"] for each in page["posts"]], page["list"]["exclusive"]) == ([post["id"]], True)
    await alice.post_json("/lists/1/edit/", title="Renamed")
    assert await alice.post_ids("/") == []
    assert (await alice.post_json("/lists/1/edit/", exclusive="0")).json()["exclusive"] is False
    assert await alice.post_ids("/") == [post["id"]]


async def test_a_list_shows_replies_according_to_its_policy(alice, bob, lists, world):
    outside = await alice.publish("outside")
    stranger = await world.person("erin")
    strange = await stranger.publishes("strange")
    assert (await alice.get_json("/@carol/")).status_code == 200
    own = await bob.publish("to me", in_reply_to=outside["id"])
    reply_to_stranger = await bob.publish("to a stranger", in_reply_to=str(strange.id))
    await world.deliver_all()
    assert await alice.post_ids("/lists/1/") == [reply_to_stranger["id"], own["id"]]
    for replies in ("none", "members", "followed"):
        assert (await alice.post_json("/lists/1/edit/", replies=replies)).json()["replies"] == replies
        assert await alice.post_ids("/lists/1/") == [own["id"]]
    await alice.post_json("/@erin/follow/")
    assert await alice.post_ids("/lists/1/") == [reply_to_stranger["id"], own["id"]]
    assert (await alice.post_json("/lists/1/edit/", replies="some")).status_code == 422
