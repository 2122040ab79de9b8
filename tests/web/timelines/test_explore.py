"""Explore: `/search/` before anything is typed."""

import re

import pytest

from tests.support.browser import HttpBrowser


async def like_all(world, *posts: dict) -> None:
    """Let two further accounts like the posts, and let a worker write the rankings."""
    for person in await world.people("liker1", "liker2"):
        for post in posts:
            await world.services.reactions.like(
                account_id=person.id, post_id=int(post["id"]), now_ms=world.services.clock.now_ms()
            )
    await world.deliver_all()
    await world.services.popular.refill()


async def read(browser: HttpBrowser, query: str = "") -> dict:
    answer = await browser.get_json(f"/search/{query}")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_explore_offers_posts_people_and_hashtags_to_visitors_and_readers(alice, bob, visitor, world):
    await alice.post_json("/accounts/settings/", display_name="Alice", bio="I fell into a hole.", link="")
    post = await alice.publish("Curiouser #wonder")
    await bob.publish("Also #wonder")
    await like_all(world, post)
    for browser in (visitor, bob):
        results = await read(browser)
        assert [each["id"] for each in results["posts"]] == [post["id"]]
        assert results["accounts"][0]["handle"] == "alice"
        (tag,) = results["tags"]
        assert (tag["name"], tag["accounts"], sum(tag["hours"])) == ("wonder", 2, 2)
        page = (await browser.get("/search/")).text
        assert "<h1>Explore</h1>" in page
        assert f'data-post-id="{post["id"]}"' in page
        assert "I fell into a hole." in page
        assert 'href="/tags/wonder/"' in page
        assert "<polyline" in page
        assert re.search(r'href="/search/" aria-current="page">.*?<span>Explore</span>', page)
    assert 'formaction="/@alice/follow/"' in (await bob.get("/search/")).text


async def test_a_tab_shows_one_kind(alice, bob, visitor, world):
    post = await alice.publish("#wonder")
    await bob.publish("#wonder")
    await like_all(world, post)
    for tab in ("all", "posts", "people", "hashtags", "unknown"):
        results = await read(visitor, f"?tab={tab}")
        kinds = {
            kind for kind, key in (("posts", "posts"), ("people", "accounts"), ("hashtags", "tags")) if results[key]
        }
        assert kinds == ({"posts", "people", "hashtags"} if tab in ("all", "unknown") else {tab})
        assert (await visitor.get(f"/search/?tab={tab}")).status_code == 200


async def test_an_empty_site_says_so_and_how_to_search(visitor):
    page = (await visitor.get("/search/")).text
    assert "No popular posts yet" in page
    assert "posts with exactly this" in page
    assert (await read(visitor))["posts"] == []


async def test_older_popular_posts_are_on_the_next_page(visitor, world):
    people = await world.people(*(f"writer{number}" for number in range(25)))
    posts = [{"id": (await each.publishes("hello")).id} for each in people]
    await like_all(world, *posts)
    first = await read(visitor)
    second = (await visitor.get_json(first["next"])).json()
    third = await visitor.get_json(second["next"]) if second["next"] else None
    pages = [first, second, *([third.json()] if third else [])]
    ids = [post["id"] for page in pages for post in page["posts"]]
    assert sorted(ids) == sorted(str(post["id"]) for post in posts)
    page = (await visitor.get(first["next"])).text
    assert "Popular posts" in page
    assert (await visitor.get_json("/search/?cursor=x")).status_code == 400


@pytest.mark.parametrize("path", ["/explore/", "/explore/?tab=people"])
async def test_the_address_explore_leads_to_search(visitor, path):
    answer = await visitor.get(path)
    assert (answer.status_code, answer.headers["location"]) == (301, path.replace("explore", "search"))


async def test_suggestions_that_a_process_keeps_leave_out_followed_and_blocked_accounts_at_once(alice, bob, world):
    carol, dave = await world.people("carol", "dave")
    for person in (carol, dave):
        await person.publishes("hello")
    await bob.publish("hello")

    async def people() -> set[str]:
        return {each["handle"] for each in (await read(alice))["accounts"]}

    assert await people() == {"bob", "carol", "dave"}
    await alice.post_json("/@bob/follow/")
    await alice.post_json("/@carol/block/")
    assert await people() == {"dave"}
    await world.services.accounts.restrict(dave.id, "limit", 1)
    assert await people() == set()
