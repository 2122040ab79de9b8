"""Delete and redraft: the form has all that the post says, and publishing it deletes the post."""

import asyncio
import re

from tests.support.browser import HttpBrowser


def value_of(page: str, name: str) -> str:
    found = re.search(rf'name="{re.escape(name)}" value="([^"]*)"', page)
    return found[1] if found else ""


async def test_the_form_contains_all_fields_of_the_post(alice: HttpBrowser) -> None:
    parent = await alice.publish("a question")
    fields: dict[str, object] = {
        "text": "worth <b>another</b> try", "spoiler_text": "Spiders", "language": "de", "audience": "unlisted",
        "in_reply_to": parent["id"],
    }  # fmt: skip
    post = (await alice.post_json("/posts/", **fields)).json()
    assert f'href="/posts/{post["id"]}/redraft/"' in (await alice.get("/")).text
    page = (await alice.get(f"/posts/{post['id']}/redraft/")).text
    assert "worth &lt;b&gt;another&lt;/b&gt; try</textarea>" in page
    assert value_of(page, "spoiler_text") == "Spiders"
    assert value_of(page, "redraft_of") == post["id"]
    assert value_of(page, "in_reply_to") == parent["id"]
    assert '<option value="de" lang="de" selected>' in page
    assert '<option value="unlisted" selected>' in page
    sent = (await alice.get_json(f"/posts/{post['id']}/redraft/")).json()
    assert fields.items() <= sent.items()


async def test_the_form_has_the_poll(alice: HttpBrowser) -> None:
    poll = {"poll[options]": ["yes", "no"], "poll[expires_in]": 3600, "poll[multiple]": "on"}
    post = (await alice.post_json("/posts/", text="agreed?", **poll)).json()
    page = (await alice.get(f"/posts/{post['id']}/redraft/")).text
    assert re.findall(r'name="poll\[options\]\[\]" value="([^"]+)"', page) == ["yes", "no"]
    assert re.search(r'<option value="3600"[^>]* selected', page)


async def test_the_old_post_is_deleted_once_the_new_one_is_published(alice: HttpBrowser, visitor: HttpBrowser) -> None:
    old = await alice.publish("frist try")
    await alice.get(f"/posts/{old['id']}/redraft/")
    assert (await visitor.get(old["url"])).status_code == 200
    refused = await alice.post("/posts/", text=" ", redraft_of=old["id"])
    assert refused.status_code == 422
    assert value_of(refused.text, "redraft_of") == old["id"]
    assert (await visitor.get(old["url"])).status_code == 200
    published = await alice.post("/posts/", text="first try", redraft_of=old["id"], next="/@alice/")
    assert published.headers["location"] == "/@alice/"
    assert (await visitor.get(old["url"])).status_code == 404
    page = (await visitor.get("/@alice/")).text
    assert "first try" in page
    assert "frist try" not in page


async def test_a_repeated_redraft_publishes_once(alice: HttpBrowser) -> None:
    old = await alice.publish("frist try")
    fields = {"text": "first try", "redraft_of": old["id"], "idempotency_key": "k"}
    answers = [await alice.post_json("/posts/", **fields), await alice.post_json("/posts/", **fields)]
    answers += await asyncio.gather(*(alice.post_json("/posts/", **fields) for _ in range(3)))
    assert [answer.status_code for answer in answers] == [201] * 5
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert [post["text"] for post in (await alice.get_json("/@alice/")).json()["posts"]] == ["first try"]


async def test_only_the_author_redrafts_a_post(alice: HttpBrowser, bob: HttpBrowser) -> None:
    post = await alice.publish("mine")
    assert (await bob.get(f"/posts/{post['id']}/redraft/")).status_code == 404
    await alice.post_json(f"/posts/{post['id']}/boost/")
    boost = (await alice.get_json("/@alice/")).json()["posts"][0]
    for author, redraft_of in ((bob, post["id"]), (bob, "1"), (alice, boost["id"]), (alice, "x")):
        refused = await author.post_json("/posts/", text="words", redraft_of=redraft_of)
        assert list(refused.json()["fields"]) == ["redraft_of"]
    assert [each["text"] for each in (await bob.get_json("/@bob/")).json()["posts"]] == []
    assert (await bob.get(post["url"])).status_code == 200
