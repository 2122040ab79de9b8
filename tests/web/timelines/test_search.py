"""`/search/` and the completion of handles and hashtags."""

import re
from urllib.parse import quote

import pytest

from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.web.services import loop_services
from tests.support.browser import HttpBrowser

DAY = "2026-01-31"


def path(query: str, **more: object) -> str:
    rest = "".join(f"&{name}={value}" for name, value in more.items())
    return f"/search/?q={quote(query, safe='')}{rest}"


async def answer(browser: HttpBrowser, query: str, **more: object) -> dict:
    response = await browser.get_json(path(query, **more))
    assert response.status_code == 200, response.text
    return response.json()


async def ids(browser: HttpBrowser, query: str, **more: object) -> list[str]:
    return [post["id"] for post in (await answer(browser, query, **more))["posts"]]


async def test_a_search_finds_posts_people_and_hashtags(alice, bob, visitor, world):
    first = await alice.publish("Curiouser and curiouser #alicebooks")
    second = await bob.publish("I am curiouser than Alice")
    await world.deliver_all()
    results = await answer(visitor, "alice")
    assert [post["id"] for post in results["posts"]] == [second["id"]]
    assert [account["handle"] for account in results["accounts"]] == ["alice"]
    assert results["tags"] == [{"name": "alicebooks", "url": "/tags/alicebooks/"}]
    assert (results["next"], results["previous"]) == (None, None)
    page = (await visitor.get(path("alice"))).text
    assert f'data-post-id="{second["id"]}"' in page
    assert '<li class="account" data-account="alice">' in page
    assert 'href="/tags/alicebooks/"' in page
    assert await ids(visitor, "curiouser") == [second["id"], first["id"]]
    assert await ids(visitor, "curiouser from:alice") == [first["id"]]


async def test_accents_may_be_left_out_and_are_shown_as_written(alice, visitor, world):
    post = await alice.publish("Un café à Zürich, #Été")
    await alice.post_json("/accounts/settings/", display_name="José Łukasz", bio="", link="")
    await world.deliver_all()
    for query in ("cafe zurich", "CAFÉ", '"un cafe a zurich"', "#ete", "ete from:alice"):
        assert await ids(visitor, query) == [post["id"]], query
    page = (await visitor.get(path("cafe"))).text
    assert "Un café à Zürich" in page
    assert 'value="cafe"' in page
    for name in ("jose", "josé", "lukasz"):
        assert [each["handle"] for each in (await answer(visitor, name))["accounts"]] == ["alice"], name
        completions = (await visitor.get_json(f"/search/complete/?q=@{quote(name)}")).json()
        assert [each["display_name"] for each in completions["accounts"]] == ["José Łukasz"]
    assert (await answer(visitor, "#ete"))["tags"][0]["name"] == "été"
    assert (await visitor.get_json("/search/complete/?q=%23ete")).json()["tags"][0]["name"] == "été"


async def test_found_accounts_can_be_followed(alice, bob, world):
    page = (await bob.get(path("@ali"))).text
    assert 'formaction="/@alice/follow/"' in page
    await bob.post_json("/@alice/follow/")
    page = (await bob.get(path("@ali"))).text
    assert 'formaction="/@alice/unfollow/"' in page
    (account,) = (await answer(bob, "@ali"))["accounts"]
    assert account["is_following"] is True


async def test_older_pages_keep_the_query(alice, world):
    posts = [(await alice.publish(f"{n} 日本 & more"))["id"] for n in range(5)][::-1]
    await world.deliver_all()
    first = await answer(alice, "日本 &", limit=2)
    assert [post["id"] for post in first["posts"]] == posts[:2]
    second = (await alice.get_json(first["next"])).json()
    assert [post["id"] for post in second["posts"]] == posts[2:4]
    third = (await alice.get_json(second["next"])).json()
    assert ([post["id"] for post in third["posts"]], third["next"]) == (posts[4:], None)
    page = (await alice.get(first["next"])).text
    older = re.search(r'rel="next" href="([^"]*)"', page)
    assert older
    assert older[1].replace("&amp;", "&") == second["next"]
    assert 'value="日本 &amp;"' in page
    assert "Go to the newest" in page


