"""Blocking, muting, filtering and asking over HTTP: with and without a script, in HTML and in JSON."""

import re

import pytest

from socialsite.services import Services
from tests.support.browser import Browser
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
"""Where Alice meets what Bob wrote; the last one answers 404 nowhere: it is her own."""


@pytest.fixture
async def people(site: Services, alice: Browser, bob: Browser) -> tuple[Browser, Browser]:
    """Alice follows Bob, has him on a list, and asked something that he answered."""
    await alice.post_json("/@bob/follow/")
    await alice.post_json("/lists/", title="List")
    await alice.post_json("/lists/1/members/", handle="bob")
    return alice, bob


async def talk(alice: Browser, bob: Browser, site: Services) -> str:
    """The id of Alice's question, answered by Bob, who said something else too."""
    asked = await alice.publishes("something to drink?")
    await bob.publishes("unmistakable #tea")
    await bob.publishes("unmistakable answer", in_reply_to=asked["id"])
    await World(site).work()
    return str(asked["id"])


async def seen(reader: Browser, asked: str) -> set[str]:
    """The paths that show it; HTML and JSON agree."""
    found = set()
    for pattern in PATHS:
        path = pattern.format(asked=asked)
        page, data = await reader.get(path), await reader.get_json(path)
        texts = [re.sub(r'value="[^"]*"', "", page.text), data.text]
        shown = ["unmistakable" in text for text in texts]
        assert shown[0] == shown[1], path
        if shown[0]:
            found.add(pattern)
    return found


HIDDEN = {
    "block": set(PATHS),
    "mute": set(PATHS) - {"/@bob/"},
}


@pytest.mark.parametrize("act", HIDDEN)
async def test_what_keeps_somebody_away_holds_on_every_page(
    people: tuple[Browser, Browser], site: Services, act: str
) -> None:
    alice, bob = people
    asked = await talk(alice, bob, site)
    assert await seen(alice, asked) == set(PATHS)
    answer = await alice.post_json(f"/@bob/{act}/")
    assert answer.status_code == 200
    assert set(answer.json()) == {"following", "followers"}
    assert await seen(alice, asked) == set(PATHS) - HIDDEN[act]
    assert (await alice.post_json(f"/@bob/un{act}/")).status_code == 200
    await alice.post_json("/@bob/follow/")
    assert await seen(alice, asked) == set(PATHS)


async def test_a_form_leads_back_to_the_profile(people: tuple[Browser, Browser]) -> None:
    alice, _bob = people
    for act in ("mute", "unmute", "hide-boosts", "show-boosts", "remove-follower", "block", "unblock"):
        answer = await alice.post(f"/@bob/{act}/")
        assert (answer.status_code, answer.headers["location"]) == (303, "/@bob/"), act


async def test_nobody_signed_in_is_sent_to_log_in(site: Services, visitor: Browser, bob: Browser) -> None:
    for act in ("block", "mute", "accept"):
        assert (await visitor.post_json(f"/@bob/{act}/")).status_code == 401
    for page in ("requests", "blocked", "muted", "filters"):
        answer = await visitor.get(f"/accounts/{page}/")
        assert (answer.status_code, answer.headers["location"]) == (
            303, f"/accounts/login/?next=%2Faccounts%2F{page}%2F",
        )  # fmt: skip


async def test_a_profile_says_how_it_stands_without_posts(people: tuple[Browser, Browser]) -> None:
    alice, bob = people
    await bob.publishes("unmistakable")
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


async def test_blocked_and_muted_accounts_are_listed(people: tuple[Browser, Browser]) -> None:
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


# Private accounts


async def test_a_private_account_is_asked(site: Services, alice: Browser, bob: Browser) -> None:
    answer = await bob.post_json("/accounts/settings/", private=1)
    assert answer.json()["account"]["private"] is True
    post = await bob.publishes("unmistakable #tea")
    assert post["audience"] == "followers"
    assert "Request to follow" in (await alice.get("/@bob/")).text
    asked = await alice.post_json("/@bob/follow/")
    assert asked.json() == {"following": False, "followers": 0, "requested": True}
    profile = await alice.get("/@bob/")
    assert "Requested" in profile.text
    assert "unmistakable" not in profile.text
    assert (await alice.get(f"/@bob/{post['id']}/")).status_code == 404
    assert "unmistakable" not in (await alice.get("/@bob/feed.atom")).text
    waiting = (await bob.get_json("/accounts/requests/")).json()
    assert [account["handle"] for account in waiting["accounts"]] == ["alice"]
    accepted = await bob.post("/@alice/accept/")
    assert (accepted.status_code, accepted.headers["location"]) == (303, "/accounts/requests/")
    assert "unmistakable" in (await alice.get("/@bob/")).text
    assert "unmistakable" in (await alice.get("/")).text
    assert (await bob.get_json("/accounts/requests/")).json()["accounts"] == []
    assert (await bob.post_json("/@alice/accept/")).status_code == 200  # a lost answer


