"""Lists are created, read and edited by their owner, and hidden from others."""

import pytest


@pytest.fixture
async def friends(alice, bob) -> str:
    """Create a list of Alice's with Bob on it; return its path."""
    made = await alice.post_json("/lists/", title="Friends")
    path = f"/lists/{made.json()['id']}/"
    await alice.post_json(f"{path}members/", handle="bob")
    return path


async def test_the_answer_to_a_created_list_has_the_documented_fields(alice):
    answer = await alice.post_json("/lists/", title="Friends")
    made = answer.json()
    assert (answer.status_code, made["id"], made["title"], made["members"]) == (201, "1", "Friends", 0)
    answer = await alice.post("/lists/", title="News")
    assert (answer.status_code, answer.headers["location"]) == (303, "/lists/2/")
    index = (await alice.get_json("/lists/")).json()
    assert [each["title"] for each in index["lists"]] == ["Friends", "News"]
    assert index["next"] is None
    assert "News" in (await alice.get("/lists/")).text


async def test_lists_are_paged(alice):
    for number in range(3):
        await alice.post_json("/lists/", title=f"list {number}")
    first = (await alice.get_json("/lists/?limit=2")).json()
    assert [each["title"] for each in first["lists"]] == ["list 0", "list 1"]
    rest = (await alice.get_json(first["next"])).json()
    assert ([each["title"] for each in rest["lists"]], rest["next"]) == (["list 2"], None)
    assert (await alice.get_json("/lists/?cursor=x")).status_code == 400


async def test_a_list_shows_its_members_posts_and_its_members(alice, bob, friends, world):
    post = await bob.publish("from bob")
    await alice.publish("from alice")
    await world.deliver_all()
    page = (await alice.get_json(friends)).json()
    assert [each["id"] for each in page["posts"]] == [post["id"]]
    assert (page["list"]["id"], page["list"]["title"], page["list"]["members"]) == ("1", "Friends", 1)
    assert [each["handle"] for each in page["members"]["accounts"]] == ["bob"]
    html = (await alice.get(friends)).text
    assert 'data-timeline="list:1"' in html
    assert "from bob" in html


async def test_adding_and_removing_members_return_the_list(alice, bob, friends):
    again = await alice.post_json(f"{friends}members/", handle="@Bob")
    assert (again.status_code, again.json()["members"]) == (200, 1)
    for _ in range(2):
        gone = await alice.post_json(f"{friends}members/remove/", handle="bob")
        assert (gone.status_code, gone.json()["members"]) == (200, 0)
    back = await alice.post(f"{friends}members/", handle="bob")
    assert (back.status_code, back.headers["location"]) == (303, friends)


async def test_an_unknown_member_is_refused_beside_the_form(alice, friends):
    answer = await alice.post(f"{friends}members/", handle="nobody")
    assert answer.status_code == 404
    assert 'value="nobody"' in answer.text
    assert "does not exist" in answer.text
    assert (await alice.post_json(f"{friends}members/", handle="nobody")).json()["error"] == "not_found"


async def test_a_list_can_be_renamed_and_deleted(alice, friends):
    renamed = await alice.post_json(f"{friends}edit/", title="Old friends")
    assert (renamed.status_code, renamed.json()["title"]) == (200, "Old friends")
    gone = await alice.post_json(f"{friends}delete/")
    again = await alice.post_json(f"{friends}delete/")
    assert (gone.status_code, gone.json()) == (again.status_code, again.json()) == (200, {})
    assert (await alice.get(friends)).status_code == 404
    assert (await alice.get_json("/lists/")).json()["lists"] == []


async def test_a_deletion_by_form_redirects_to_the_lists(alice, friends):
    answer = await alice.post(f"{friends}delete/")
    assert (answer.status_code, answer.headers["location"]) == (303, "/lists/")


@pytest.mark.parametrize("title", ["", "  ", "a" * 51, "two\nlines"])
async def test_an_invalid_title_is_refused_beside_the_form(alice, friends, title):
    for path in ("/lists/", f"{friends}edit/"):
        answer = await alice.post(path, title=title)
        assert answer.status_code == 422
        assert "A title is one line" in answer.text
        answer = await alice.post_json(path, title=title)
        assert (answer.status_code, list(answer.json()["fields"])) == (422, ["title"])


async def test_a_list_is_visible_only_to_its_owner(bob, visitor, friends):
    assert (await visitor.get(friends)).headers["location"] == "/accounts/login/?next=%2Flists%2F1%2F"
    assert (await visitor.get_json(friends)).status_code == 401
    assert (await bob.get(friends)).status_code == 404
    for action in ("edit/", "delete/", "members/", "members/remove/"):
        answer = await bob.post_json(friends + action, title="Mine", handle="bob")
        assert (answer.status_code, answer.json()["error"]) == (404, "not_found")


@pytest.mark.parametrize(("action", "field"), [("edit", "title"), ("members", "handle")])
async def test_a_refused_form_is_on_the_lists_page_with_links_to_that_page(alice, bob, friends, world, action, field):
    """The address of the action answers only POST, so no link of the page may lead there."""
    for number in range(31):
        await bob.publish(f"post {number}")
    await world.deliver_all()
    page = (await alice.post(f"{friends}{action}/", **{field: ""})).text
    assert f'href="{friends}?before=' in page
    assert f'action="{friends}"' in page
    assert f'name="next" value="{friends}"' in page
    assert f'href="{friends}{action}/' not in page
