"""Polls through HTTP: forms with and without a script, the page of a post, and refused forms."""

import pytest

from tests.support.browser import HttpBrowser

POLL = {"text": "Tea or coffee?", "poll[options][]": ["tea", "coffee", "", ""], "poll[expires_in]": "3600"}


async def published(browser: HttpBrowser, **more: object) -> dict:
    answer = await browser.post_json("/posts/", **{**POLL, **more})
    assert answer.status_code == 201, answer.text
    return answer.json()


async def test_a_vote_is_shown_in_json_and_on_the_page(alice: HttpBrowser, bob: HttpBrowser) -> None:
    post = await published(alice)
    assert post["poll"]["options"] == [{"title": "tea", "votes_count": 0}, {"title": "coffee", "votes_count": 0}]
    page = (await bob.get(post["url"])).text
    assert page.count(f'name="choices-{post["id"]}"') == 2
    assert "<progress" not in page
    answer = await bob.post(f"/posts/{post['id']}/vote/", **{f"choices-{post['id']}": "1", "next": post["url"]})
    assert (answer.status_code, answer.headers["location"]) == (303, post["url"])
    page = (await bob.get(post["url"])).text
    assert page.count("<progress") == 2
    assert "1 person voted" in page
    poll = (await bob.get_json(post["url"])).json()["poll"]
    assert (poll["own_votes"], poll["votes_count"], poll["voters_count"]) == ([1], 1, 1)


async def test_a_second_vote_and_bad_choices_are_refused(alice: HttpBrowser, bob: HttpBrowser) -> None:
    vote = f"/posts/{(await published(alice))['id']}/vote/"
    for choices in ("", "7", "x", "-1"):
        assert (await bob.post_json(vote, choices=choices)).status_code == 422
    assert (await bob.post_json(vote, choices="0")).status_code == 200
    assert (await bob.post_json(vote, choices="0")).status_code == 200
    assert (await bob.post_json(vote, choices="1")).json()["error"] == "already_voted"
    assert (await alice.post_json(vote, choices="1")).status_code == 422


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"poll[options][]": ["tea"]}, "poll[options]"),
        ({"poll[options][]": ["tea", " tea "]}, "poll[options]"),
        ({"poll[options][]": list("abcde")}, "poll[options]"),
        ({"poll[options][]": ["x" * 51, "y"]}, "poll[options]"),
        ({"poll[expires_in]": "299"}, "poll[expires_in]"),
        ({"poll[expires_in]": "soon"}, "poll[expires_in]"),
        ({"text": " "}, "text"),
    ],
)
async def test_a_refused_poll_keeps_the_typed_options(alice: HttpBrowser, fields: dict, wrong: str) -> None:
    sent = {**POLL, **fields}
    assert list((await alice.post_json("/posts/", **sent)).json()["fields"]) == [wrong]
    answer = await alice.post("/posts/", **sent)
    assert answer.status_code == 422
    for option in sent["poll[options][]"][:4]:
        assert f'value="{option.strip()}"' in answer.text


async def test_a_repeated_request_publishes_one_poll(alice: HttpBrowser) -> None:
    first, second = [await published(alice, idempotency_key="once") for _ in range(2)]
    assert first["id"] == second["id"]