async def test_an_empty_query_shows_the_form_and_its_help(visitor):
    for empty in ("/search/", "/search/?q=", "/search/?q=%20"):
        page = await visitor.get(empty)
        assert page.status_code == 200
        assert '<form class="inline-form" method="get" action="/search/" role="search">' in page.text
        assert "from:" in page.text
        assert '<meta name="robots" content="noindex">' in page.text
    assert (await answer(visitor, ""))["posts"] == []


async def test_an_empty_result_is_explained_with_hints(visitor):
    page = (await visitor.get(path("silence"))).text
    assert "No posts found" in page
    assert "posts with exactly this" in page
    assert '<section class="section" id="search-hints">' in page


async def test_a_tab_finds_one_kind_of_results(alice, bob, visitor, world):
    post = await bob.publish("alice wrote #alicebooks")
    await world.deliver_all()
    found = {"posts": [post["id"]], "people": ["alice"], "hashtags": ["alicebooks"]}
    for tab in ("all", "posts", "people", "hashtags", "unknown"):
        results = await answer(visitor, "alice", tab=tab)
        kinds = {
            "posts": [each["id"] for each in results["posts"]],
            "people": [each["handle"] for each in results["accounts"]],
            "hashtags": [each["name"] for each in results["tags"]],
        }
        assert kinds == {kind: found[kind] if tab in ("all", "unknown", kind) else [] for kind in found}, tab
    page = (await visitor.get(f"{path('alice')}&tab=people")).text
    assert re.findall(r'<a href="/search/\?q=alice&amp;tab=(\w+)"( aria-current="page")?>', page) == [
        ("all", ""), ("posts", ""), ("people", ' aria-current="page"'), ("hashtags", ""),
    ]  # fmt: skip
    assert '<input type="hidden" name="tab" value="people">' in page
    assert 'id="search-hints" hidden' in page
    assert (await answer(visitor, "alice", tab="people", before=1))["accounts"]
    await bob.publish("alice again")
    await world.deliver_all()
    older = await visitor.get_json((await answer(visitor, "alice", tab="posts", limit=1))["next"])
    assert older.url.params["tab"] == "posts"
    assert [each["id"] for each in older.json()["posts"]] == found["posts"]
    assert "No people found" in (await visitor.get(f"{path('silence')}&tab=people")).text


async def test_a_search_without_results_offers_similar_names(alice, bob, visitor, world):
    await bob.publish("words #poetry")
    await world.deliver_all()
    for query, handles, tags in (("alise", ["alice"], []), ("@alicf", ["alice"], []), ("Poetri", [], ["poetry"])):
        results = await answer(visitor, query)
        assert results["similar"]
        assert [account["handle"] for account in results["accounts"]] == handles, query
        assert [tag["name"] for tag in results["tags"]] == tags, query
    page = (await visitor.get(path("alise"))).text
    assert "Did you mean…" in page
    assert 'data-account="alice"' in page
    assert not (await answer(visitor, "alice"))["similar"]
    assert "Did you mean" not in (await visitor.get(path("bo-"))).text
    assert "Did you mean" not in (await visitor.get(path("alibaba"))).text


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("a since:yesterday", "Write a day like 2026-01-31."),
        ("a until:2026-02-30", "Write a day like"),
        (f"since:{DAY}", "Enter at least one word"),
        ("!?", "Enter at least one word"),
        ("from:no-handle", "Write a handle after from:"),
        ("from:a from:b", "Use from: only once"),
        ("x" * 301, "This is longer than 300 characters."),
    ],
)
async def test_an_invalid_query_is_400_beside_the_field(visitor, query, reason):
    page = await visitor.get(path(query))
    assert page.status_code == 400
    assert re.search(rf'<p class="error" id="search-error">{re.escape(reason)}', page.text)
    assert f'value="{query}"' in page.text
    assert 'aria-invalid="true"' in page.text
    refused = await visitor.get_json(path(query))
    assert (refused.status_code, refused.json()["error"]) == (400, "malformed")
    assert reason in refused.json()["fields"]["q"]


