"""The page of a post in a thread: its ancestors, its replies, and unavailable posts."""

import re

import pytest


@pytest.fixture
async def thread(alice, bob) -> list[dict]:
    """A post of Alice's, two replies, a reply to the first reply, and a reply to that."""
    first = await alice.publish("first")
    one = await bob.publish("one", in_reply_to=first["id"])
    two = await bob.publish("two", in_reply_to=first["id"])
    below = await alice.publish("below one", in_reply_to=one["id"])
    return [first, one, two, below, await bob.publish("below that", in_reply_to=below["id"])]


def levels(html: str) -> list[tuple[int, str]]:
    """Return (aria-level, post id or "" if the post is unavailable) of each reply."""
    items = re.findall(r'<li class="depth-\d" aria-level="(\d+)">(.*?)</li>', html, re.S)
    return [
        (int(level), found[1] if (found := re.search(r'data-post-id="(\d+)"', item)) else "") for level, item in items
    ]


async def test_the_thread_in_json_has_depths_and_ancestors(alice, thread):
    first, one, two, below, last = thread
    page = (await alice.get_json(first["url"])).json()
    assert [(each["id"], each["depth"]) for each in page["replies"]] == [
        (one["id"], 1), (below["id"], 2), (last["id"], 3), (two["id"], 1)
    ]  # fmt: skip
    assert (page["ancestors"], page["parent"], page["next"]) == ([], None, None)
    assert page["counts"]["replies"] == 2
    page = (await alice.get_json(below["url"])).json()
    assert [each["id"] for each in page["ancestors"]] == [first["id"], one["id"]]
    assert page["parent"]["id"] == one["id"]
    assert [(each["id"], each["depth"]) for each in page["replies"]] == [(last["id"], 1)]


async def test_the_pages_of_a_thread_link_to_each_other(alice, thread):
    first, one, two, below, last = thread
    read, path = [], f"{first['url']}?limit=1"
    while path:
        page = (await alice.get_json(path)).json()
        read += [each["id"] for each in page["replies"]]
        path = page["next"]
    assert read == [each["id"] for each in (one, below, last, two)]


async def test_a_threads_page_shows_levels_and_ancestors(alice, thread):
    first, one, two, below, last = thread
    html = (await alice.get(first["url"])).text
    assert levels(html) == [(1, one["id"]), (2, below["id"]), (3, last["id"]), (1, two["id"])]
    html = (await alice.get(last["url"])).text
    assert re.findall(r'data-post-id="(\d+)"', html) == [first["id"], one["id"], below["id"], last["id"]]
    assert 'aria-current="true"' in html


async def test_a_deleted_post_keeps_its_place_while_it_has_replies(alice, bob, thread):
    first, one, two, below, last = thread
    await bob.post_json(f"/posts/{one['id']}/delete/")
    html = (await alice.get(first["url"])).text
    assert levels(html) == [(1, ""), (2, below["id"]), (3, last["id"]), (1, two["id"])]
    assert "This post is not available." in html
    page = (await alice.get_json(first["url"])).json()
    assert [each["id"] for each in page["replies"]] == [below["id"], last["id"], two["id"]]
    assert page["counts"]["replies"] == 1
    page = (await alice.get_json(below["url"])).json()
    assert ([each["id"] for each in page["ancestors"]], page["parent"]) == ([first["id"]], None)
    await bob.post_json(f"/posts/{two['id']}/delete/")
    assert levels((await alice.get(first["url"])).text) == [(1, ""), (2, below["id"]), (3, last["id"])]


async def test_a_page_with_many_ancestors_links_to_the_first_that_it_shows(alice):
    posts = [await alice.publish("0")]
    for number in range(1, 23):
        posts.append(await alice.publish(str(number), in_reply_to=posts[-1]["id"]))
    html = (await alice.get(posts[-1]["url"])).text
    assert "Show earlier posts" in html
    assert f'<a href="{posts[2]["url"]}"><svg' in html
    assert "Show earlier posts" not in (await alice.get(posts[20]["url"])).text
