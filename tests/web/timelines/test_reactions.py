"""Like, boost and bookmark over HTTP, with exact JSON and with pages that work by forms alone."""

import re
from typing import Any

import pytest

from socialsite.container import Services
from tests.support.browser import HttpBrowser
from tests.support.world import World

ACTS = {"like": "liked", "boost": "boosted", "bookmark": "bookmarked"}
COUNTED = {"like": "likes", "boost": "boosts"}


async def said(browser: HttpBrowser, post: dict[str, Any], act: str) -> dict[str, Any]:
    answer = await browser.post_json(f"/posts/{post['id']}/{act}/")
    assert answer.status_code == 200, answer.text
    data: dict[str, Any] = answer.json()
    return data


@pytest.mark.parametrize("act", ACTS)
async def test_an_action_returns_the_post_with_its_counts(alice: HttpBrowser, bob: HttpBrowser, act: str) -> None:
    post = await bob.publish("hello")
    for _ in range(2):
        answer = await said(alice, post, act)
        assert answer["id"] == post["id"]
        assert answer["boost_of"] is None
        assert answer["viewer"] == {
            "own": False, "liked": False, "boosted": False, "bookmarked": False, ACTS[act]: True
        }  # fmt: skip
        expected = {"replies": 0, "boosts": 0, "likes": 0}
        assert answer["counts"] == (expected | {COUNTED[act]: 1} if act in COUNTED else expected)
    for _ in range(2):
        answer = await said(alice, post, f"un{act}")
        assert answer["counts"] == {"replies": 0, "boosts": 0, "likes": 0}
        assert not any(answer["viewer"].values())


@pytest.mark.parametrize("act", [*ACTS, *(f"un{act}" for act in ACTS)])
async def test_forms_redirect_back(alice: HttpBrowser, bob: HttpBrowser, visitor: HttpBrowser, act: str) -> None:
    post = await bob.publish("hello")
    answer = await alice.post(f"/posts/{post['id']}/{act}/")
    assert (answer.status_code, answer.headers["Location"]) == (303, post["url"])
    answer = await alice.post(f"/posts/{post['id']}/{act}/", next="/public/?limit=3")
    assert answer.headers["Location"] == "/public/?limit=3"
    answer = await alice.post(f"/posts/{post['id']}/{act}/", next="https://example.org/")
    assert answer.headers["Location"] == post["url"]
    assert (await alice.get(f"/posts/{post['id']}/{act}/")).status_code == 405
    assert (await alice.post_json(f"/posts/{int(post['id']) + 1}/{act}/")).status_code == 404
    assert (await visitor.post_json(f"/posts/{post['id']}/{act}/")).status_code == 401
    assert (await visitor.post(f"/posts/{post['id']}/{act}/")).headers["Location"].startswith("/accounts/login/")


async def test_the_json_of_a_boost_has_the_documented_fields(alice: HttpBrowser, bob: HttpBrowser) -> None:
    post = await bob.publish("hello <b>")
    original = await said(alice, post, "boost")
    (entry,) = (await alice.get_json("/")).json()["posts"]
    assert entry["id"] != post["id"]
    assert entry["author"]["handle"] == "alice"
    assert entry["url"] == f"/@alice/{entry['id']}/"
    assert entry["created_at"] >= post["created_at"]
    assert entry["boost_of"] == original
    for name in ("text", "html", "counts", "viewer", "audience"):
        assert entry[name] == original[name]
    assert entry["in_reply_to"] is None
    assert (await alice.get_json(entry["url"])).json()["boost_of"]["id"] == post["id"]
    for act in ("like", "bookmark", "unboost"):
        assert (await said(alice, entry, act))["id"] == post["id"]
    assert (await alice.get_json("/")).json()["posts"] == []


async def test_the_html_of_a_boost_has_the_hooks_of_scripts(alice: HttpBrowser, bob: HttpBrowser) -> None:
    post = await bob.publish("hello")
    await said(alice, post, "boost")
    (entry,) = (await alice.get_json("/")).json()["posts"]
    html = (await alice.get("/")).text
    assert f'data-post-id="{entry["id"]}" data-boost-of="{post["id"]}" data-author="alice"' in html
    assert "Boosted by <bdi" in html
    assert f'formaction="/posts/{post["id"]}/unboost/"' in html
    assert f"/posts/{entry['id']}/" not in html
    page = await alice.get(entry["url"])
    assert f'data-boost-of="{post["id"]}"' in page.text


async def test_buttons_show_the_viewers_reactions_and_the_allowed_actions(alice: HttpBrowser, bob: HttpBrowser) -> None:
    post = await bob.publish("hello")
    closed = await bob.publish("for followers", audience="followers")
    await alice.post_json("/@bob/follow/")
    await said(alice, post, "like")
    html = (await alice.get(post["url"])).text
    pressed = re.findall(r'data-act="(\w+)" aria-pressed="(\w+)"', html)
    assert dict(pressed) == {"boost": "false", "like": "true", "bookmark": "false"}
    html = (await alice.get(closed["url"])).text
    assert "/boost/" not in html
    assert "cannot be boosted" in html
    refused = await alice.post_json(f"/posts/{closed['id']}/boost/")
    assert (refused.status_code, refused.json()["error"]) == (422, "not_boostable")
    assert "public" in refused.json()["message"]


