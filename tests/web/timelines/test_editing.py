"""The form to edit a post, the page of its versions, and what pages and feeds show of an edit."""

import re
from typing import Any
from xml.etree import ElementTree as ET

from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.web.services import loop_services
from tests.support.browser import HttpBrowser, hidden_field

ATOM = "{http://www.w3.org/2005/Atom}"


async def edited(browser: HttpBrowser, post: dict[str, Any], **fields: object) -> dict[str, Any]:
    answer = await browser.post_json(f"/posts/{post['id']}/edit/", **fields)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_the_form_contains_the_newest_version_and_redirects_to_the_post(alice):
    post = await alice.publish("fisrt", spoiler_text="warning", language="en")
    form = await alice.get(f"/posts/{post['id']}/edit/")
    assert ">\nfisrt</textarea>" in form.text
    assert hidden_field(form.text, "version") == "0"
    assert '<option value="en" lang="en" selected>' in form.text
    assert "composer-audience" not in form.text
    assert f'href="/posts/{post["id"]}/edit/"' in (await alice.get(post["url"])).text
    answer = await alice.post(f"/posts/{post['id']}/edit/", text="first", version="0")
    assert (answer.status_code, answer.headers["location"]) == (303, post["url"])
    newest = (await alice.get_json(post["url"])).json()
    assert (newest["text"], newest["spoiler_text"], newest["language"]) == ("first", "warning", "en")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", newest["edited_at"])
    assert newest["created_at"] == post["created_at"]
    assert "edited_at" not in post


async def test_the_entry_shows_that_and_when_it_was_edited(alice):
    post = await alice.publish("first")
    assert "post-edited" not in (await alice.get("/")).text
    await edited(alice, post, text="second")
    page = (await alice.get("/")).text
    assert f'<a class="post-edited" href="{post["url"]}history/">Edited <time datetime="' in page
    assert 'data-version="1"' in page


async def test_the_source_of_a_post_is_read_as_json_by_its_author_alone(alice, open_browser):
    post = await alice.publish("first", spoiler_text="warning")
    source = (await alice.get_json(f"/posts/{post['id']}/edit/")).json()
    assert source == {
        "id": post["id"], "text": "first", "spoiler_text": "warning", "sensitive": "", "language": "", "version": "0",
        "quote_approval_policy": "",
    }  # fmt: skip
    bob = await open_browser("bob")
    for answer in (
        await bob.get_json(f"/posts/{post['id']}/edit/"),
        await bob.post_json(f"/posts/{post['id']}/edit/", text="mine"),
    ):
        assert answer.status_code == 404
    visitor = await open_browser()
    assert (await visitor.get_json(f"/posts/{post['id']}/edit/")).status_code == 401
    assert (await visitor.post_json(f"/posts/{post['id']}/edit/", text="mine")).status_code == 401


async def test_a_refused_edit_stays_in_the_form_with_the_reason(alice):
    post = await alice.publish("first")
    url = f"/posts/{post['id']}/edit/"
    refused = await alice.post(url, text="x" * 501, spoiler_text="warning", version="0")
    assert refused.status_code == 422
    assert "x" * 501 in refused.text
    assert 'value="warning"' in refused.text
    assert "at most 500 characters" in refused.text
    assert hidden_field(refused.text, "version") == "0"
    assert (await alice.get_json(post["url"])).json()["text"] == "first"


async def test_an_edit_of_an_older_version_is_refused_once(alice):
    post = await alice.publish("first")
    url = f"/posts/{post['id']}/edit/"
    await edited(alice, post, text="from a phone", version="0")
    refused = await alice.post(url, text="from a laptop", version="0")
    assert refused.status_code == 409
    assert ">\nfrom a laptop</textarea>" in refused.text
    assert hidden_field(refused.text, "version") == ""
    assert (await alice.post(url, text="from a laptop", version="")).status_code == 303
    assert (await alice.get_json(post["url"])).json()["text"] == "from a laptop"
    assert (await alice.post_json(url, text="x", version="-1")).status_code == 422


async def test_the_history_shows_all_versions_and_marks_the_changed_words(alice, open_browser):
    post = await alice.publish("I like teh <b>tea</b>")
    await edited(alice, post, text="I like the <b>tea</b> very much", spoiler_text="drinks")
    visitor = await open_browser()
    page = (await visitor.get(f"{post['url']}history/")).text
    assert '<del><span class="sr">Removed: </span> teh</del>' in page
    assert '<ins><span class="sr">Added: </span> the</ins>' in page
    assert '<ins><span class="sr">Added: </span> very much</ins>' in page
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert [page.index(f"Version {number}") for number in (2, 1)] == sorted(
        page.index(f"Version {number}") for number in (2, 1)
    )
    assert "Content warning" in page
    versions = (await visitor.get_json(f"{post['url']}history/")).json()["versions"]
    assert [each["text"] for each in versions] == ["I like teh <b>tea</b>", "I like the <b>tea</b> very much"]
    assert [each.get("spoiler_text") for each in versions] == [None, "drinks"]
    assert versions[0]["created_at"] == post["created_at"]


