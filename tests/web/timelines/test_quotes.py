"""Quotes through HTTP: the form, the card on every page, its gaps, the list of quotes and the revocation."""

import re

import pytest

from tests.support.browser import HttpBrowser
from tests.web.conftest import OpenBrowser

SECRET = "canaryquoted"
GAPS = {
    "revoked": "The author has removed their post from this quote.",
    "deleted": "The quoted post was deleted.",
    "unauthorized": "You cannot see the quoted post.",
}


@pytest.fixture
async def carol(open_browser: OpenBrowser) -> HttpBrowser:
    return await open_browser("carol")


async def quoted_by(author: HttpBrowser, post: dict, text: str = "look #tea", **fields: object) -> dict:
    answer = await author.post_json("/posts/", text=text, quoted_status_id=post["id"], **fields)
    assert answer.status_code == 201, answer.text
    return answer.json()


def pages_of(quote: dict) -> list[str]:
    """Every page that shows the quote, which bob wrote."""
    return [
        quote["url"],
        "/@bob/",
        "/public/",
        "/tags/tea/",
        "/search/?q=look",
        "/@bob/feed.atom",
        "/tags/tea/feed.atom",
    ]


async def test_the_form_shows_the_post_and_publishes_a_quote(alice: HttpBrowser, bob: HttpBrowser) -> None:
    post = await alice.publish(SECRET)
    assert f'href="/posts/{post["id"]}/quote/"' in (await bob.get(post["url"])).text
    page = (await bob.get(f"/posts/{post['id']}/quote/")).text
    assert SECRET in page
    assert f'<input type="checkbox" name="quoted_status_id" value="{post["id"]}" checked>' in page
    answer = await bob.post("/posts/", text="look", quoted_status_id=post["id"], next=post["url"])
    assert (answer.status_code, answer.headers["location"]) == (303, post["url"])
    page = await bob.get_json(post["url"])
    assert (page.json()["quotes_count"], page.json()["quote_approval"]["current_user"]) == (1, "automatic")
    assert f'<a href="/posts/{post["id"]}/quotes/">' in (await bob.get(post["url"])).text
    listed = (await bob.get_json(f"/posts/{post['id']}/quotes/")).json()["posts"]
    assert [each["text"] for each in listed] == ["look"]
    assert listed[0]["quote"]["quoted_status"]["text"] == SECRET
    assert SECRET in (await bob.get(f"/posts/{post['id']}/quotes/")).text


async def test_every_page_shows_the_quoted_post_and_after_its_deletion_a_gap(
    alice: HttpBrowser, bob: HttpBrowser, visitor: HttpBrowser, world
) -> None:
    await visitor.get("/public/")
    post = await alice.publish(f"{SECRET} <b>", spoiler_text="hot")
    quote = await quoted_by(bob, post)
    await world.deliver_all()
    for path in pages_of(quote):
        page = (await visitor.get(path)).text
        assert "hot" in page, path
        assert SECRET in page, path
        assert "<b>" not in page
    assert (await alice.post_json(f"/posts/{post['id']}/delete/")).status_code == 200
    for path in pages_of(quote):
        page = (await visitor.get(path)).text
        assert SECRET not in page, path
        assert GAPS["deleted"] in page, path


async def test_a_quote_that_the_viewer_may_not_see_leaks_nowhere(
    alice: HttpBrowser, bob: HttpBrowser, carol: HttpBrowser, world
) -> None:
    post = await alice.publish(SECRET)
    quote = await quoted_by(bob, post)
    await world.deliver_all()
    assert (await carol.post_json("/@bob/follow/")).status_code == 200
    filters = "/accounts/filters/"
    for way, data, undo, state, gap in (
        ("/@alice/mute/", {}, "/@alice/unmute/", "muted_account", "You muted @alice."),
        ("/@alice/block/", {}, "/@alice/unblock/", "blocked_account", "You blocked @alice. You don"),
        (filters, {"phrase": SECRET, "action": "hide"}, "{id}delete/", "accepted", f"Hidden by your filter: {SECRET}"),
    ):
        done = await carol.post_json(way, **data)
        assert done.status_code in (200, 201)
        for path in [*pages_of(quote)[:-2], "/"]:
            page, data = (await carol.get(path)).text, (await carol.get_json(path)).text
            assert gap in page, path
            assert f'"state":"{state}","quoted_status":null' in data, path
            assert SECRET not in (page + data).replace(gap, ""), path
        undo = undo.format(id=f"{filters}{done.json().get('id')}/")
        assert (await carol.post_json(undo)).status_code in (200, 204)
    assert SECRET in (await carol.get("/")).text


