"""A reply to another account shows one line of the post that it answers, if the reader may see that post."""

import pytest

from tests.support.browser import HttpBrowser


async def line(reader: HttpBrowser, path: str, reply: dict[str, object]) -> str:
    """Return the text of the line above the text of the reply."""
    page = (await reader.get(path)).text
    entry = page.split(f'data-post-id="{reply["id"]}"')[1].split("</article>")[0]
    return entry.split('<p class="post-context">')[1].split("</p>")[0]


@pytest.mark.parametrize("path", ["/", "/@bob/", "/public/?replies=1"])
async def test_a_reply_shows_the_first_words_of_the_post_that_it_answers(
    alice: HttpBrowser, bob: HttpBrowser, visitor: HttpBrowser, path: str
) -> None:
    question = await alice.publish("what <b>is</b>\n\nthe time? " + "tick " * 60)
    reply = await bob.publish("noon", in_reply_to=question["id"])
    reader = bob if path == "/" else visitor
    for _ in range(2):  # the second time from the caches of the process
        shown = await line(reader, path, reply)
        assert '<bdi>@alice</bdi>:</span> <span dir="auto">what &lt;b&gt;is&lt;/b&gt; the time? tick' in shown
        assert shown.count("tick") < 60
    own = await bob.publish("or later", in_reply_to=reply["id"])
    assert "</span>" not in await line(bob, "/@bob/?limit=1", own), "own posts stand above it"


async def test_the_line_says_nothing_that_the_reader_may_not_see(
    alice: HttpBrowser, bob: HttpBrowser, open_browser, world
) -> None:
    carol = await open_browser("carol")
    await carol.post_json("/@bob/follow/")
    warned = await alice.post_json("/posts/", text="the butler", spoiler_text="the film")
    reply = await bob.publish("indeed", in_reply_to=warned.json()["id"])
    await world.deliver_all()
    assert ':</span> <span dir="auto">the film</span>' in await line(carol, "/", reply)
    question = await alice.publish("a question of many words")
    reply = await bob.publish("an answer", in_reply_to=question["id"])
    await world.deliver_all()
    assert "many words" in await line(carol, "/", reply)
    for act, undo in (("block", "unblock"), ("mute", "unmute")):
        await carol.post_json(f"/@alice/{act}/")
        assert "many words" not in await line(carol, "/", reply)
        await carol.post_json(f"/@alice/{undo}/")
        assert "many words" in await line(carol, "/", reply)
    await alice.post_json("/@carol/block/")
    assert "many words" not in (await carol.get("/")).text
    await alice.post_json("/@carol/unblock/")
    await carol.post_json("/accounts/filters/", phrase="many", action="warn")
    assert "many words" not in (await carol.get("/")).text
    await carol.post_json("/@bob/follow/")
    assert "many words" in (await bob.get("/")).text
    await alice.post_json(f"/posts/{question['id']}/delete/")
    assert "many words" not in (await bob.get("/")).text


async def test_the_line_shows_no_post_for_followers_to_others(
    alice: HttpBrowser, bob: HttpBrowser, open_browser, world
) -> None:
    carol = await open_browser("carol")
    await bob.post_json("/@alice/follow/")
    await carol.post_json("/@bob/follow/")
    secret = (await alice.post_json("/posts/", text="for friends", audience="followers")).json()
    reply = await bob.publish("fine", in_reply_to=secret["id"])
    await world.deliver_all()
    assert "for friends" in (await bob.get("/")).text
    for path in ("/", "/@bob/"):
        assert "for friends" not in (await carol.get(path)).text
    assert (await line(bob, "/", reply)).count("for friends") == 1


async def test_the_line_of_an_unlisted_post_is_not_on_public_timelines(
    alice: HttpBrowser, bob: HttpBrowser, visitor: HttpBrowser
) -> None:
    question = (await alice.post_json("/posts/", text="unlisted words", audience="unlisted")).json()
    reply = await bob.publish("an answer #there", in_reply_to=question["id"], audience="public")
    for reader in (visitor, bob, alice):
        if reader is not visitor:
            await reader.post_json("/accounts/preferences/", show_replies="1")
        for path in ("/public/?replies=1", "/tags/there/"):
            page = (await reader.get(path)).text
            assert ("an answer" in page, "unlisted words" in page) == (True, False)
        assert (await line(reader, "/@bob/", reply)).count("unlisted words") == 1
