"""Publishing, the page of a post, and deletion (docs/reference/interface.md)."""

import re

import pytest

from tests.support.browser import hidden_field

KEY = "a-key-of-the-form"


async def test_the_answer_to_a_published_post_has_the_documented_fields(alice):
    answer = await alice.post_json("/posts/", text="Hello <b> https://example.com/")
    post = answer.json()
    assert answer.status_code == 201
    assert re.fullmatch(r"[1-9][0-9]{0,15}", post["id"])
    assert post["url"] == f"/@alice/{post['id']}/"
    assert post["author"] == {"id": "1", "handle": "alice", "display_name": "alice", "url": "/@alice/"}
    assert post["text"] == "Hello <b> https://example.com/"
    assert post["html"].startswith("Hello &lt;b&gt; <a ")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", post["created_at"])
    assert (post["in_reply_to"], post["boost_of"]) == (None, None)
    assert post["counts"] == {"replies": 0, "boosts": 0, "likes": 0}
    assert post["viewer"] == {"own": True, "liked": False, "boosted": False, "bookmarked": False}


async def test_publishing_by_form_redirects_to_home_or_to_next(alice):
    answer = await alice.post("/posts/", text="one")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    answer = await alice.post("/posts/", text="two", next="/public/")
    assert answer.headers["location"] == "/public/"
    answer = await alice.post("/posts/", text="three", next="//evil.example/")
    assert answer.headers["location"] == "/"


async def test_the_same_key_returns_the_same_post(alice):
    first = await alice.post_json("/posts/", text="once", idempotency_key=KEY)
    again = await alice.post_json("/posts/", text="once", idempotency_key=KEY)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json()["id"] == again.json()["id"]
    assert len((await alice.get_json("/")).json()["posts"]) == 1


async def test_the_same_key_with_another_text_is_refused(alice):
    await alice.post_json("/posts/", text="once", idempotency_key=KEY)
    answer = await alice.post_json("/posts/", text="twice", idempotency_key=KEY)
    assert (answer.status_code, answer.json()["error"]) == (409, "idempotency_conflict")


@pytest.mark.parametrize(("status", "deletes"), [(409, False), (404, True)])
async def test_a_used_key_is_replaced_so_that_the_text_can_be_sent(alice, status, deletes):
    """Without scripts the browser's "back" shows the old form with its old key."""
    post = await alice.publish("once", idempotency_key=KEY)
    if deletes:
        await alice.post_json(f"/posts/{post['id']}/delete/")
    text = "once" if deletes else "twice"
    refused = await alice.post("/posts/", text=text, idempotency_key=KEY)
    assert refused.status_code == status
    assert f">\n{text}</textarea>" in refused.text
    again = await alice.post("/posts/", text=text, idempotency_key=hidden_field(refused.text, "idempotency_key"))
    assert again.status_code == 303


@pytest.mark.parametrize("text", ["", "   ", "\u200b", "a" * 501, "x" * 20_000])
async def test_a_refused_text_reappears_in_its_box(alice, text):
    answer = await alice.post("/posts/", text=text, idempotency_key=KEY, next="/public/")
    assert answer.status_code == 422
    assert hidden_field(answer.text, "idempotency_key") == KEY
    assert 'name="next" value="/public/"' in answer.text
    assert f">\n{text}</textarea>" in answer.text
    assert re.search(r'id="composer-error" role="alert">[^<]{5,}<', answer.text)


async def test_a_refused_text_in_json_names_its_field(alice):
    answer = await alice.post_json("/posts/", text="a" * 501)
    assert answer.status_code == 422
    assert list(answer.json()["fields"]) == ["text"]


@pytest.mark.parametrize("answered", ["x", "-1", "0" * 17, "9007199254740992", "1e3", "٣"])
async def test_a_reply_to_an_invalid_id_is_refused(alice, answered):
    answer = await alice.post_json("/posts/", text="hello", in_reply_to=answered)
    assert (answer.status_code, list(answer.json()["fields"])) == (422, ["in_reply_to"])


async def test_a_key_of_more_than_128_characters_is_refused(alice):
    assert (await alice.post_json("/posts/", text="a", idempotency_key="k" * 129)).status_code == 422
    assert (await alice.post_json("/posts/", text="a", idempotency_key="k" * 128)).status_code == 201


async def test_ids_may_be_numbers(alice):
    post = await alice.publish("first")
    assert (await alice.publish("second", in_reply_to=int(post["id"])))["in_reply_to"] == post["id"]


async def test_a_thread_shows_ancestors_and_replies(alice, bob, visitor):
    post = await alice.publish("the question")
    reply = await bob.publish("the answer", in_reply_to=post["id"])
    for url in (post["url"], reply["url"]):
        texts = re.findall(r'class="post-text"[^>]*>([^<]*)<', (await visitor.get(url)).text)
        assert texts == ["the question", "the answer"]
    thread = (await visitor.get_json(post["url"])).json()
    assert thread["counts"]["replies"] == 1
    assert [each["id"] for each in thread["replies"]] == [reply["id"]]
    assert (await visitor.get_json(reply["url"])).json()["parent"]["id"] == post["id"]