async def test_the_quoted_author_removes_the_post_from_the_quote(alice: HttpBrowser, bob: HttpBrowser, world) -> None:
    post = await alice.publish(SECRET)
    quote = await quoted_by(bob, post)
    await world.deliver_all()
    notice = (await alice.get_json("/notifications/")).json()["notifications"][0]
    assert (notice["kind"], notice["post"]["id"]) == ("quote", quote["id"])
    assert "quoted your post" in (await alice.get("/notifications/")).text
    button = f'formaction="/posts/{quote["id"]}/unquote/"'
    assert button in (await alice.get(quote["url"])).text
    assert button not in (await bob.get(quote["url"])).text
    assert (await bob.post_json(f"/posts/{quote['id']}/unquote/")).status_code == 404
    answer = await alice.post(f"/posts/{quote['id']}/unquote/", next=quote["url"])
    assert (answer.status_code, answer.headers["location"]) == (303, quote["url"])
    for browser in (alice, bob):
        assert (await browser.get_json(quote["url"])).json()["quote"] == {"state": "revoked", "quoted_status": None}
        page = (await browser.get(quote["url"])).text
        assert GAPS["revoked"] in page
        assert SECRET not in page
    assert (await bob.get_json(post["url"])).json()["quotes_count"] == 0


@pytest.mark.parametrize("policy", ["followers", "nobody"])
async def test_a_quote_policy_refuses_the_form_and_the_post(alice: HttpBrowser, bob: HttpBrowser, policy: str) -> None:
    post = await alice.publish("mine", quote_approval_policy=policy)
    assert post["quote_approval_policy"] == policy
    assert ("/quote/" in (await bob.get(post["url"])).text) == (policy == "followers")
    assert (await bob.get_json(f"/posts/{post['id']}/quote/")).json()["error"] == "not_quotable"
    refused = await bob.post_json("/posts/", text="look", quoted_status_id=post["id"])
    assert (refused.status_code, list(refused.json()["fields"])) == (422, ["quoted_status_id"])
    page = (await bob.post("/posts/", text="typed words", quoted_status_id=post["id"])).text
    assert "typed words" in page
    assert "does not allow you to quote it" in page
    assert f'name="quoted_status_id" value="{post["id"]}" checked' in page
    approval = (await bob.get_json(post["url"])).json()["quote_approval"]
    assert approval == {"automatic": [] if policy == "nobody" else [policy], "manual": [], "current_user": "denied"}


async def test_the_preference_is_stored_and_shown(alice: HttpBrowser, bob: HttpBrowser) -> None:
    post = await alice.publish("mine")
    assert (await alice.post_json("/accounts/preferences/", quote_policy="nobody")).json()["quote_policy"] == "nobody"
    assert 'value="nobody" checked' in (await alice.get("/accounts/preferences/")).text
    assert (await alice.post_json("/accounts/preferences/", quote_policy="x")).status_code == 422
    assert (await bob.get_json(f"/posts/{post['id']}/quote/")).status_code == 403


@pytest.mark.parametrize(
    ("name", "value"),
    [("quoted_status_id", "x"), ("quoted_status_id", "8888888888888888"), ("quote_approval_policy", "friends")],
)
async def test_bad_fields_are_refused(alice: HttpBrowser, name: str, value: str) -> None:
    answer = await alice.post_json("/posts/", text="look", **{name: value})
    assert (answer.status_code, list(answer.json()["fields"])) == (422, [name])


async def test_an_edit_and_a_redraft_keep_the_quote(alice: HttpBrowser, bob: HttpBrowser) -> None:
    post = await alice.publish(SECRET)
    quote = await quoted_by(bob, post)
    edited = await bob.post_json(f"/posts/{quote['id']}/edit/", text="newer")
    assert edited.json()["quote"]["state"] == "accepted"
    form = (await bob.get_json(f"/posts/{quote['id']}/redraft/")).json()
    assert form["quoted_status_id"] == post["id"]
    again = await bob.post_json("/posts/", **{**form, "text": "again"})
    assert again.json()["quote"]["quoted_status"]["id"] == post["id"]
    assert (await bob.get_json(post["url"])).json()["quotes_count"] == 1


async def test_a_draft_keeps_the_quote(alice: HttpBrowser, bob: HttpBrowser) -> None:
    post = await alice.publish(SECRET)
    draft = (await bob.post_json("/drafts/", text="later", quoted_status_id=post["id"])).json()
    assert draft["params"]["quoted_status_id"] == [post["id"]]
    assert f'value="{post["id"]}" checked' in (await bob.get(f"/drafts/{draft['id']}/")).text


async def test_a_quote_in_a_quote_is_a_link(alice: HttpBrowser, bob: HttpBrowser, carol: HttpBrowser) -> None:
    post = await alice.publish(SECRET)
    quote = await quoted_by(bob, post)
    outer = await quoted_by(carol, quote, "outer")
    assert "quote" not in outer["quote"]["quoted_status"]
    page = (await alice.get(outer["url"])).text
    assert SECRET not in page
    assert re.search(rf'<a href="{quote["url"]}">Show the post that it quotes</a>', page)


async def test_a_german_reader_sees_a_german_gap(alice: HttpBrowser, bob: HttpBrowser) -> None:
    post = await alice.publish(SECRET)
    quote = await quoted_by(bob, post)
    await alice.post_json(f"/posts/{post['id']}/delete/")
    page = await bob.http.get(quote["url"], headers={"Accept-Language": "de"})
    assert "Der zitierte Beitrag wurde gelöscht." in page.text
