"""Reporting by the form, and the page of one's own reports."""

import re

import pytest

from socialsite.container import Services
from socialsite.recipes.rate_limit import Rule
from socialsite.site.rules import DEFAULT_RULES
from tests.support.browser import HttpBrowser
from tests.support.world import Person, World


@pytest.fixture
async def bob(world: World) -> Person:
    return await world.person("bob")


async def test_the_form_offers_rules_and_the_newest_posts(site: Services, alice: HttpBrowser, bob: Person) -> None:
    posts = [await bob.publishes(f"post {number}") for number in range(12)]
    page = (await alice.get(f"/reports/new/?post={posts[0].id}")).text
    assert "post 0" in page
    assert len(re.findall('name="posts"', page)) == 10
    assert page.count('type="radio" name="category"') == 8
    assert page.count('name="rules"') == len(DEFAULT_RULES)
    await site.site.change(rules=["Be kind"])
    page = (await alice.get(f"/reports/new/?account={bob.id}")).text
    assert page.count("Be kind") == 1
    assert 'value="violation"' not in page  # the rules themselves are the choices
    data = (await alice.get_json(f"/reports/new/?post={posts[0].id}")).json()
    assert data["rules"] == ["Be kind"]
    assert data["posts"][0] == str(posts[0].id)
    assert len(data["posts"]) == 11


async def test_a_form_is_stored_and_mutes_and_blocks(site: Services, alice: HttpBrowser, bob: Person) -> None:
    first, second = await bob.publishes("one"), await bob.publishes("two")
    await alice.fetch_csrf_token()
    answer = await alice.http.post(
        "/reports/new/",
        data={
            "csrfmiddlewaretoken": alice.csrf_token, "account": str(bob.id), "post": str(first.id),
            "posts": [str(second.id)], "category": "spam", "comment": "please", "mute": "on",
        },
    )  # fmt: skip
    assert answer.status_code == 303
    page = (await alice.get(answer.headers["location"])).text
    assert "Thank you" in page
    assert ("/@bob/block/" in page, "/@bob/mute/" in page, "/@bob/unfollow/" in page) == (True, False, False)
    (report,) = (await alice.get_json("/reports/")).json()["reports"]
    assert (report["category"], report["comment"], report["outcome"]) == ("spam", "please", None)
    assert set(report["posts"]) == {str(first.id), str(second.id)}
    assert "bob" in (await alice.get("/accounts/muted/")).text
    await alice.post_json("/reports/new/", account=str(bob.id), category="other", comment="rude", block="on")
    assert "bob" in (await alice.get("/accounts/blocked/")).text


async def test_a_wrong_form_keeps_what_was_typed(site: Services, alice: HttpBrowser, bob: Person) -> None:
    other, post = await bob.publishes("other"), await bob.publishes("one")
    form = await alice.get(f"/reports/new/?post={post.id}")
    assert '<details class="options-details">' in form.text
    assert "Send the report" in form.text
    await site.site.change(rules=["Be kind", "No spam"])
    answer = await alice.post(
        "/reports/new/", post=str(post.id), posts=str(other.id), rules="1", category="none", comment="long & clear",
        back="/public/",
    )  # fmt: skip
    assert answer.status_code == 422
    assert '<details class="options-details" open>' in answer.text
    assert "long &amp; clear" in answer.text
    for name, value, is_checked in (
        ("rules", 1, True), ("rules", 0, False), ("posts", other.id, True),
    ):  # fmt: skip
        assert (f'name="{name}" value="{value}" checked' in answer.text) == is_checked, name
    assert 'id="category-error"><li>Choose a reason.' in answer.text
    assert 'name="back" value="/public/"' in answer.text
    assert (
        await alice.post("/reports/new/", post=str(post.id), category="spam", comment="x" * 1001)
    ).status_code == 422
    rules = ["9" * 5_000, "\u0663"]
    assert (await alice.post_json("/reports/new/", post=str(post.id), category="spam", rules=rules)).status_code == 201