async def test_a_request_is_refused_or_withdrawn(site: Services, alice: Browser, bob: Browser) -> None:
    await bob.post_json("/accounts/settings/", private="1")
    for act in (lambda: bob.post_json("/@alice/refuse/"), lambda: alice.post_json("/@bob/unfollow/")):
        await alice.post_json("/@bob/follow/")
        assert (await act()).status_code == 200
        assert (await bob.get_json("/accounts/requests/")).json()["accounts"] == []
    assert (await bob.post_json("/@alice/accept/")).status_code == 404


async def test_privacy_stays_when_it_is_not_sent(site: Services, bob: Browser) -> None:
    await bob.post("/accounts/settings/", private="1", display_name="Bob")
    await bob.post("/accounts/settings/", display_name="Robert")
    page = (await bob.get("/accounts/settings/")).text
    assert '<option value="1" selected>' in page
    await bob.post("/accounts/settings/", display_name="Robert", private="0")
    assert '<option value="0" selected>' in (await bob.get("/accounts/settings/")).text
    assert (await bob.post_json("/accounts/settings/", private="maybe")).status_code == 422


# Whom a post is for


async def test_the_composer_says_whom_a_post_is_for(site: Services, alice: Browser, bob: Browser) -> None:
    answer = await alice.post("/posts/", text="unmistakable", audience="followers")
    assert answer.status_code == 303
    assert "unmistakable" in (await alice.get("/")).text
    for path in ("/public/", "/@alice/"):
        assert "unmistakable" not in (await bob.get(path)).text
    refused = await alice.post("/posts/", text=" ", audience="unlisted")
    assert refused.status_code == 422
    assert '<option value="unlisted" selected>' in refused.text
    assert (await alice.post_json("/posts/", text="x", audience="friends")).status_code == 422


async def test_the_box_below_a_post_for_followers_is_for_followers(
    people: tuple[Browser, Browser],
) -> None:
    alice, bob = people
    post = await bob.publishes("among us", audience="followers")
    page = await alice.get(f"/@bob/{post['id']}/")
    assert '<option value="followers" selected>' in page.text
    assert (await alice.publishes("yes", in_reply_to=post["id"]))["audience"] == "followers"


# Filters


async def test_a_filter_folds_or_hides_and_can_be_changed(people: tuple[Browser, Browser]) -> None:
    alice, bob = people
    await bob.publishes("unmistakable #tea")
    made = await alice.post_json("/accounts/filters/", phrase="Unmistakable")
    assert made.status_code == 201
    assert made.json() == {
        "id": "1", "phrase": "Unmistakable", "action": "warn", "whole_word": True, "expires_at": None,
    }  # fmt: skip
    home = await alice.get("/public/")
    assert "Hidden by your filter: Unmistakable" in home.text
    assert (await alice.get_json("/public/")).json()["posts"][0]["filtered"] == "Unmistakable"
    changed = await alice.post_json("/accounts/filters/1/edit/", action="hide", expires_in=3600)
    assert (changed.json()["action"], changed.json()["phrase"]) == ("hide", "Unmistakable")
    assert changed.json()["expires_at"]
    assert "#tea" not in (await alice.get("/public/")).text
    assert "#tea" in (await alice.get("/@bob/")).text
    assert (await alice.post("/accounts/filters/1/delete/")).status_code == 303
    assert "#tea" in (await alice.get("/public/")).text
    assert (await alice.get_json("/accounts/filters/")).json() == {"filters": []}


async def test_a_refused_filter_comes_back_with_the_reason(site: Services, alice: Browser) -> None:
    refused = await alice.post("/accounts/filters/", phrase="x" * 101)
    assert refused.status_code == 422
    assert "x" * 101 in refused.text
    assert "at most 100 characters" in refused.text
    assert (await alice.post_json("/accounts/filters/", phrase=" ")).status_code == 422
    assert (await alice.post_json("/accounts/filters/", phrase="a", action="burn")).status_code == 422
    assert (await alice.post_json("/accounts/filters/", phrase="a", expires_in="soon")).status_code == 422
    await alice.post_json("/accounts/filters/", phrase="tea")
    sent = {"action": "hide", "whole_word": "0", "expires_in": "604800"}
    for path in ("/accounts/filters/", "/accounts/filters/1/edit/"):
        again = (await alice.post(path, phrase="x" * 101, **sent)).text
        for value in sent.values():
            assert again.count(f'<option value="{value}" selected>') == 1, (path, value)
    wrong = await alice.post("/accounts/filters/1/edit/", phrase="")
    assert wrong.status_code == 422
    assert '<details class="panel" open>' in wrong.text
    assert (await alice.post_json("/accounts/filters/2/edit/", phrase="a")).status_code == 404


async def test_a_phrase_is_shown_as_text(people: tuple[Browser, Browser]) -> None:
    alice, bob = people
    await bob.publishes("<script>alert(1)</script>")
    await alice.post_json("/accounts/filters/", phrase="<script>alert(1)</script>")
    for path in ("/public/", "/accounts/filters/"):
        page = (await alice.get(path)).text
        assert "&lt;script&gt;alert(1)" in page
        assert "<script>alert" not in page
