"""Markers, jumps to a day, and suggestions for readers who follow few accounts."""

import re

import pytest

from socialsite.ids import id_at


async def test_the_marker_is_saved_and_shown_between_new_and_read_posts(alice):
    posts = [await alice.publish(f"{number}") for number in range(4)]
    html = (await alice.get("/")).text
    assert 'class="here"' not in html
    assert "data-place" in html
    answer = await alice.post_json("/positions/", timeline="home", post=posts[1]["id"])
    assert (answer.status_code, answer.json()) == (200, {"timeline": "home", "post": posts[1]["id"]})
    html = (await alice.get("/")).text
    entries = re.findall(r'data-post-id="(\d+)"|class="(here)"', html)
    assert ["".join(each) for each in entries] == [
        posts[3]["id"],
        posts[2]["id"],
        "here",
        posts[1]["id"],
        posts[0]["id"],
    ]
    answer = await alice.post_json("/positions/", timeline="home", post=posts[0]["id"])
    assert answer.json()["post"] == posts[1]["id"]
    answer = await alice.post_json("/positions/", timeline="home", post=posts[0]["id"], back="1")
    assert answer.json()["post"] == posts[0]["id"]
    await alice.post_json("/positions/", timeline="home", post=posts[3]["id"])
    assert 'class="here"' not in (await alice.get("/")).text


async def test_a_page_links_to_a_marker_far_below(alice):
    posts = [await alice.publish(f"{number}") for number in range(5)]
    await alice.post_json("/positions/", timeline="public", post=posts[0]["id"])
    html = (await alice.get("/public/?limit=2")).text
    assert re.search(r'href="([^"]+)">[^/]*/>?.*?Jump to where I stopped', html, re.S)
    path = re.findall(r'href="(/public/[^"]*before[^"]*)"', html)[0].replace("&amp;", "&")
    assert await alice.post_ids(path) == [posts[0]["id"]]
    assert "Jump to where I stopped" not in (await alice.get("/public/")).text


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"timeline": "home", "post": "x"}, 400),
        ({"timeline": "home"}, 400),
        ({"timeline": "profile:bob", "post": "5"}, 404),
        ({"timeline": "", "post": "5"}, 404),
    ],
)
async def test_an_invalid_marker_is_refused(alice, fields, status):
    assert (await alice.post_json("/positions/", **fields)).status_code == status


async def test_markers_and_preferences_require_a_log_in(visitor):
    for path in ("/positions/", "/preferences/"):
        assert (await visitor.post_json(path, timeline="home", post="5", scroll="on")).status_code == 401
    assert (await visitor.get_json("/accounts/suggestions/")).status_code == 401
    assert "data-place" not in (await visitor.get("/public/")).text


async def test_automatic_loading_can_be_turned_off(alice):
    await alice.publish("words")

    async def is_on() -> bool:
        return '<input type="checkbox" checked> Load older posts' in (await alice.get("/")).text

    assert await is_on()
    answer = await alice.post("/preferences/", scroll="off")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert not await is_on()
    assert (await alice.post_json("/preferences/", scroll="on")).json() == {"scroll": "on"}
    assert await is_on()
    assert (await alice.post_json("/preferences/", scroll="perhaps")).status_code == 400


@pytest.mark.parametrize("path", ["/", "/public/", "/@alice/", "/tags/words/"])
async def test_a_date_leads_to_the_last_posts_of_that_day(alice, path):
    await alice.publish("#words")
    answer = await alice.get(f"{path}?date=2020-02-29")
    end = id_at(1_583_020_800_000)  # 2020-03-01T00:00Z
    assert (answer.status_code, answer.headers["location"]) == (303, f"{path}?before={end}")
    answer = await alice.get(f"{path}?date=2026-11-20&limit=5")
    assert answer.headers["location"].endswith("&limit=5")
    for text in ("", "yesterday", "2020-02-30", "20200230", "0000-01-01"):
        assert (await alice.get(f"{path}?date={text}")).status_code == 400
    for text in ("0001-01-01", "9999-12-31", "2999-01-01"):
        location = (await alice.get(f"{path}?date={text}")).headers.get("location")
        if location is not None:
            assert (await alice.get(location)).status_code == 200


async def test_a_reader_who_follows_few_accounts_gets_suggestions_of_followed_accounts(alice, bob, world):
    await world.person("carol")
    await alice.post_json("/@bob/follow/")
    await bob.post_json("/@carol/follow/")
    page = (await alice.get_json("/accounts/suggestions/")).json()
    assert [each["handle"] for each in page["accounts"]] == ["carol"]
    assert [each["handle"] for each in page["accounts"][0]["known"]] == ["bob"]
    html = (await alice.get("/")).text
    assert "Who to follow" in html
    assert 'data-follow="carol"' in html
    await alice.post_json("/@carol/follow/")
    assert (await alice.get_json("/accounts/suggestions/")).json()["accounts"] == []
    html = (await alice.get("/accounts/suggestions/")).text
    assert "Who to follow" in html