async def test_another_reason_needs_a_description(alice: HttpBrowser, bob: Person) -> None:
    account = str(bob.id)
    answer = await alice.post("/reports/new/", account=account, category="other", comment=" ", block="on")
    assert answer.status_code == 422
    assert 'value="other" checked' in answer.text
    assert 'id="comment-error"><li>Please describe what is wrong.' in answer.text
    assert "bob" not in (await alice.get("/accounts/blocked/")).text
    assert (await alice.post("/reports/new/", account=account, category="other", comment="rude")).status_code == 303


async def test_the_choice_of_a_rule_is_a_report_against_it(site: Services, alice: HttpBrowser, bob: Person) -> None:
    await site.site.change(rules=["Be kind", "No spam"])
    assert (await alice.post("/reports/new/", account=str(bob.id), rules="1")).status_code == 303
    (report,) = (await alice.get_json("/reports/")).json()["reports"]
    assert (report["category"], report["rules"]) == ("violation", ["No spam"])


async def test_a_repeated_report_is_refused_and_mutes_all_the_same(alice: HttpBrowser, bob: Person) -> None:
    """The process that stored the first report may have ended before it muted the account."""
    form = {"post": str((await bob.publishes("one")).id), "category": "spam"}
    assert (await alice.post("/reports/new/", **form)).status_code == 303
    again = await alice.post("/reports/new/", **form, mute="on")
    assert (again.status_code, again.headers["location"]) == (303, "/reports/")
    page = (await alice.get("/reports/")).text
    assert "You have reported this before" in page
    assert page.count('class="section report"') == 1
    assert "bob" in (await alice.get("/accounts/muted/")).text
    refused = await alice.post_json("/reports/new/", **form)
    assert (refused.status_code, refused.json()["error"]) == (409, "already_reported")


async def test_an_account_may_report_itself_and_is_not_offered_to_block_itself(alice: HttpBrowser) -> None:
    own = await alice.publish("mine")
    assert (await alice.get(f"/reports/new/?post={own['id']}")).status_code == 200
    answer = await alice.post("/reports/new/", post=own["id"], category="spam")
    page = await alice.get(answer.headers["location"])
    assert (page.status_code, "/block/" in page.text) == (200, False)


@pytest.mark.parametrize(
    ("referer", "back"),
    [
        ("http://testserver/tags/tea/?before=7", "/tags/tea/?before=7"),
        ("http://testserver/reports/new/?post=1", "/@bob/"),
        ("https://elsewhere.example/", "/@bob/"),
        ("http://testserver//elsewhere.example/", "/@bob/"),
        ("javascript:alert(1)", "/@bob/"),
        (None, "/@bob/"),
    ],
)
async def test_a_report_leads_back_to_where_the_reader_was(
    alice: HttpBrowser, bob: Person, referer: str | None, back: str
) -> None:
    await alice.post_json("/@bob/follow/")
    headers = {"Referer": referer} if referer else {}
    form = (await alice.http.get(f"/reports/new/?account={bob.id}", headers=headers)).text
    assert re.search('name="back" value="([^"]*)"', form)[1] == back
    answer = await alice.post("/reports/new/", account=str(bob.id), category="hate", back=back)
    page = (await alice.get(answer.headers["location"])).text
    assert f'<a class="btn" href="{back}">' in page
    assert all(f"/@bob/{action}/" in page for action in ("mute", "block", "unfollow"))
    assert f'name="next" value="{back}"' in page


@pytest.mark.parametrize("category", ["harassment", "hate", "nudity", "self_harm", "impersonation", "spam", "legal"])
async def test_each_reason_is_stored_and_shown(alice: HttpBrowser, bob: Person, category: str) -> None:
    assert (await alice.post("/reports/new/", account=str(bob.id), category=category)).status_code == 303
    (report,) = (await alice.get_json("/reports/")).json()["reports"]
    assert report["category"] == category
    assert (await alice.get("/reports/")).status_code == 200