async def test_the_history_of_many_versions_has_pages(alice, open_browser):
    post = await alice.publish("text 0")
    for number in range(1, 12):
        await edited(alice, post, text=f"text {number}")
    visitor, url = await open_browser(), f"{post['url']}history/"
    newest, oldest = (await visitor.get(url)).text, (await visitor.get(f"{url}?page=1")).text
    assert re.findall(r"Version (\d+)", newest) == [str(number) for number in range(12, 2, -1)]
    assert re.findall(r"Version (\d+)", oldest) == ["2", "1"]
    assert f'href="{url}?page=1"' in newest
    assert f'href="{url}?page' not in oldest
    assert '<del><span class="sr">Removed: </span> 0</del>' in oldest
    for number in ("-1", "x", "99", "9" * 400, "²"):
        assert (await visitor.get(f"{url}?page={number}")).status_code == 200
    assert len((await visitor.get_json(url)).json()["versions"]) == 12


async def test_the_history_is_hidden_from_readers_who_may_not_see_the_post(alice, open_browser):
    post = await alice.publish("secret", audience="followers")
    await edited(alice, post, text="still secret")
    bob = await open_browser("bob")
    assert (await bob.get(f"{post['url']}history/")).status_code == 404
    await bob.post_json("/@alice/follow/")
    assert (await bob.get(f"{post['url']}history/")).status_code == 200
    await alice.post_json(f"/posts/{post['id']}/delete/")
    assert (await bob.get(f"{post['url']}history/")).status_code == 404


async def test_a_block_and_a_suspension_hide_the_history(alice, open_browser, site):
    post = await alice.publish("first")
    await edited(alice, post, text="second")
    bob = await open_browser("bob")
    await alice.post_json("/@bob/block/")
    assert (await bob.get(f"{post['url']}history/")).status_code == 404
    visitor = await open_browser()
    assert (await visitor.get(f"{post['url']}history/")).status_code == 200
    await site.accounts.suspend(account_id=int(post["author"]["id"]))
    assert (await visitor.get(f"{post['url']}history/")).status_code == 404


async def test_the_history_of_a_boost_and_of_another_handle_is_that_of_the_original(alice, open_browser):
    post = await alice.publish("first")
    bob = await open_browser("bob")
    await bob.post_json(f"/posts/{post['id']}/boost/")
    (boost,) = (await bob.get_json("/@bob/")).json()["posts"]
    for url in (f"/@bob/{boost['id']}/history/", f"/@bob/{post['id']}/history/"):
        answer = await bob.get(url)
        assert (answer.status_code, answer.headers["location"]) == (301, f"{post['url']}history/")


async def test_feeds_say_when_an_entry_was_edited(alice, open_browser):
    post = await alice.publish("first #tea")
    visitor = await open_browser()
    before = await visitor.get("/@alice/feed.atom")
    newest = await edited(alice, post, text="second #cake")
    after = await visitor.get("/@alice/feed.atom", **{"If-None-Match": before.headers["etag"]})
    assert after.status_code == 200
    (entry,) = ET.fromstring(after.text).findall(f"{ATOM}entry")
    assert entry.findtext(f"{ATOM}title") == "second #cake"
    assert entry.findtext(f"{ATOM}updated")[:19] == newest["edited_at"][:19]
    assert entry.findtext(f"{ATOM}published")[:19] == post["created_at"][:19]
    for tag, count in (("tea", 0), ("cake", 1)):
        feed = ET.fromstring((await visitor.get(f"/tags/{tag}/feed.atom")).text)
        assert len(feed.findall(f"{ATOM}entry")) == count


async def test_edits_have_a_limit_of_their_own(redis_url, open_browser):
    async with open_services(redis_url, ServiceConfig(rate_limits={"edit": 2})) as limited:
        loop_services.bind(limited)
        alice = await open_browser("alice")
        post = await alice.publish("0")
        for text in ("1", "2"):
            await edited(alice, post, text=text)
        refused = await alice.post(f"/posts/{post['id']}/edit/", text="typed text")
        assert refused.status_code == 429
        assert ">\ntyped text</textarea>" in refused.text
        assert (await alice.get_json(post["url"])).json()["text"] == "2"
