"""Several posts of one form: published in order as a thread, all or none, and each once."""

import re

import pytest

from tests.support.browser import HttpBrowser, hidden_field

KEY = "a-key-of-the-form"


async def texts_in_order(browser: HttpBrowser) -> list[str]:
    posts = (await browser.get_json("/@alice/")).json()["posts"]
    return [post["text"] for post in reversed(posts)]


async def test_the_posts_of_a_form_are_published_in_order_each_as_an_answer_to_the_one_before(alice, bob):
    form = {"text": "one", "more[]": ["two", "three"], "audience": "unlisted", "spoiler_text": "numbers"}
    answer = (await alice.post_json("/posts/", **form, language="en")).json()
    posts = [(await bob.get_json(f"/@alice/{id}/")).json() for id in answer["thread"]]
    assert [post["text"] for post in posts] == ["one", "two", "three"]
    assert [post["in_reply_to"] for post in posts] == [None, posts[0]["id"], posts[1]["id"]]
    for name, value in (("audience", "unlisted"), ("spoiler_text", "numbers"), ("language", "en")):
        assert [post[name] for post in posts] == [value] * 3


async def test_a_form_that_is_sent_again_publishes_only_what_is_missing(alice):
    form = {"text": "one", "more[]": ["two", "same", "same"], "idempotency_key": KEY}
    first = (await alice.post_json("/posts/", **form)).json()
    assert (await alice.post_json("/posts/", **form)).json()["thread"] == first["thread"]
    longer = (await alice.post_json("/posts/", **{**form, "more[]": [*form["more[]"], "five"]})).json()
    assert longer["thread"][:-1] == first["thread"]
    assert await texts_in_order(alice) == ["one", "two", "same", "same", "five"]


@pytest.mark.parametrize("text", ["x" * 501, "a badword here", "\u200b"])
async def test_nothing_is_published_if_a_post_is_refused_and_all_texts_are_kept(alice, site, text):
    await site.site.change(blocked_words=("badword",))
    form = {"text": "one", "more[]": ["two", text], "idempotency_key": KEY}
    refused = await alice.post_json("/posts/", **form)
    assert refused.status_code == 422
    ((name, reason),) = refused.json()["fields"].items()
    assert name == "more-3"
    assert reason.startswith("Post 3: ")
    page = (await alice.post("/posts/", **form)).text
    assert hidden_field(page, "idempotency_key") == KEY
    assert [f">\n{each}</textarea>" in page for each in ("one", "two", text)] == [True] * 3
    assert await texts_in_order(alice) == []
    assert (await alice.post("/posts/", **{**form, "more[]": ["two", "three"]})).status_code == 303
    assert await texts_in_order(alice) == ["one", "two", "three"]


async def test_blank_boxes_are_left_out(alice):
    await alice.post("/posts/", text="one", **{"more[]": ["", "two", " \n"]})
    assert await texts_in_order(alice) == ["one", "two"]


async def test_the_rate_limit_counts_each_post_and_publishes_no_half_thread(limited_site, open_browser):
    alice = await open_browser("alice")
    await alice.publish("before")
    refused = await alice.post_json("/posts/", text="one", **{"more[]": ["two", "three"]})
    assert refused.status_code == 429
    assert await texts_in_order(alice) == ["before"]
    assert (await alice.post_json("/posts/", text="one", **{"more[]": ["two"]})).status_code == 201
    assert (await alice.post_json("/posts/", text="after")).status_code == 429
    too_many = await alice.post_json("/posts/", text="1", **{"more[]": ["2", "3", "4"]})
    assert too_many.json()["fields"] == {"more": "You can publish 3 posts at once."}


async def test_a_thread_has_at_most_25_posts(alice):
    assert (await alice.post_json("/posts/", text="1", **{"more[]": ["x"] * 25})).status_code == 422
    assert len((await alice.post_json("/posts/", text="1", **{"more[]": ["x"] * 24})).json()["thread"]) == 25


async def test_a_button_shows_the_form_with_one_box_more(alice):
    page = (await alice.post("/posts/", text="one", add="post", idempotency_key=KEY)).text
    assert re.findall(r'<label for="further-\d">([^<]+)<', page) == ["Post 2"]
    page = (await alice.post("/posts/", text="one", add="post", **{"more[]": ["two"]})).text
    assert re.findall(r'<label for="further-\d">([^<]+)<', page) == ["Post 2", "Post 3"]
    assert ">\ntwo</textarea>" in page
    assert await texts_in_order(alice) == []
    page = (await alice.post("/posts/", text="one", add="post", **{"more[]": ["x"] * 24})).text
    assert page.count('<label for="further-') == 25  # with the box of the template


async def test_a_draft_keeps_all_posts_of_a_thread(alice):
    draft = (await alice.post_json("/drafts/", text="one", **{"more[]": ["two", "three"]})).json()
    page = (await alice.get(f"/drafts/{draft['id']}/")).text
    assert all(f">\n{text}</textarea>" in page for text in ("one", "two", "three"))


async def test_a_repeated_form_counts_only_the_missing_posts(limited_site, open_browser):
    alice = await open_browser("alice")
    form = {"text": "one", "idempotency_key": KEY}
    first = await alice.post_json("/posts/", **form)  # a process that stopped before the second post
    repeated = await alice.post_json("/posts/", **form, **{"more[]": ["two", "three"]})
    assert repeated.status_code == 201, repeated.text
    assert repeated.json()["thread"][0] == first.json()["id"]
    again = await alice.post_json("/posts/", **form, **{"more[]": ["two", "three"]})
    assert again.json()["thread"] == repeated.json()["thread"]
    assert await texts_in_order(alice) == ["one", "two", "three"]
    assert (await alice.post_json("/posts/", text="four")).status_code == 429