async def test_only_visible_posts_are_reported(
    site: Services, alice: HttpBrowser, bob: Person, visitor: HttpBrowser, world: World
) -> None:
    await bob.locks()
    hidden = await bob.publishes("for followers")
    assert (await alice.get(f"/reports/new/?post={hidden.id}")).status_code == 404
    assert (await alice.post_json("/reports/new/", post=str(hidden.id), category="spam")).status_code == 404
    assert (await alice.get("/reports/new/?account=999")).status_code == 404
    assert (await alice.get("/reports/new/")).status_code == 400
    assert (await alice.get(f"/reports/new/?account={bob.id}")).status_code == 200


async def test_reports_have_a_rule_of_their_own(site: Services, alice: HttpBrowser, world: World) -> None:
    site.rules["report"] = Rule("report", 2)
    people = await world.people("b", "c", "d")
    statuses = [
        (await alice.post_json("/reports/new/", account=str(each.id), category="spam")).status_code for each in people
    ]
    assert statuses == [201, 201, 429]


async def test_the_outcome_of_a_report_names_neither_staff_nor_sanction(
    site: Services, alice: HttpBrowser, bob: Person, world: World
) -> None:
    staff = await world.person("moderatorin")
    made = (await alice.post_json("/reports/new/", account=str(bob.id), category="spam")).json()
    assert "We have not decided yet." in (await alice.get("/reports/")).text
    await site.reports.close(staff.id, [int(made["id"])], "acted")  # type: ignore[list-item]
    page = (await alice.get("/reports/")).text
    assert "We have acted on this report." in page
    (notification,) = (await alice.get_json("/notifications/")).json()["notifications"]
    assert notification["kind"] == "report_closed"
    notifications = (await alice.get("/notifications/")).text
    assert "Your report about <bdi>@bob</bdi> was looked at" in notifications
    assert notification["about"]["handle"] == "bob"
    assert 'href="/reports/"' in notifications
    for text in (page, notifications, (await alice.get_json("/reports/")).text):
        assert "moderatorin" not in text


async def test_the_menus_lead_to_the_form(site: Services, alice: HttpBrowser, bob: Person) -> None:
    post, own = await bob.publishes("one"), await alice.publish("mine")
    page = (await alice.get("/public/")).text
    assert f'href="/reports/new/?post={post.id}"' in page
    assert f'href="/reports/new/?post={own["id"]}"' not in page
    assert f'href="/reports/new/?account={bob.id}"' in (await alice.get("/@bob/")).text
    assert 'href="/reports/"' in (await alice.get("/accounts/")).text


async def test_a_form_that_is_sent_twice_and_blocks_says_that_the_report_is_stored(
    alice: HttpBrowser, bob: Person
) -> None:
    form = {"post": str((await bob.publishes("one")).id), "category": "spam", "block": "on"}
    assert (await alice.post("/reports/new/", **form)).status_code == 303
    for again in (await alice.post("/reports/new/", **form), await alice.get(f"/reports/new/?post={form['post']}")):
        assert again.status_code == 409
        assert "You have reported this before" in again.text


@pytest.mark.parametrize("is_blocker", [True, False])
async def test_an_account_is_reported_beyond_a_block(
    site: Services, alice: HttpBrowser, bob: Person, is_blocker: bool
) -> None:
    await bob.publishes("one")
    alice_id = (await site.accounts.get_by_handle("alice")).id
    ids = (alice_id, bob.id) if is_blocker else (bob.id, alice_id)
    await site.blocks_and_mutes.block(account_id=ids[0], other_id=ids[1], now_ms=site.clock.now_ms())
    assert (await alice.get(f"/reports/new/?account={bob.id}")).status_code == 200
    answer = await alice.post("/reports/new/", account=str(bob.id), category="spam", mute="on")
    sent = f"/reports/sent/?account={bob.id}&back=%2F%40bob%2F"
    assert (answer.status_code, answer.headers.get("location")) == (303, sent)
