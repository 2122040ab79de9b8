"""Blocks and mutes over HTTP, with and without a script, in HTML and in JSON."""

import re

import pytest

from socialsite.container import Services
from tests.support.browser import HttpBrowser
from tests.support.world import World

PATHS = (
    "/",
    "/@bob/",
    "/lists/1/",
    "/tags/tea/",
    "/public/",
    "/search/?q=unmistakable",
    "/notifications/",
    "/@alice/{asked}/",
)
"""Pages where Alice sees Bob's posts; the last one is her own post and never answers 404."""


@pytest.fixture
async def people(site: Services, alice: HttpBrowser, bob: HttpBrowser) -> tuple[HttpBrowser, HttpBrowser]:
    """Alice and Bob; Alice follows Bob and has him on a list."""
    await alice.post_json("/@bob/follow/")
    await alice.post_json("/lists/", title="List")
    await alice.post_json("/lists/1/members/", handle="bob")
    return alice, bob


async def talk(alice: HttpBrowser, bob: HttpBrowser, site: Services) -> str:
    """Publish a question of Alice's, Bob's reply and another post of Bob's; return the question's id."""
    question = await alice.publish("something to drink?")
    await bob.publish("unmistakable #tea")
    await bob.publish("unmistakable answer", in_reply_to=question["id"])
    await World(site).deliver_all()
    return str(question["id"])


async def seen(reader: HttpBrowser, asked: str) -> set[str]:
    """Return the paths that show Bob's posts; HTML and JSON agree."""
    paths = set()
    for pattern in PATHS:
        path = pattern.format(asked=asked)
        page, data = await reader.get(path), await reader.get_json(path)
        texts = [re.sub(r'(value|href)="[^"]*"', "", page.text), data.text]
        contains_word = ["unmistakable" in text for text in texts]
        assert contains_word[0] == contains_word[1], path
        if contains_word[0]:
            paths.add(pattern)
    return paths


HIDDEN = {"block": set(PATHS), "mute": set(PATHS) - {"/@bob/"}}


@pytest.mark.parametrize("act", HIDDEN)
async def test_a_block_or_mute_applies_to_every_page(
    people: tuple[HttpBrowser, HttpBrowser], site: Services, act: str
) -> None:
    alice, bob = people
    question_id = await talk(alice, bob, site)
    assert await seen(alice, question_id) == set(PATHS)
    answer = await alice.post_json(f"/@bob/{act}/")
    assert answer.status_code == 200
    assert set(answer.json()) == {"following", "followers"}
    assert await seen(alice, question_id) == set(PATHS) - HIDDEN[act]
    assert (await alice.post_json(f"/@bob/un{act}/")).status_code == 200
    await alice.post_json("/@bob/follow/")
    assert await seen(alice, question_id) == set(PATHS)


async def test_a_form_redirects_to_the_profile(people: tuple[HttpBrowser, HttpBrowser]) -> None:
    alice, _bob = people
    for act in ("mute", "unmute", "hide-boosts", "show-boosts", "remove-follower", "block", "unblock"):
        answer = await alice.post(f"/@bob/{act}/")
        assert (answer.status_code, answer.headers["location"]) == (303, "/@bob/"), act


async def test_a_visitor_is_sent_to_log_in(site: Services, visitor: HttpBrowser, bob: HttpBrowser) -> None:
    for act in ("block", "mute", "accept"):
        assert (await visitor.post_json(f"/@bob/{act}/")).status_code == 401
    for page in ("requests", "blocked", "muted", "filters"):
        answer = await visitor.get(f"/accounts/{page}/")
        assert (answer.status_code, answer.headers["location"]) == (
            303, f"/accounts/login/?next=%2Faccounts%2F{page}%2F",
        )  # fmt: skip


async def test_a_blocked_profile_shows_the_relation_without_posts(people: tuple[HttpBrowser, HttpBrowser]) -> None:
    alice, bob = people
    await bob.publish("unmistakable")
    await alice.post_json("/@bob/block/")
    mine, theirs = await alice.get("/@bob/"), await bob.get("/@alice/")
    assert 'data-relation="blocks"' in mine.text
    assert "unmistakable" not in mine.text
    assert "data-follow=" not in mine.text
    assert 'data-relation="is-blocked"' in theirs.text
    assert (await bob.get_json("/@alice/")).json()["viewer"]["is_blocked"] is True
    assert (await bob.post_json("/@alice/follow/")).status_code == 404
    for page in ("followers", "following"):
        assert (await bob.get(f"/@alice/{page}/")).status_code == 404


async def test_blocked_and_muted_accounts_are_listed(people: tuple[HttpBrowser, HttpBrowser]) -> None:
    alice, _bob = people
    await alice.post_json("/@bob/mute/", duration=3600)
    muted = (await alice.get_json("/accounts/muted/")).json()
    assert muted["accounts"][0]["handle"] == "bob"
    assert muted["accounts"][0]["muted_until"]
    assert 'formaction="/@bob/unmute/"' in (await alice.get("/accounts/muted/")).text
    await alice.post_json("/@bob/mute/")
    assert (await alice.get_json("/accounts/muted/")).json()["accounts"][0]["muted_until"] is None
    await alice.post_json("/@bob/block/")
    blocked = (await alice.get_json("/accounts/blocked/")).json()
    assert [account["handle"] for account in blocked["accounts"]] == ["bob"]
    assert blocked["next"] is None
    assert 'formaction="/@bob/unblock/"' in (await alice.get("/accounts/blocked/")).text
    assert (await alice.post_json("/@bob/mute/", duration="soon")).status_code == 422
    assert (await alice.post_json("/@alice/block/")).status_code == 422
    assert (await alice.post_json("/@nobody/block/")).status_code == 404


@pytest.mark.parametrize(
    ("act", "undo", "told"),
    [
        ("mute", "unmute", "You muted @bob."),
        ("hide-boosts", "show-boosts", "Boosts of @bob are hidden."),
        ("unfollow", "follow", "You do not follow @bob any more."),
    ],
)
async def test_the_next_page_offers_to_undo(
    people: tuple[HttpBrowser, HttpBrowser], act: str, undo: str, told: str
) -> None:
    alice, _bob = people
    await alice.post(f"/@bob/{undo}/")
    assert (await alice.post(f"/@bob/{act}/", next="/public/")).headers["location"] == "/public/"
    page = (await alice.get("/public/")).text
    assert (
        f'{told} <button class="undo" type="submit" form="post-actions" formaction="/@bob/{undo}/">Undo</button>'
        in page
    )
    assert "Undo</button>" not in (await alice.get("/public/")).text


async def test_a_mute_from_a_post_offers_durations_and_leads_back(people: tuple[HttpBrowser, HttpBrowser]) -> None:
    alice, _bob = people
    for referer, back in (
        ("http://testserver/tags/tea/?q=1", "/tags/tea/?q=1"),
        ("https://elsewhere.example/", "/@bob/"),
    ):
        page = (await alice.http.get("/@bob/mute/", headers={"Referer": referer})).text
        assert f'name="next" value="{back}"' in page
        assert '<option value="3600">' in page
    assert (await alice.get("/@nobody/mute/")).status_code == 404