async def test_the_page_of_bookmarks_is_private(
    alice: HttpBrowser, bob: HttpBrowser, visitor: HttpBrowser, site: Services
) -> None:
    posts = [await bob.publish(f"post {n}") for n in range(3)]
    for post in posts:
        await said(alice, post, "bookmark")
    first = (await alice.get_json("/bookmarks/?limit=2")).json()
    assert [post["id"] for post in first["posts"]] == [posts[2]["id"], posts[1]["id"]]
    assert first["previous"] is None
    second = (await alice.get_json(first["next"])).json()
    assert [post["id"] for post in second["posts"]] == [posts[0]["id"]]
    assert second["next"] is None
    assert (await alice.get_json(second["previous"])).json()["posts"] == first["posts"]
    html = (await alice.get("/bookmarks/?limit=2")).text
    assert html.count("data-post-id=") == 2
    assert 'rel="next"' in html
    assert (await bob.get_json("/bookmarks/")).json()["posts"] == []
    assert "No bookmarks yet" in (await bob.get("/bookmarks/")).text
    assert (await visitor.get_json("/bookmarks/")).status_code == 401
    for cursor in ("x", "1-2", "<1", "<1-2-3", "<99999999999999999-1"):
        assert (await alice.get_json(f"/bookmarks/?cursor={cursor}")).status_code == 400


async def test_pages_list_the_accounts_that_like_and_boost(
    alice: HttpBrowser, bob: HttpBrowser, visitor: HttpBrowser
) -> None:
    post = await bob.publish("hello")
    await said(alice, post, "like")
    await said(alice, post, "boost")
    await said(bob, post, "like")
    page = (await visitor.get_json(f"{post['url']}likes/?limit=1")).json()
    assert [each["handle"] for each in page["accounts"]] == ["bob"]
    page = (await visitor.get_json(page["next"])).json()
    assert ([each["handle"] for each in page["accounts"]], page["next"]) == (["alice"], None)
    page = (await visitor.get_json(f"{post['url']}boosts/")).json()
    assert [each["handle"] for each in page["accounts"]] == ["alice"]
    for kind in ("likes", "boosts"):
        html = (await visitor.get(f"{post['url']}{kind}/")).text
        assert "@alice" in html
        assert f'href="{post["url"]}"' in html
        wrong = await visitor.get(f"/@Alice/{post['id']}/{kind}/")
        assert (wrong.status_code, wrong.headers["Location"]) == (301, f"{post['url']}{kind}/")
        assert f"{post['url']}{kind}/" in (await visitor.get(post["url"])).text
    assert (await visitor.get_json(f"{post['url']}likes/?cursor=x")).status_code == 400
    assert (await visitor.get_json(f"/@bob/{int(post['id']) + 1}/likes/")).status_code == 404


async def test_a_boost_counts_as_a_post_and_a_like_does_not(limited_site: Services, open_browser: Any) -> None:
    bob = await World(limited_site).person("bob")
    posts = [await bob.publishes(f"post {n}") for n in range(5)]
    alice = await open_browser("alice")
    answers = [await alice.post_json(f"/posts/{post.id}/boost/") for post in posts]
    assert [answer.status_code for answer in answers] == [200] * 3 + [429] * 2
    assert answers[3].json()["fields"] == {"rule": "post"}
    answers = [await alice.post_json(f"/posts/{post.id}/like/") for post in posts]
    assert [answer.status_code for answer in answers] == [200] * 5


async def test_only_the_account_itself_sees_the_tab_of_its_likes(alice, bob, visitor):
    liked = [(await bob.publish(f"post {number}"))["id"] for number in range(3)]
    for post_id in liked:
        await alice.post_json(f"/posts/{post_id}/like/")
    own = await alice.publish("by alice")
    page = (await alice.get("/@alice/?tab=likes&limit=2")).text
    assert 'href="/@alice/?tab=likes" aria-current="page"' in page
    assert re.findall(r'<article [^>]*data-post-id="(\d+)"', page) == liked[:0:-1]
    path = re.search(r'rel="next" href="([^"]+)"', page)[1].replace("&amp;", "&")
    assert await alice.post_ids(path) == liked[:1]
    for reader in (bob, visitor):
        page = (await reader.get("/@alice/?tab=likes")).text
        assert ">Likes</a>" not in page
        assert await reader.post_ids("/@alice/?tab=likes") == [own["id"]]
    await bob.post_json(f"/posts/{liked[2]}/delete/")
    assert await alice.post_ids("/@alice/?tab=likes") == [liked[1], liked[0]]
    assert "No posts found" in (await bob.get("/@bob/?tab=likes")).text