async def test_a_cursor_is_a_post_id_and_leads_to_older_posts(visitor):
    assert (await visitor.get_json(path("a", before="x"))).status_code == 400
    assert (await visitor.get_json(path("a", after=5))).status_code == 400
    assert await ids(visitor, "a", before=0) == []
    assert await ids(visitor, "a", before=(1 << 53) - 1) == []


async def test_the_query_is_shown_as_typed(visitor, alice, world):
    text = '"><script>alert(1)</script> {{ x }} \u202e'
    await alice.publish(text)
    await world.deliver_all()
    page = (await visitor.get(path(text))).text
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; {{ x }}" in page


async def test_hidden_posts_and_people_are_not_found(alice, bob, visitor, site, world):
    gone = await alice.publish("words gone")
    theirs = await bob.publish("words by bob")
    await world.deliver_all()
    await alice.post_json(f"/posts/{gone['id']}/delete/")
    await site.accounts.suspend(account_id=int(theirs["author"]["id"]))
    assert (await answer(visitor, "words"))["posts"] == []
    assert (await answer(visitor, "bob"))["accounts"] == []
    assert (await visitor.get_json("/search/complete/?q=@bo")).json() == {"accounts": []}


async def test_handles_and_hashtags_are_completed(alice, bob, world):
    await bob.publish("#Redis #日本")
    await world.deliver_all()
    completions = (await alice.get_json("/search/complete/?q=@BO")).json()
    assert [account["handle"] for account in completions["accounts"]] == ["bob"]
    assert set(completions["accounts"][0]) == {"id", "handle", "display_name", "url"}
    assert (await alice.get_json("/search/complete/?q=@bo@local")).json() == completions  # the site is http://localhost
    assert (await alice.get_json("/search/complete/?q=@bo@elsewhere")).json() == {"accounts": []}
    redis = [{"name": "redis", "url": "/tags/redis/", "rest": "dis"}]
    assert (await alice.get_json("/search/complete/?q=%23RE")).json() == {"tags": redis}
    assert (await alice.get_json(f"/search/complete/?q={quote('＃日')}")).json()["tags"][0]["name"] == "日本"
    assert (await alice.get_json("/search/complete/?q=@")).json() == {"accounts": []}
    assert (await alice.get_json("/search/complete/?q=%23")).json() == {"tags": []}
    assert (await alice.get_json("/search/complete/?q=bob")).status_code == 400
    assert (await alice.get_json("/search/complete/")).status_code == 400


async def test_search_and_completion_have_rules_of_their_own(redis_url, open_browser):
    limits: dict[str, int | None] = {"search": 2, "complete": 3}
    async with open_services(redis_url, ServiceConfig(rate_limits=limits)) as services:
        loop_services.bind(services)
        visitor = await open_browser()
        statuses = [(await visitor.get_json(path("word"))).status_code for _ in range(3)]
        assert statuses == [200, 200, 429]
        page = await visitor.get(path("word"))
        assert page.status_code == 429
        assert "You searched too often in the last minute." in page.text
        assert page.headers["retry-after"]
        assert (await visitor.get_json(path("since:x"))).status_code == 400, "a refused query costs nothing"
        assert (await visitor.get("/search/")).status_code == 200
        answers = [(await visitor.get_json("/search/complete/?q=@a")) for _ in range(4)]
        assert [each.status_code for each in answers] == [200, 200, 200, 429]
        assert answers[-1].json()["fields"] == {"rule": "complete"}
