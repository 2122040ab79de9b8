"""Avatars and headers are shown wherever an account is shown."""

from collections.abc import Awaitable, Callable

import pytest

from accounts.models import Account

AVATAR, HEADER = "5-secretofavatar", "6-secretofheader"


@pytest.fixture
def with_pictures(site) -> Callable[[str], Awaitable[Account]]:
    async def set_pictures(handle: str) -> Account:
        account = await site.accounts.get_by_handle(handle)
        await site.accounts.set_picture(account_id=account.id, kind="avatar", name=AVATAR)
        await site.accounts.set_picture(account_id=account.id, kind="header", name=HEADER)
        return account

    return set_pictures


async def test_every_page_that_names_an_account_shows_its_avatar(alice, bob, open_browser, world, with_pictures):
    carol = await open_browser("carol")
    await with_pictures("alice")
    post = await alice.publish("hello")
    await bob.post_json("/@alice/follow/")
    await carol.post_json("/@bob/follow/")
    await carol.post_json("/@alice/follow/")
    await alice.post_json("/@bob/follow/")
    await world.deliver_all()
    small = f'<img src="/media/{AVATAR}/small.webp" alt=""'
    for path in (
        "/public/", "/@alice/", post["url"], "/notifications/", "/search/?q=alice",
        "/@bob/followers/",
    ):  # fmt: skip
        assert small in (await bob.get(path)).text.partition("<main")[2], path
    own_page = (await alice.get("/")).text
    assert small in own_page.partition("<main")[0]  # the navigation
    assert small in own_page.partition('class="composer"')[2].partition("<textarea")[0]
    known = (await carol.get("/@bob/")).text.partition("Followed by people you follow")[0].rpartition("<p")[2]
    assert small in known
    await carol.post_json("/@alice/mute/")
    assert small in (await carol.get("/accounts/muted/")).text.partition("<main")[2]


async def test_a_profile_shows_its_header_and_its_large_avatar(alice, visitor, with_pictures):
    assert "profile-header" not in (await visitor.get("/@alice/")).text
    await with_pictures("alice")
    page = (await visitor.get("/@alice/")).text
    assert f'<img class="profile-header" src="/media/{HEADER}/full.webp"' in page
    assert f'<span class="avatar avatar-large hue-1" aria-hidden="true"><img src="/media/{AVATAR}/full.webp"' in page


async def test_other_sites_get_the_avatar_in_previews_feeds_and_json(alice, visitor, with_pictures):
    post = await alice.publish("hello")
    assert "og:image" not in (await visitor.get(post["url"])).text
    assert "<logo>" not in (await visitor.get("/@alice/feed.atom")).text
    assert "avatar" not in (await visitor.get_json("/@alice/")).json()["account"]
    await with_pictures("alice")
    url = f"/media/{AVATAR}/full.webp"
    for path in (post["url"], "/@alice/"):
        assert f'<meta property="og:image" content="http://testserver{url}">' in (await visitor.get(path)).text
    assert f"<logo>http://testserver{url}</logo>" in (await visitor.get("/@alice/feed.atom")).text
    account = (await visitor.get_json("/@alice/")).json()["account"]
    assert (account["avatar"], account["header"]) == (url, f"/media/{HEADER}/full.webp")
    assert (await visitor.get_json("/@alice/")).json()["posts"][0]["author"]["avatar"] == url
    assert (await alice.get_json("/accounts/settings/")).json()["account"]["avatar"] == url