async def test_many_replies_are_paged(alice):
    post = await alice.publish("the question")
    replies = [(await alice.publish(f"answer {n}", in_reply_to=post["id"]))["id"] for n in range(5)]
    first = (await alice.get_json(f"{post['url']}?limit=3")).json()
    assert [each["id"] for each in first["replies"]] == replies[:3]
    rest = (await alice.get_json(first["next"])).json()
    assert [each["id"] for each in rest["replies"]] == replies[3:]
    assert rest["next"] is None


async def test_the_reply_box_publishes_a_reply_and_redirects_to_the_post(alice):
    post = await alice.publish("the question")
    page = (await alice.get(post["url"])).text
    answer = await alice.post(
        "/posts/",
        text="the answer",
        in_reply_to=hidden_field(page, "in_reply_to"),
        next=re.findall(r'name="next" value="([^"]*)"', page)[0],
        idempotency_key=hidden_field(page, "idempotency_key"),
    )
    assert answer.headers["location"] == post["url"]
    assert "the answer" in (await alice.get(post["url"])).text


@pytest.mark.parametrize("handle", ["bob", "ALICE", "nobody"])
async def test_a_wrong_handle_before_an_id_redirects_to_the_right_one(alice, visitor, handle):
    post = await alice.publish("hello")
    answer = await visitor.get(f"/@{handle}/{post['id']}/")
    assert (answer.status_code, answer.headers["location"]) == (301, post["url"])


async def test_a_deleted_post_disappears_from_every_page(alice, visitor):
    post = await alice.publish("regrettable")
    answer = await alice.post_json(f"/posts/{post['id']}/delete/")
    assert (answer.status_code, answer.json()) == (200, {"deleted": post["id"]})
    for path in (post["url"], "/public/", "/@alice/"):
        assert "regrettable" not in (await visitor.get(path)).text
    assert (await visitor.get_json(post["url"])).status_code == 404


async def test_a_deletion_by_form_redirects_to_home(alice):
    post = await alice.publish("regrettable")
    answer = await alice.post(f"/posts/{post['id']}/delete/")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")


async def test_a_repeated_deletion_is_a_success(alice, bob):
    post = await alice.publish("regrettable")
    path = f"/posts/{post['id']}/delete/"
    for _ in range(2):
        answer = await alice.post_json(path)
        assert (answer.status_code, answer.json()) == (200, {"deleted": post["id"]})
    assert (await alice.post(path)).status_code == 303
    assert (await bob.post_json(path)).status_code == 404


async def test_a_post_is_deleted_only_by_its_author(alice, bob):
    post = await alice.publish("mine")
    answer = await bob.post_json(f"/posts/{post['id']}/delete/")
    assert (answer.status_code, answer.json()["error"]) == (404, "not_found")
    assert (await bob.get(post["url"])).status_code == 200


async def test_only_the_author_sees_the_delete_button(alice, bob):
    post = await alice.publish("mine")
    delete = f"/posts/{post['id']}/delete/"
    assert delete in (await alice.get("/public/")).text
    assert delete not in (await bob.get("/public/")).text


@pytest.mark.parametrize("path", ["/posts/", "/posts/7/delete/", "/lists/", "/@alice/follow/"])
async def test_a_visitor_is_sent_to_sign_in(visitor, path):
    answer = await visitor.post(path, text="hello")
    assert (answer.status_code, answer.headers["location"]) == (303, "/accounts/login/?next=%2F")
    answer = await visitor.post_json(path, text="hello")
    assert (answer.status_code, answer.json()["error"]) == (401, "sign_in_needed")


@pytest.mark.parametrize("post_id", ["0", "007", "9007199254740992", "99999999999999999", "٣", "x"])
async def test_an_address_with_an_invalid_id_is_not_found(visitor, post_id):
    assert (await visitor.get(f"/@alice/{post_id}/")).status_code == 404


async def test_pages_of_replies_are_full_when_some_are_hidden(alice, bob, site):
    post = await alice.publish("A question.")
    for number in range(4):
        await bob.publish(f"hidden {number}", in_reply_to=post["id"])
    reply_ids = [(await alice.publish(f"reply {n}", in_reply_to=post["id"]))["id"] for n in range(4)]
    account = await site.accounts.get_by_handle("bob")
    await site.accounts.suspend(account_id=account.id)
    first = (await alice.get_json(f"{post['url']}?limit=3")).json()
    assert [reply["id"] for reply in first["replies"]] == reply_ids[:3]
    rest = (await alice.get_json(first["next"])).json()
    assert [reply["id"] for reply in rest["replies"]] == reply_ids[3:]
    assert rest["next"] is None
