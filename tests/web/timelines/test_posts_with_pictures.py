"""Posts with pictures, and the avatars and headers of accounts, over HTTP."""

import re
from collections.abc import Callable

import pytest

from socialsite.container import Services
from tests.support.browser import HttpBrowser
from tests.support.pictures import encode_meanwhile, picture

Post = Callable[..., object]
PNG = ("x.png", picture(format="PNG"), "image/png")
TEXT = ("x.png", b"no picture", "image/png")


@pytest.fixture
def send(site: Services):
    """POST multipart fields and files, and encode uploads meanwhile."""

    async def post(browser: HttpBrowser, path: str, files: dict[str, object], *, json: bool = True, **fields: object):
        headers = {"X-CSRFToken": browser.csrf_token} | ({"Accept": "application/json"} if json else {})
        return await encode_meanwhile(site, browser.http.post(path, data=fields, files=files, headers=headers))

    return post


@pytest.fixture
def upload(send):
    async def post(browser: HttpBrowser, **fields: object) -> dict[str, object]:
        answer = await send(browser, "/media/", {"file": PNG}, **fields)
        assert answer.status_code == 200, answer.text
        return answer.json()

    return post


async def test_a_post_contains_the_pictures_in_the_order_of_their_ids(alice, visitor, upload):
    ids = [(await upload(alice, description=f"number {n}"))["id"] for n in range(3)]
    answer = await alice.post_json("/posts/", text="", **{"media_ids[]": [ids[2], ids[0], ids[1]]})
    assert answer.status_code == 201, answer.text
    post = answer.json()
    assert [each["description"] for each in post["media_attachments"]] == ["number 2", "number 0", "number 1"]
    assert (await visitor.get(post["media_attachments"][0]["url"])).status_code == 200
    page = (await visitor.get(post["url"])).text
    assert page.count('<a class="picture"') == 3
    assert f'<meta property="og:image" content="http://testserver{post["media_attachments"][0]["url"]}">' in page


async def test_a_repeated_request_finds_its_pictures(alice, upload):
    fields = {"text": "once", "media_ids": (await upload(alice))["id"], "idempotency_key": "k" * 20}
    first, second = [(await alice.post_json("/posts/", **fields)).json() for _ in range(2)]
    assert first["id"] == second["id"]
    assert second["media_attachments"] == first["media_attachments"]


async def test_each_further_post_of_a_thread_has_pictures_of_its_own(alice, bob, upload):
    first, second, third = [(await upload(alice, description=f"picture {n}"))["id"] for n in range(3)]
    fields = {"more[]": ["", "three", ""], "more_media[]": [f"{second} {third}", "", ""]}
    refused = await alice.post_json("/posts/", text="one", **{**fields, "more_media[]": ["999", "", ""]})
    assert refused.json()["fields"] == {"more-2": "Post 2: One of the pictures does not exist, or no longer does."}
    draft = (await alice.post_json("/drafts/", text="one", media_ids=first, **fields)).json()
    page = (await alice.get(f"/drafts/{draft['id']}/")).text
    assert f'name="more_media[]" value="{second} {third}"' in page
    assert page.count(f'name="media_ids" value="{first}"') == 1
    assert f'name="media_ids" value="{second}"' not in page
    answer = (await alice.post_json("/posts/", text="one", media_ids=first, sensitive="on", **fields)).json()
    posts = [(await bob.get_json(f"/@alice/{id}/")).json() for id in answer["thread"]]
    assert [post["text"] for post in posts] == ["one", "", "three"]
    descriptions = [[each["description"] for each in post.get("media_attachments", [])] for post in posts]
    assert descriptions == [["picture 0"], ["picture 1", "picture 2"], []]
    assert [post.get("sensitive", False) for post in posts] == [True, True, False]


async def test_no_post_of_a_thread_is_published_if_a_picture_is_in_another_post(alice, upload):
    taken, free = [(await upload(alice))["id"] for _ in range(2)]
    assert (await alice.post_json("/posts/", text="before", media_ids=taken)).status_code == 201
    for media_id, first in ((taken, free), (free, free)):
        fields = {"more[]": ["two", "three"], "more_media[]": ["", media_id], "idempotency_key": f"key {media_id}"}
        refused = await alice.post_json("/posts/", text="one", media_ids=first, **fields)
        reason = "Post 3: One of the pictures does not exist, or no longer does."
        assert refused.json()["fields"] == {"more-3": reason}
    assert [post["text"] for post in (await alice.get_json("/@alice/")).json()["posts"]] == ["before"]
    fields = {"more[]": ["two"], "more_media[]": [free], "idempotency_key": "repeated"}
    answers = [(await alice.post_json("/posts/", text="one", **fields)).json() for _ in range(2)]
    assert answers[0]["thread"] == answers[1]["thread"]


