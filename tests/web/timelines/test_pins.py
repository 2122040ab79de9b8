"""Pinning over HTTP: the menu of an own post, the profile, and JSON."""

import re

from tests.support.browser import HttpBrowser


async def test_a_post_is_pinned_and_unpinned_by_its_menu(alice: HttpBrowser, visitor: HttpBrowser) -> None:
    post, other = await alice.publish("worth reading"), await alice.publish("another")
    assert f'formaction="/posts/{post["id"]}/pin/"' in (await alice.get("/")).text
    assert (await alice.post(f"/posts/{post['id']}/pin/", next="/@alice/")).status_code == 303
    page = (await alice.get("/@alice/")).text
    section = page.partition('<section class="pinned"')[2].partition("</section>")[0]
    assert "worth reading" in section
    assert "another" not in section
    assert page.count(f'formaction="/posts/{post["id"]}/unpin/"') == 2  # among the pinned posts and in the timeline
    assert f'formaction="/posts/{other["id"]}/pin/"' in page
    assert f'formaction="/posts/{post["id"]}/unpin/"' in (await alice.get(post["url"])).text
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert sorted(ids) == sorted(set(ids))
    assert "worth reading" in (await visitor.get("/@alice/")).text.partition('<section class="pinned"')[2]
    assert (await alice.post(f"/posts/{post['id']}/unpin/")).status_code == 303
    assert '<section class="pinned"' not in (await alice.get("/@alice/")).text


async def test_the_json_of_a_profile_has_the_pinned_posts(alice: HttpBrowser, bob: HttpBrowser) -> None:
    post = await alice.publish("worth reading")
    assert "pinned" not in (await bob.get_json("/@alice/")).json()
    assert (await alice.post_json(f"/posts/{post['id']}/pin/")).json()["viewer"]["pinned"] is True
    shown = (await bob.get_json("/@alice/")).json()
    assert [each["id"] for each in shown["pinned"]] == [post["id"]]
    assert "pinned" not in shown["posts"][0]["viewer"]
    refused = await bob.post_json(f"/posts/{post['id']}/pin/")
    assert (refused.status_code, refused.json()["error"]) == (422, "not_pinnable")


async def test_a_sixth_pin_is_refused_with_advice(alice: HttpBrowser) -> None:
    posts = [await alice.publish(str(number)) for number in range(6)]
    answers = [await alice.post_json(f"/posts/{post['id']}/pin/") for post in posts]
    assert [answer.status_code for answer in answers] == [200] * 5 + [409]
    assert answers[-1].json()["error"] == "pins_cap"
    assert "Unpin one" in answers[-1].json()["message"]
