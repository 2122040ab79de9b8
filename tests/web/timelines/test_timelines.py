"""Home, public and profile timelines for browsers and programs (docs/reference/interface.md)."""

import re
from urllib.parse import urlsplit

import pytest
from django.conf import settings

from accounts import keys as account_keys
from tests.support.browser import HttpBrowser


async def published(browser: HttpBrowser, count: int) -> list[str]:
    """Publish posts and return them, the newest first."""
    return [(await browser.publish(f"post {n}"))["id"] for n in range(count)][::-1]


async def test_a_visitor_is_welcomed_and_a_program_gets_401(visitor):
    page = await visitor.get("/")
    assert page.status_code == 200
    assert "/accounts/signup/" in page.text
    answer = await visitor.get_json("/")
    assert (answer.status_code, answer.json()["error"]) == (401, "sign_in_needed")


async def test_home_contains_the_posts_of_followed_accounts_and_own_posts(alice, bob, world):
    await alice.post_json("/@bob/follow/")
    theirs, mine = await bob.publish("from bob"), await alice.publish("from alice")
    await world.deliver_all()
    assert await alice.post_ids("/") == [mine["id"], theirs["id"]]
    assert await bob.post_ids("/") == [theirs["id"]]


async def test_a_page_has_the_hooks_of_scripts(alice):
    post = await alice.publish("hello")
    page = (await alice.get("/")).text
    assert f'<ol class="timeline" data-timeline="home" data-newest="{post["id"]}" data-live>' in page
    assert re.search(rf'<li><article [^>]*data-post-id="{post["id"]}" data-author="alice"', page)
    assert re.search(r'class="post-text"[^>]*>hello<', page)


async def test_a_handle_with_a_new_owner_shows_the_new_owner(alice, bob, open_browser, site):
    """A restore under a running process may change the owner of a handle; cached data are then discarded."""
    await alice.post_json("/@bob/follow/")
    await bob.publish("by the first bob")
    carol = await open_browser("carol")
    theirs = await carol.publish("by the second bob")
    assert "by the first bob" in (await alice.get("/@bob/")).text
    store, accounts = site.store, site.accounts
    first, second = [(await accounts.get_by_handle(handle)).id for handle in ("bob", "carol")]
    for command in (
        ("SET", account_keys.handle("bob"), second),
        ("HSET", account_keys.account(second), "handle", "bob"),
        ("HSET", account_keys.account(first), "handle", "nolongerbob"),
    ):
        await store.node(command[1]).execute(*command)
    for _ in range(2):
        page = (await alice.get_json("/@bob/")).json()
        assert [post["id"] for post in page["posts"]] == [theirs["id"]]
        assert (page["account"]["followers"], page["viewer"]["follows"]) == (0, False)


@pytest.mark.parametrize("path", ["/", "/public/", "/@alice/"])
async def test_pages_of_a_timeline_link_to_each_other_both_ways(alice, path):
    posts = await published(alice, 7)
    first = (await alice.get_json(f"{path}?limit=3")).json()
    assert [post["id"] for post in first["posts"]] == posts[:3]
    assert first["previous"] is None
    second = (await alice.get_json(first["next"])).json()
    assert [post["id"] for post in second["posts"]] == posts[3:6]
    back = (await alice.get_json(second["previous"])).json()
    assert [post["id"] for post in back["posts"]] == posts[:3]
    last = (await alice.get_json(second["next"])).json()
    assert ([post["id"] for post in last["posts"]], last["next"]) == (posts[6:], None)


async def test_html_and_json_link_to_the_same_pages(alice):
    posts = await published(alice, 7)
    page = (await alice.get("/public/?limit=3")).text
    older = re.search(r'rel="next" href="([^"]*)"', page)
    assert older
    path = older[1].replace("&amp;", "&")
    assert path == f"/public/?before={posts[2]}&limit=3"
    page = (await alice.get(path)).text
    assert 'rel="prev"' in page
    assert "data-live>" not in page


@pytest.mark.parametrize("path", ["/", "/public/", "/@alice/"])
async def test_an_empty_page_links_back(alice, path):
    posts = await published(alice, 3)
    for cursor, way, rel, title in (
        (f"before={posts[-1]}", "previous", "prev", "No older posts"),
        (f"after={posts[0]}", "next", "next", "No newer posts"),
        ("before=0", "previous", "prev", "No older posts"),
        ("after=9007199254740991", "next", "next", "No newer posts"),
    ):
        answer = (await alice.get_json(f"{path}?{cursor}&limit=2")).json()
        page = (await alice.get(f"{path}?{cursor}&limit=2")).text
        assert [name for name in ("next", "previous") if answer[name]] == [way]
        back = posts[-2:] if way == "previous" else posts[:2]
        assert (answer["posts"], await alice.post_ids(answer[way])) == ([], back)
        assert f'rel="{rel}" href="{answer[way].replace("&", "&amp;")}"' in page
        assert title in page


async def test_a_cursor_need_not_exist(alice):
    posts = await published(alice, 3)
    assert await alice.post_ids(f"/public/?before={int(posts[1]) + 1}") == posts[1:]
    assert await alice.post_ids(f"/public/?after={int(posts[1]) - 1}") == posts[:2]
    assert await alice.post_ids("/public/?before=9007199254740991") == posts
    assert await alice.post_ids("/public/?after=0") == posts


