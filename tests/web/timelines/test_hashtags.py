"""Pages of hashtags (`/tags/<tag>/`)."""

import re

import pytest


async def test_the_link_in_a_post_leads_to_its_tag(alice, visitor):
    post = await alice.publish("I like #日本 and #Straße")
    for href in re.findall(r'href="(/tags/[^"]*)"', post["html"]):
        page = await visitor.get(href)
        assert page.status_code == 200
        assert f'data-post-id="{post["id"]}"' in page.text
        assert await visitor.post_ids(href) == [post["id"]]


async def test_a_tags_page_has_the_hooks_of_scripts_and_links_its_feed(alice, visitor):
    post = await alice.publish("#Redis")
    page = (await visitor.get("/tags/redis/")).text
    assert f'<ol class="timeline" data-timeline="tag:redis" data-newest="{post["id"]}" data-live>' in page
    assert '<link rel="alternate" type="application/atom+xml" title="#redis" href="/tags/redis/feed.atom">' in page
    assert '<link rel="canonical" href="http://testserver/tags/redis/">' in page
    assert "<title>#redis" in page
    assert "noindex" not in page


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("/tags/Redis/", "/tags/redis/"),
        ("/tags/STRASSE/?limit=3&before=9", "/tags/strasse/?limit=3&before=9"),
        ("/tags/Stra%C3%9Fe/", "/tags/strasse/"),
        ("/tags/%EF%BC%A1/feed.atom", "/tags/a/feed.atom"),
        ("/tags/%C3%89t%C3%A9/", "/tags/%C3%A9t%C3%A9/"),
    ],
)
async def test_a_tag_has_one_address(visitor, asked, told):
    answer = await visitor.get(asked)
    assert (answer.status_code, answer.headers["location"]) == (301, told)


@pytest.mark.parametrize("tag", ["42", "no%20tag", "a-b", "%3Cb%3E", "x" * 101, "%23redis", "%00", "%FF"])
@pytest.mark.parametrize("rest", ["", "feed.atom"])
async def test_an_invalid_tag_is_not_found(visitor, tag, rest):
    assert (await visitor.get(f"/tags/{tag}/{rest}")).status_code == 404
    answer = await visitor.get_json(f"/tags/{tag}/{rest}")
    assert (answer.status_code, answer.json()["error"]) == (404, "not_found")
    assert "hashtag" in answer.json()["message"]


async def test_an_unused_tag_is_empty_and_excluded_from_search_engines(visitor):
    page = await visitor.get("/tags/silence/")
    assert page.status_code == 200
    assert "Nobody has used this hashtag yet" in page.text
    assert '<meta name="robots" content="noindex">' in page.text
    assert (await visitor.get_json("/tags/silence/")).json() == {"posts": [], "next": None, "previous": None}


async def test_pages_of_a_tag_link_to_each_other_both_ways(alice):
    posts = [(await alice.publish(f"{n} #日本"))["id"] for n in range(5)][::-1]
    path = "/tags/%E6%97%A5%E6%9C%AC/"
    first = (await alice.get_json(f"{path}?limit=2")).json()
    assert first["next"].startswith(path)
    second = (await alice.get_json(first["next"])).json()
    assert [post["id"] for post in second["posts"]] == posts[2:4]
    back = (await alice.get_json(second["previous"])).json()
    assert [post["id"] for post in back["posts"]] == posts[:2]
    older = re.search(r'rel="next" href="([^"]*)"', (await alice.get(f"{path}?limit=2")).text)
    assert older
    assert older[1].replace("&amp;", "&") == first["next"]


async def test_a_tags_page_shows_no_hidden_posts(alice, bob, site, visitor):
    post = await alice.publish("#redis")
    gone = await alice.publish("#redis, too")
    theirs = await bob.publish("#redis by bob")
    await alice.post_json(f"/posts/{gone['id']}/delete/")
    await site.accounts.suspend(account_id=int(theirs["author"]["id"]))
    assert await visitor.post_ids("/tags/redis/") == [post["id"]]
