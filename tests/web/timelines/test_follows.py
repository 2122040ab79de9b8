"""Follows, and the pages of followers and followed accounts."""

from urllib.parse import parse_qs, urlsplit

import pytest

from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.web.services import loop_services


async def test_a_follow_is_answered_with_the_relation(alice, bob):
    answer = await alice.post_json("/@bob/follow/")
    assert (answer.status_code, answer.json()) == (200, {"following": True, "followers": 1})
    again = await alice.post_json("/@BOB/follow/")
    assert (again.status_code, again.json()) == (200, {"following": True, "followers": 1})
    answer = await alice.post_json("/@bob/unfollow/")
    assert answer.json() == {"following": False, "followers": 0}
    again = await alice.post_json("/@bob/unfollow/")
    assert (again.status_code, again.json()) == (200, {"following": False, "followers": 0})


async def test_a_follow_by_form_redirects_to_the_profile(alice, bob):
    answer = await alice.post("/@bob/follow/")
    assert (answer.status_code, answer.headers["location"]) == (303, "/@bob/")
    answer = await alice.post("/@bob/unfollow/", next="/@alice/following/")
    assert answer.headers["location"] == "/@alice/following/"


async def test_an_account_cannot_follow_itself(alice):
    answer = await alice.post_json("/@alice/follow/")
    assert (answer.status_code, answer.json()["error"]) == (422, "following_yourself")
    assert (await alice.post("/@alice/follow/")).status_code == 422


async def test_an_unknown_account_cannot_be_followed(alice):
    assert (await alice.post_json("/@nobody/follow/")).status_code == 404


async def test_followers_and_following_are_paged_by_an_opaque_cursor(alice, open_browser):
    for number in range(5):
        fan = await open_browser(f"fan{number}")
        await fan.post_json("/@alice/follow/")
    first = (await alice.get_json("/@alice/followers/?limit=3")).json()
    assert [account["handle"] for account in first["accounts"]] == ["fan4", "fan3", "fan2"]
    assert list(parse_qs(urlsplit(first["next"]).query)) == ["cursor", "limit"]
    rest = (await alice.get_json(first["next"])).json()
    assert [account["handle"] for account in rest["accounts"]] == ["fan1", "fan0"]
    assert rest["next"] is None
    assert "cursor=" in (await alice.get("/@alice/followers/?limit=3")).text
    following = (await alice.get_json("/@fan0/following/")).json()["accounts"]
    assert [account["url"] for account in following] == ["/@alice/"]


async def test_a_page_of_accounts_marks_followed_accounts(alice, bob, open_browser):
    carol = await open_browser("carol")
    for fan in (bob, carol):
        await fan.post_json("/@alice/follow/")
    await alice.post_json("/@bob/follow/")
    page = (await alice.get("/@alice/followers/")).text
    assert "/@bob/unfollow/" in page
    assert "/@carol/follow/" in page


@pytest.mark.parametrize("cursor", ["", "x", "1", "1-2-3", "-", "٣-٣", "1-" + "9" * 30])
async def test_an_invalid_cursor_is_400(alice, cursor):
    for path in ("/@alice/followers/", "/@alice/following/"):
        assert (await alice.get_json(path + f"?cursor={cursor}")).status_code == 400


async def test_the_cap_of_following_is_409(redis_url, open_browser):
    async with open_services(redis_url, ServiceConfig(following_cap=1)) as services:
        loop_services.bind(services)
        alice = await open_browser("alice")
        for handle in ("bob", "carol"):
            await open_browser(handle)
        assert (await alice.post_json("/@bob/follow/")).status_code == 200
        answer = await alice.post_json("/@carol/follow/")
        assert (answer.status_code, answer.json()["error"]) == (409, "following_cap")
        assert (await alice.post("/@carol/follow/")).status_code == 409


async def test_a_suspended_account_can_be_unfollowed_and_removed_from_a_list(alice, bob, site):
    """The pages of the account are hidden, but followers and list owners can still remove it."""
    await alice.post_json("/@bob/follow/")
    made = (await alice.post_json("/lists/", title="Friends")).json()
    await alice.post_json(f"/lists/{made['id']}/members/", handle="bob")
    account = await site.accounts.get_by_handle("bob")
    await site.accounts.suspend(account_id=account.id)
    assert (await alice.get("/@bob/")).status_code == 404
    assert (await alice.post_json("/@bob/follow/")).status_code == 404
    assert (await alice.post_json("/@bob/unfollow/")).json()["following"] is False
    assert (await alice.post_json(f"/lists/{made['id']}/members/remove/", handle="bob")).json()["members"] == 0


async def test_pages_of_accounts_show_names_and_bios(alice, bob):
    await bob.post_json("/accounts/settings/", display_name="Bob", bio="Fixes computers.", link="")
    await bob.post_json("/@alice/follow/")
    assert (await alice.get_json("/@alice/followers/")).json()["accounts"][0]["bio"] == "Fixes computers."
    assert "Fixes computers." in (await alice.get("/@alice/followers/")).text