async def test_a_picture_is_in_one_post_of_its_owner(alice, bob, upload):
    media_id = (await upload(alice))["id"]
    assert (await bob.post_json("/posts/", text="stolen", media_ids=media_id)).status_code == 422
    assert (await alice.post_json("/posts/", text="first", media_ids=media_id)).status_code == 201
    again = await alice.post_json("/posts/", text="second", media_ids=media_id)
    assert (again.status_code, set(again.json()["fields"])) == (422, {"media_ids"})
    assert [post["text"] for post in (await alice.get_json("/@alice/")).json()["posts"]] == ["first"]


@pytest.mark.parametrize("ids", [["x"], ["0"], ["999999"], ["1", "2", "3", "4", "5"]])
async def test_wrong_ids_of_pictures_are_refused(alice, ids):
    answer = await alice.post_json("/posts/", text="hello", media_ids=ids)
    assert (answer.status_code, set(answer.json()["fields"])) == (422, {"media_ids"})


async def test_the_pictures_of_a_deleted_post_disappear(alice, visitor, site, upload):
    media_id = (await upload(alice))["id"]
    post = (await alice.post_json("/posts/", text="gone", media_ids=media_id)).json()
    url = post["media_attachments"][0]["url"]
    await alice.post_json(f"/posts/{post['id']}/delete/")
    assert (await visitor.get(url)).status_code == 404


async def test_a_post_that_is_taken_back_leaves_its_pictures_for_the_next_one(alice, upload):
    fields = {"text": "a cat", "media_ids[]": [(await upload(alice))["id"]]}
    post = (await alice.post_json("/posts/", **fields)).json()
    await alice.post_json(f"/posts/{post['id']}/delete/", keep_pictures="on")
    again = (await alice.post_json("/posts/", **fields)).json()
    assert [each["id"] for each in again["media_attachments"]] == fields["media_ids[]"]


async def test_pictures_of_a_post_for_followers_are_served_to_followers_only(alice, bob, visitor, upload):
    fields = {"text": "for friends", "audience": "followers", "media_ids": (await upload(alice))["id"]}
    url = (await alice.post_json("/posts/", **fields)).json()["media_attachments"][0]["url"]
    assert [(await each.get(url)).status_code for each in (alice, bob, visitor)] == [200, 404, 404]
    await bob.post_json("/@alice/follow/")
    assert (await bob.get(url)).status_code == 200


# Without a script


async def test_the_button_of_the_composer_leads_to_file_fields_and_keeps_the_text(alice):
    home = (await alice.get("/")).text
    button = re.search(r'<noscript>\s*<button [^>]*name="add" value="pictures" formnovalidate>', home)
    assert 'type="submit"' in home[: button.start()].partition("data-composer")[2]  # the Enter key publishes
    page = (await alice.post("/posts/", text="half a thought", add="pictures")).text
    assert "half a thought</textarea>" in page
    assert 'enctype="multipart/form-data"' in page
    assert [f'name="file-{n}"' in page for n in range(5)] == [True] * 4 + [False]


async def test_a_form_without_a_script_publishes_its_files_with_their_descriptions(alice, send):
    files = {"file-0": PNG, "file-1": ("", b"", "application/octet-stream"), "file-3": PNG}
    fields = {"text": "two", "sensitive": "on", "description-0": "first", "description-1": "", "description-3": "last"}
    answer = await send(alice, "/posts/", files, json=False, **fields)
    assert answer.status_code == 303, answer.text
    post = (await alice.get_json("/@alice/")).json()["posts"][0]
    assert [each["description"] for each in post["media_attachments"]] == ["first", "last"]
    assert post["sensitive"]


