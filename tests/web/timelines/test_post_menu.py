"""What a post offers besides its text: whom it replies to, its menu, and folding of long posts."""

import pytest

from socialsite.container import Services
from tests.support.browser import HttpBrowser

pytestmark = pytest.mark.usefixtures("site")


async def test_a_reply_links_to_its_parent_by_the_handle_of_the_parents_author(
    alice: HttpBrowser, bob: HttpBrowser
) -> None:
    question = await bob.publish("what is the time?")
    await alice.publish("noon", in_reply_to=question["id"])
    for page in ("/", "/@alice/", "/", "/@alice/"):  # the last page is from the cache of the process
        html = (await alice.get(page)).text
        assert f'<a href="{question["url"]}"><span>Replying to <bdi>@bob</bdi>:</span>' in html


async def test_a_reply_to_a_suspended_account_names_no_account(
    alice: HttpBrowser, bob: HttpBrowser, site: Services
) -> None:
    question = await bob.publish("what is the time?")
    await alice.publish("noon", in_reply_to=question["id"])
    await site.accounts.suspend(account_id=(await site.accounts.get_by_handle("bob")).id)
    html = (await alice.get("/")).text
    assert "Replying to a post" in html
    assert "@bob" not in html


async def test_the_menu_contains_the_allowed_actions_of_the_viewer(
    alice: HttpBrowser, bob: HttpBrowser, visitor: HttpBrowser
) -> None:
    post = await bob.publish("hello")
    others, own, strangers = [(await each.get(post["url"])).text for each in (alice, bob, visitor)]
    for action in ('href="/@bob/lists/"', 'href="/@bob/mute/"', 'href="/@bob/block/"'):
        assert action in others
        assert action not in own
        assert action not in strangers
    assert "data-delete=" in own
    assert "data-delete=" not in others
    assert all("data-copy" in html for html in (others, own, strangers))


async def test_a_block_needs_a_confirmation_and_is_undone_on_the_profile(alice: HttpBrowser, bob: HttpBrowser) -> None:
    assert '<form method="post" action="/@bob/block/">' in (await alice.get("/@bob/block/")).text
    assert "/@bob/unblock/" not in (await alice.get("/@bob/")).text
    await alice.post("/@bob/block/")
    assert 'formaction="/@bob/unblock/"' in (await alice.get("/@bob/")).text


async def test_an_account_is_added_to_a_list_from_its_profile(alice: HttpBrowser, bob: HttpBrowser) -> None:
    friends = (await alice.post_json("/lists/", title="friends")).json()
    assert "/@bob/lists/" in (await alice.get("/@bob/")).text
    assert f'action="/lists/{friends["id"]}/members/"' in (await alice.get("/@bob/lists/")).text
    added = await alice.post(f"/lists/{friends['id']}/members/", handle="bob", next="/@bob/lists/")
    assert added.headers["location"] == "/@bob/lists/"
    row = {"id": friends["id"], "title": "friends", "has_account": True}
    assert (await alice.get_json("/@bob/lists/")).json() == {"lists": [row]}
    assert f'action="/lists/{friends["id"]}/members/remove/"' in (await alice.get("/@bob/lists/")).text


async def test_a_post_of_many_lines_is_folded(alice: HttpBrowser) -> None:
    await alice.publish("short")
    assert 'class="fold"' not in (await alice.get("/")).text
    await alice.publish("\n".join("line" for _ in range(20)))
    assert 'class="fold"' in (await alice.get("/")).text


async def test_a_bio_has_links_and_a_bare_host_becomes_a_web_address(alice: HttpBrowser) -> None:
    bio = "<b> I like #tea, @alice and https://example.org/"
    account = (await alice.post_json("/accounts/settings/", bio=bio, link="example.com")).json()["account"]
    assert account["link"] == "https://example.com"
    html = (await alice.get("/@alice/")).text
    for link in ('href="/tags/tea/"', 'href="/@alice/"', 'href="https://example.org/"'):
        assert link in html.partition('class="bio"')[2].partition("</p>")[0]
    assert "&lt;b&gt;" in html


async def test_a_follow_request_is_answered_in_its_notification(alice: HttpBrowser, bob: HttpBrowser) -> None:
    await alice.post_json("/accounts/settings/", private="1")
    await bob.post_json("/@alice/follow/")
    html = (await alice.get("/notifications/")).text
    assert 'formaction="/@bob/accept/"' in html
    assert 'formaction="/@bob/refuse/"' in html
    assert (await alice.post("/@bob/accept/", next="/notifications/")).headers["location"] == "/notifications/"
    assert 'formaction="/@bob/accept/"' not in (await alice.get("/notifications/")).text