@pytest.mark.parametrize(
    "query",
    [
        "before=", "before=x", "before=-1", "before=1.5",
        "before=9007199254740992", "before=+5", "before=%20",
        "before=%D9%A3", "after=x", "after=1e3", "before=5&after=5", "limit=", "limit=x", "limit=1.5",
        "before=%ff", "before=" + "9" * 4_000, "limit=%00",
    ],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/public/", "/@alice/", "/"])
async def test_an_invalid_query_is_400(alice, path, query):
    answer = await alice.get_json(f"{path}?{query}")
    assert (answer.status_code, answer.json()["error"]) == (400, "malformed")
    assert (await alice.get(f"{path}?{query}")).status_code == 400


@pytest.mark.parametrize(
    ("limit", "shown"),
    [("0", 1), ("-5", 1), ("2", 2), ("1000", 3), ("9" * 18, 3), ("9" * 4_500, 3), ("-" + "9" * 40, 1)],
)
async def test_a_limit_is_clamped(alice, limit, shown):
    await published(alice, 3)
    assert len(await alice.post_ids(f"/public/?limit={limit}")) == shown


async def test_a_profile_shows_its_account(alice, bob, visitor):
    await bob.post_json("/@alice/follow/")
    await published(alice, 2)
    account = (await visitor.get_json("/@alice/")).json()["account"]
    assert account["url"] == "/@alice/"
    assert (account["id"], account["followers"], account["following"], account["posts"]) == ("1", 1, 0, 2)


async def test_a_profile_shows_the_viewers_relation(alice, bob, open_browser):
    carol = await open_browser("carol")
    for path in ("/@bob/follow/", "/@carol/follow/"):
        await alice.post_json(path)
    await carol.post_json("/@bob/follow/")
    page = (await carol.get("/@alice/")).text
    assert "You both follow 1 account" in page
    page = (await alice.get("/@bob/")).text
    assert "Followed by people you follow" in page
    assert "/@bob/unfollow/" in page
    assert "/@alice/follow/" not in (await alice.get("/@alice/")).text


@pytest.mark.parametrize("path", ["/@Alice/", "/@ALICE/followers/", "/@aLICE/following/?cursor=1-1"])
async def test_a_handle_in_other_case_redirects_to_lower_case(alice, path):
    answer = await alice.get(path)
    lower = re.sub("@alice", "@alice", path, flags=re.IGNORECASE)
    assert (answer.status_code, answer.headers["location"]) == (301, lower)


async def test_a_handle_with_the_own_host_redirects_to_the_handle(alice, visitor):
    host = urlsplit(settings.SITE_URL).netloc
    answer = await visitor.get(f"/@Alice@{host.upper()}/followers/?cursor=1-1")
    assert (answer.status_code, answer.headers["location"]) == (301, "/@alice/followers/?cursor=1-1")
    for other in ("elsewhere.example", f"{host}.example", f"{host}@{host}", ""):
        assert (await visitor.get(f"/@alice@{other}/")).status_code == 404


async def test_an_unknown_account_is_404(visitor, alice, site):
    for path in ("/@nobody/", "/@nobody/followers/", "/@" + "a" * 21 + "/"):
        assert (await visitor.get(path)).status_code == 404
    account = await site.accounts.get_by_handle("alice")
    await site.accounts.suspend(account_id=account.id)
    answer = await visitor.get_json("/@alice/")
    assert (answer.status_code, answer.json()["error"]) == (404, "not_found")


async def test_posts_of_a_suspended_account_are_hidden_at_once(alice, visitor, site):
    post = await alice.publish("hello")
    account = await site.accounts.get_by_handle("alice")
    await site.accounts.suspend(account_id=account.id)
    assert await visitor.post_ids("/public/") == []
    assert (await visitor.get(post["url"])).status_code == 404


async def test_pages_use_the_readers_language(alice, visitor):
    page = await visitor.get("/public/", **{"Accept-Language": "de-CH,de;q=0.9"})
    assert page.headers["content-language"] == "de"
    assert '<html lang="de"' in page.text


async def test_an_edited_profile_appears_in_entries_rendered_before(alice, visitor, site):
    await alice.publish("hello")
    assert "alice" in (await visitor.get("/public/")).text
    account = await site.accounts.get_by_handle("alice")
    await site.accounts.edit_profile(account_id=account.id, display_name="Alice the Second", bio="", link="")
    assert "Alice the Second" in (await visitor.get("/public/")).text


async def test_a_joined_thread_changes_neither_the_posts_of_pages_nor_their_cursors(alice, world):
    """The border of a page cuts a thread where it would cut its posts, and each part is joined alone."""
    thread = [await alice.publish("first")]
    for number in range(6):
        thread.append(await alice.publish(f"part {number}", in_reply_to=thread[-1]["id"]))
    account_list = (await alice.post_json("/lists/", title="me")).json()
    await alice.post_json(f"/lists/{account_list['id']}/members/", handle="alice")
    await world.deliver_all()
    ids = [post["id"] for post in thread]
    for path in ("/", "/@alice/", "/public/", f"/lists/{account_list['id']}/"):
        data, page = (await alice.get_json(f"{path}?limit=4")).json(), (await alice.get(f"{path}?limit=4")).text
        assert [post["id"] for post in data["posts"]] == ids[:2:-1]
        assert re.findall(r'<article [^>]*data-post-id="(\d+)"', page) == ids[3:]
        assert page.count('<li class="joined">') == 2, "of the page, and the empty one for the scripts"
        assert f'data-newest="{ids[-1]}"' in page
        assert f'rel="next" href="{data["next"].replace("&", "&amp;")}"' in page
        assert re.findall(r'<article [^>]*data-post-id="(\d+)"', (await alice.get(data["next"])).text) == ids[:3]