async def test_a_refused_form_keeps_the_text_and_the_pictures_that_were_uploaded(alice, send):
    answer = await send(alice, "/posts/", {"file-0": PNG, "file-1": TEXT}, json=False, text="kept")
    assert answer.status_code == 422
    assert "kept</textarea>" in answer.text
    assert "Choose a JPEG, PNG, GIF or WebP picture." in answer.text
    (media_id,) = re.findall(r'name="media_ids" value="(\d+)">', answer.text)
    assert [f'name="file-{n}"' in answer.text for n in range(4)] == [True, True, True, False]
    answer = await send(alice, "/posts/", {"file-0": PNG}, text="kept", media_ids=media_id)
    first, _second = answer.json()["media_attachments"]
    assert first["id"] == media_id


# Edits


async def attachments(browser: HttpBrowser, post: dict[str, object]) -> list[dict[str, object]]:
    return (await browser.get_json(post["url"])).json().get("media_attachments", [])


@pytest.fixture
def pictured(upload):
    """Publish a post with pictures whose descriptions are 0, 1, ..."""

    async def publish(browser: HttpBrowser, count: int, **fields: object) -> dict[str, object]:
        ids = [(await upload(browser, description=str(n)))["id"] for n in range(count)]
        return (await browser.post_json("/posts/", text="pictures", **{"media_ids[]": ids}, **fields)).json()

    return publish


async def test_an_edit_adds_removes_moves_and_describes_pictures(alice, visitor, upload, pictured):
    post = await pictured(alice, 3)
    old = post["media_attachments"]
    added, ids = (await upload(alice, description="added"))["id"], [each["id"] for each in old]
    changes = {"[id]": [ids[2], added], "[description]": ["new words", "added"], "[focus]": ["0.5,-0.5", "0,0"]}
    fields = {f"media_attributes[]{name}": values for name, values in changes.items()}
    answer = await alice.post_json(f"/posts/{post['id']}/edit/", **{"media_ids[]": [ids[2], added, ids[0]]}, **fields)
    assert answer.status_code == 200, answer.text
    newest = answer.json()["media_attachments"]
    assert [each["description"] for each in newest] == ["new words", "added", "0"]
    assert [each["id"] for each in newest] == [ids[2], added, ids[0]]
    assert newest[0]["meta"]["focus"] == {"x": 0.5, "y": -0.5}
    assert newest == await attachments(visitor, post)
    versions = (await visitor.get_json(f"{post['url']}history/")).json()["versions"]
    assert [[each["id"] for each in version["media_attachments"]] for version in versions] == [
        ids, [ids[2], added, ids[0]],
    ]  # fmt: skip
    assert (await visitor.get(old[1]["url"])).status_code == 200  # the history shows the picture
    assert (await visitor.get(f"{post['url']}history/")).text.count('<a class="picture"') == 6
    await alice.post_json(f"/posts/{post['id']}/edit/", text="only words")
    assert await attachments(visitor, post) == newest  # an edit without the field keeps the pictures


async def test_a_removed_picture_and_its_description_end_with_the_post(alice, visitor, site, pictured):
    post = await pictured(alice, 2)
    answer = await alice.post_json(f"/posts/{post['id']}/edit/", media_ids="", text="no pictures")
    assert "media_attachments" not in answer.json()
    urls = [each["url"] for each in post["media_attachments"]]
    await site.media_deletion.check_due()
    assert [(await visitor.get(url)).status_code for url in urls] == [200, 200]
    await alice.post_json(f"/posts/{post['id']}/delete/")
    await site.media_deletion.check_due()
    assert await site.repositories.media_rows.find_many([int(each["id"]) for each in post["media_attachments"]]) == [
        None, None,
    ]  # fmt: skip


async def test_the_pictures_of_others_and_of_other_posts_are_refused_in_an_edit(alice, bob, upload, pictured):
    post, other = await pictured(alice, 1), await pictured(alice, 1)
    for media_id in ((await upload(bob))["id"], other["media_attachments"][0]["id"], "999999", "x"):
        answer = await alice.post_json(f"/posts/{post['id']}/edit/", media_ids=media_id)
        assert (answer.status_code, set(answer.json()["fields"])) == (422, {"media_ids"})
    answer = await alice.post_json(f"/posts/{post['id']}/edit/", **{"media_attributes[][id]": ["1", "2"],
                                   "media_attributes[][description]": "one"})  # fmt: skip
    assert (answer.status_code, set(answer.json()["fields"])) == (422, {"media_attributes"})
    assert await attachments(alice, post) == post["media_attachments"]


