"""A content warning folds its post on every page. The hidden text is only inside the closed element."""

import re

from tests.support.browser import HttpBrowser
from tests.support.world import World

WARNED = re.compile(r'<details class="warned">(.*?)</summary>.*?</details>', re.DOTALL)


def shown_text(html: str) -> str:
    """Return the page as readers see it before they open a warning."""
    assert WARNED.search(html), "nothing is folded"
    return WARNED.sub(r"\1", html)


async def publish_secret(author: HttpBrowser, text: str = "the butler did it", **fields: object) -> dict[str, object]:
    answer = await author.post_json("/posts/", text=text, spoiler_text="Film <b>ending", **fields)
    assert answer.status_code == 201
    post: dict[str, object] = answer.json()
    return post


async def test_a_warned_post_is_folded_on_every_page(alice: HttpBrowser, bob: HttpBrowser, world: World) -> None:
    await alice.post_json("/@bob/follow/")
    post = await publish_secret(bob, "@alice the butler did it #film")
    assert post["spoiler_text"] == "Film <b>ending"
    reply = await publish_secret(alice, "the butler indeed", in_reply_to=post["id"])
    await world.deliver_all()
    pages = "/", "/public/", "/@bob/", str(post["url"]), str(reply["url"]), "/tags/film/", "/search/?q=butler"
    for path in pages:
        page = shown_text((await alice.get(path)).text)
        assert "butler" not in page.replace("?q=butler", "").replace('value="butler"', ""), path
        assert "Film &lt;b&gt;ending" in page, path


async def test_notifications_show_the_warning_alone(alice: HttpBrowser, bob: HttpBrowser, world: World) -> None:
    post = await publish_secret(alice)
    await bob.post_json(f"/posts/{post['id']}/like/")
    page = (await alice.get("/notifications/")).text
    assert "Film &lt;b&gt;ending" in page
    assert "butler" not in page
    await publish_secret(bob, in_reply_to=post["id"])
    await world.deliver_all()
    assert "butler" not in shown_text((await alice.get("/notifications/")).text)


async def test_previews_of_a_warned_post_show_the_warning_alone(bob: HttpBrowser, visitor: HttpBrowser) -> None:
    post = await publish_secret(bob)
    head = (await visitor.get(str(post["url"]))).text.partition("</head>")[0]
    assert head.count("Film &lt;b&gt;ending") == 2
    assert "butler" not in head


async def test_a_feed_has_the_warning_as_its_title(bob: HttpBrowser, visitor: HttpBrowser) -> None:
    await publish_secret(bob)
    feed = (await visitor.get("/@bob/feed.atom")).text
    assert "<title>Film &lt;b&gt;ending</title>" in feed
    assert "&lt;details&gt;&lt;summary&gt;Film &amp;lt;b&amp;gt;ending&lt;/summary&gt;the butler did it" in feed


async def test_search_and_filters_look_at_the_warning(alice: HttpBrowser, bob: HttpBrowser, world: World) -> None:
    post = await publish_secret(bob)
    await world.deliver_all()
    found = (await alice.get_json("/search/?q=ending")).json()["posts"]
    assert [each["id"] for each in found] == [post["id"]]
    assert (await alice.get_json("/search/?q=ending+butler")).json()["posts"]
    await alice.post_json("/accounts/filters/", phrase="film", action="hide")
    assert (await alice.get_json("/public/")).json()["posts"] == []


async def test_a_boost_of_a_warned_post_is_folded(alice: HttpBrowser, bob: HttpBrowser) -> None:
    post = await publish_secret(bob)
    boost = (await alice.post_json(f"/posts/{post['id']}/boost/")).json()
    assert "butler" not in shown_text((await bob.get("/@alice/")).text)
    assert boost["spoiler_text"] == "Film <b>ending"


async def test_a_reader_who_always_opens_warnings_gets_them_open(alice: HttpBrowser, bob: HttpBrowser) -> None:
    await publish_secret(bob)
    assert "data-open-warnings" not in (await alice.get("/public/")).text
    assert (await alice.post("/accounts/preferences/", open_warnings="1")).status_code == 303
    page = (await alice.get("/public/")).text
    assert '<details class="warned" open>' in page
    assert "data-open-warnings" in page
    assert '<details class="warned">' in (await bob.get("/public/")).text
    assert "the butler did it" in page


async def test_a_refused_warned_post_keeps_all_its_fields(alice: HttpBrowser) -> None:
    fields = {"spoiler_text": "Ending", "language": "de", "sensitive": "on", "audience": "unlisted"}
    refused = await alice.post("/posts/", text="a" * 501, **fields)
    assert refused.status_code == 422
    assert 'name="spoiler_text" value="Ending"' in refused.text
    assert '<option value="de" lang="de" selected>' in refused.text
    assert re.search(r'<details class="composer-warning"[^>]* open>', refused.text)


async def test_a_reply_begins_with_the_warning_of_its_parent(alice: HttpBrowser, bob: HttpBrowser) -> None:
    post = await publish_secret(bob)
    assert 'name="spoiler_text" value="Film &lt;b&gt;ending"' in (await alice.get(str(post["url"]))).text