def form_fields(page: str) -> dict[str, list[str]]:
    """Return the fields of the pictures that the form of a page without a script sends."""
    fields: dict[str, list[str]] = {}
    for name, value in re.findall(r'name="(media_[^"]+)"[^>]* value="([^"]*)"', page):
        fields.setdefault(name, []).append(value)
    texts = re.findall(r'name="media_attributes\[\]\[description\]"[^>]*>\n([^<]*)</textarea>', page)
    return fields | {"media_attributes[][description]": texts}


async def test_the_buttons_of_a_page_without_a_script_move_and_remove_pictures(alice, send, pictured):
    post = await pictured(alice, 3)
    url = f"/posts/{post['id']}/edit/"
    ids = [each["id"] for each in post["media_attachments"]]
    fields = form_fields((await alice.get(url)).text)
    assert fields["media_ids"] == ids
    assert fields["media_attributes[][description]"] == ["0", "1", "2"]
    fields["media_attributes[][description]"] = ["0", "1", "typed"]
    answer = await send(alice, url, {}, json=False, text="typed", picture=f"up {ids[2]}", **fields)
    assert answer.status_code == 200
    assert "typed</textarea>" in answer.text
    fields = form_fields(answer.text)
    assert fields["media_ids"] == [ids[0], ids[2], ids[1]]
    assert fields["media_attributes[][description]"] == ["0", "typed", "1"]
    answer = await send(alice, url, {"file-0": PNG}, json=False, text="typed", picture=f"remove {ids[0]}", **fields)
    fields = form_fields(answer.text)
    assert fields["media_ids"][:2] == [ids[2], ids[1]]
    assert await attachments(alice, post) == post["media_attachments"]
    answer = await send(alice, url, {}, json=False, text="typed", **fields)
    assert (answer.status_code, answer.headers["location"]) == (303, post["url"])
    newest = await attachments(alice, post)
    assert [each["description"] for each in newest] == ["typed", "1", None]
    assert [each["id"] for each in newest] == fields["media_ids"]


async def test_a_refused_edit_keeps_the_typed_descriptions(alice, pictured):
    post = await pictured(alice, 1)
    page = (await alice.get(f"/posts/{post['id']}/edit/")).text
    fields = form_fields(page) | {"media_attributes[][description]": ["typed"], "text": "x" * 501}
    answer = await alice.post(f"/posts/{post['id']}/edit/", **fields)
    assert answer.status_code == 422
    assert form_fields(answer.text)["media_attributes[][description]"] == ["typed"]
    assert form_fields(answer.text)["media_ids"] == [post["media_attachments"][0]["id"]]


async def test_the_form_of_a_draft_shows_its_pictures_and_stores_their_descriptions(alice, upload):
    media_id = (await upload(alice, description="first"))["id"]
    fields = {"media_attributes[][id]": media_id, "media_attributes[][description]": "second"}
    draft = (await alice.post_json("/drafts/", text="later", media_ids=media_id, **fields)).json()
    page = (await alice.get(f"/drafts/{draft['id']}/")).text
    assert form_fields(page)["media_attributes[][description]"] == ["second"]
    assert f'<img src="/media/{media_id}/"' in page
    shown = await alice.http.get(f"/media/{media_id}/", headers={"Accept": "image/avif,image/webp,*/*;q=0.8"})
    assert shown.status_code == 303
    assert (await alice.get(shown.headers["location"])).headers["content-type"] == "image/webp"
    page = (await alice.post("/posts/", draft=draft["id"], picture=f"remove {media_id}", **form_fields(page))).text
    assert "media_ids" not in form_fields(page)
    assert f'name="draft" value="{draft["id"]}"' in page


# Avatars and headers


async def test_an_avatar_is_uploaded_shown_replaced_and_removed(alice, visitor, send, site):
    urls = []
    for crop in ("0.25,0,0.5,1", ""):
        answer = await send(alice, "/accounts/settings/avatar/", {"file": PNG}, crop=crop)
        assert answer.status_code == 200, answer.text
        urls.append(answer.json()["avatar"])
        assert f'src="{urls[-1]}"' in (await visitor.get("/@alice/")).text
        assert (await visitor.get(urls[-1])).headers["content-type"] == "image/webp"
        assert (await visitor.get(urls[-1].replace("/full.", "/small."))).status_code == 200
    await site.media_deletion.check_due()
    assert (await visitor.get(urls[0])).status_code == 404
    assert (await alice.post_json("/accounts/settings/avatar/", remove="1")).json() == {"avatar": None}
    assert "/media/" not in (await visitor.get("/@alice/")).text
    await site.media_deletion.check_due()
    assert (await visitor.get(urls[1])).status_code == 404


async def test_a_header_is_set_by_a_form_without_a_script(alice, visitor, send):
    page = (await alice.get("/accounts/settings/")).text
    assert re.search(
        r'<form method="post" action="/accounts/settings/" enctype="multipart/form-data".*name="header"',
        page,
        re.DOTALL,
    )
    answer = await send(alice, "/accounts/settings/", {"header": PNG}, json=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/accounts/settings/")
    url = re.search(r'class="profile-header" src="([^"]+)"', (await visitor.get("/@alice/")).text)[1]
    assert (await visitor.get(url)).status_code == 200


async def test_a_file_that_is_no_picture_is_refused_with_one_sentence(alice, send):
    answer = await send(alice, "/accounts/settings/avatar/", {"file": TEXT})
    assert (answer.status_code, set(answer.json()["fields"])) == (422, {"file"})
    assert (await send(alice, "/accounts/settings/avatar/", {"file": TEXT}, json=False)).status_code == 303
    assert "Choose a JPEG, PNG, GIF or WebP picture." in (await alice.get("/accounts/settings/")).text


async def test_a_profile_has_tabs_for_posts_without_replies_and_for_pictures(alice, bob, upload):
    theirs = await bob.publish("a question")
    mine = await alice.publish("words")
    reply = await alice.publish("an answer", in_reply_to=theirs["id"])
    own_reply = await alice.publish("more words", in_reply_to=mine["id"])
    media_id = (await upload(alice))["id"]
    pictured = (await alice.post_json("/posts/", text="", media_ids=media_id)).json()
    posts = [each["id"] for each in (pictured, own_reply, reply, mine)]
    assert await alice.post_ids("/@alice/") == posts
    assert await alice.post_ids("/@alice/?tab=posts") == [id for id in posts if id != reply["id"]]
    assert await bob.post_ids("/@alice/?tab=media") == [pictured["id"]]
    assert await bob.post_ids("/@alice/?tab=unknown") == posts
    assert "tab=posts" in (await bob.get_json("/@alice/?tab=posts&limit=1")).json()["next"]
    page = (await bob.get("/@alice/?tab=media")).text
    assert f'<ol class="media-grid" data-timeline="profile:alice" data-newest="{pictured["id"]}">' in page
    assert f'<li><a href="{pictured["url"]}"' in page
    assert 'href="/@alice/?tab=media" aria-current="page"' in page
    assert "data-live>" not in page
    await bob.publish("words")
    page = (await bob.get("/@bob/?tab=media")).text
    assert "No posts found" in page
    assert "You haven't posted yet" not in page


async def test_the_grid_of_a_profile_covers_pictures_that_a_post_folds(alice, bob, visitor, upload):
    secrets = []
    for fields in ({"sensitive": "on"}, {"spoiler_text": "spiders"}):
        media = await upload(alice, description="a spider")
        secrets.append(media)
        await alice.post_json("/posts/", text="", media_ids=media["id"], **fields)
    shown = await upload(alice, description="a <flower>")
    post = (await alice.post_json("/posts/", text="", media_ids=shown["id"])).json()
    theirs = await upload(bob, description="by bob")
    boosted = (await bob.post_json("/posts/", text="", media_ids=theirs["id"])).json()
    await alice.post_json(f"/posts/{boosted['id']}/boost/")
    page = (await visitor.get("/@alice/?tab=media")).text
    assert page.count('<span class="covered">') == 2
    assert 'alt="a &lt;flower&gt;"' in page
    assert f'<a href="{post["url"]}" data-post-id="{post["id"]}">' in page
    assert "a spider" not in page
    assert not any(media["preview_url"] in page for media in secrets)
    assert "by bob" not in page, "boosts are not the account's own pictures"
