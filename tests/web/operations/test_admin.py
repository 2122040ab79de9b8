"""/ops/ over HTTP: staff reads pages and performs actions; other accounts get 404."""

from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings

from socialsite import __version__
from socialsite.admin.audit_log import AuditLog
from socialsite.container import Services
from socialsite.ids import AccountId
from socialsite.recipes.rate_limit import Rule
from tests.support.browser import HttpBrowser
from tests.support.routes import routes
from tests.support.staff import open_staff
from tests.support.world import World
from tests.web.conftest import OpenBrowser
from timelines.jobs import SyndicatePass, encode_job

PAGES = (
    "/ops/",
    "/ops/statistics/",
    "/ops/accounts/",
    "/ops/deadletters/",
    "/ops/trail/",
    "/ops/alerts/",
    "/ops/trends/",
    "/ops/site/",
    "/ops/announcements/",
)


@pytest.fixture
async def sam(site: Services, open_browser: OpenBrowser) -> HttpBrowser:
    """The browser of Sam, a member of the staff."""
    return await open_staff(site, open_browser)


async def id_of(site: Services, handle: str) -> AccountId:
    return AccountId((await site.accounts.get_by_handle(handle)).id)


async def trail_of(site: Services) -> list[tuple[str, str]]:
    return [(entry.action, entry.target) for entry in (await AuditLog(site.store).search(10))[0]]


@pytest.mark.parametrize("route", [r for r in routes() if r.path.startswith("/ops/")], ids=lambda r: r.path)
async def test_ops_pages_are_404_without_staff_rights(
    alice: HttpBrowser, open_browser: Any, route: Any, site: Services
) -> None:
    for browser in (alice, await open_browser()):
        if "GET" in route.methods:
            assert (await browser.get(route.path)).status_code == 404
        else:
            assert (await browser.post(route.path)).status_code == 404
    assert await trail_of(site) == []


@pytest.mark.parametrize("path", PAGES)
async def test_staff_reads_every_page_in_both_shapes(sam: HttpBrowser, path: str) -> None:
    page, data = await sam.get(path), await sam.get_json(path)
    assert (page.status_code, data.status_code) == (200, 200)
    assert "<style" not in page.text
    assert " style=" not in page.text
    assert isinstance(data.json(), dict)


async def test_the_dashboard_shows_current_activity(site: Services, sam: HttpBrowser, alice: HttpBrowser) -> None:
    await alice.publish("hello")
    await site.statistics.meter.flush()
    dashboard = (await sam.get_json("/ops/")).json()
    assert dashboard["activity"]["totals"]["posts"] == 1
    assert dashboard["outbox"]["waiting"] == 1
    assert dashboard["fan_outs"][0]["author"] == "alice"
    assert dashboard["nodes"][0]["ping_ms"] > 0
    assert dashboard["nodes"][0]["delivery_share"] == 1
    assert dashboard["memory"]["families"]["posts:{N}:post"]["keys"] == 1
    assert "@alice" in (await sam.get("/ops/")).text


async def test_the_progress_of_a_fan_out_is_shown(site: Services, sam: HttpBrowser, world: World) -> None:
    people = await world.people(*(f"fan{number}" for number in range(40)))
    author = await world.person("author")
    for each in people:
        await each.follows(author)
    post = await author.publishes("to all")
    await world.deliver_all()
    job = SyndicatePass(post.id, author.id, "homes", 8, -1, 0)
    await site.outbox.add(encode_job(job))
    (fan_out,) = (await sam.get_json("/ops/")).json()["fan_outs"]
    assert (fan_out["post"], fan_out["phase"], fan_out["partition"]) == (str(post.id), "homes", 8)
    assert fan_out["total"] == 40
    assert 0 < fan_out["done"] < 40


@pytest.mark.parametrize("span", ["1h", "24h", "7d", "30d"])
async def test_statistics_answer_for_every_span(
    site: Services, sam: HttpBrowser, alice: HttpBrowser, span: str
) -> None:
    await alice.publish("hello")
    await site.statistics.meter.flush()
    stats = (await sam.get_json(f"/ops/statistics/?range={span}")).json()
    assert stats["totals"]["posts"] == 1
    assert len(stats["points"]["posts"]) <= 200
    assert (await sam.get(f"/ops/statistics/?range={span}")).status_code == 200


async def test_an_unknown_span_is_refused(sam: HttpBrowser) -> None:
    assert (await sam.get_json("/ops/statistics/?range=1y")).status_code == 400


async def test_accounts_are_found_by_handle_and_by_its_beginning(
    site: Services, sam: HttpBrowser, world: World
) -> None:
    await world.people("anna", "annabel", "bert")

    async def handles(query: str) -> list[str]:
        page = (await sam.get_json(f"/ops/accounts/{query}")).json()
        return [each["handle"] for each in page["accounts"]]

    assert await handles("?q=anna") == ["anna", "annabel"]
    assert await handles("?q=@ANN") == ["annabel", "anna"]
    assert await handles(f"?q=@Anna@{urlsplit(settings.SITE_URL).netloc}") == ["anna", "annabel"]
    assert await handles("?q=nobody") == []
    assert await handles("") == ["bert", "annabel", "anna", "sam"]


async def test_a_suspended_account_is_signed_out_and_hidden_until_it_is_reinstated(
    site: Services, sam: HttpBrowser, alice: HttpBrowser
) -> None:
    id = await id_of(site, "alice")
    assert (await sam.post(f"/ops/accounts/{id}/suspend/")).status_code == 303
    assert not await alice.is_signed_in()
    assert (await sam.get("/@alice/")).status_code == 404
    assert "Suspended" in (await sam.get(f"/ops/accounts/{id}/")).text
    assert (await sam.post(f"/ops/accounts/{id}/reinstate/")).status_code == 303
    assert (await sam.get("/@alice/")).status_code == 200
    assert await trail_of(site) == [("reinstate", f"account:{id}"), ("suspend", f"account:{id}")]


async def test_a_suspension_without_a_text_has_one_in_the_language_of_the_person(
    site: Services, sam: HttpBrowser, alice: HttpBrowser
) -> None:
    id = await id_of(site, "alice")
    await site.mail.mails.change(id, address="alice@example.org", language="de")
    await sam.post(f"/ops/accounts/{id}/suspend/")
    (sanction,) = await site.repositories.sanctions.list_all(id)
    assert "gegen die Regeln dieser Website" in sanction.text


async def test_a_reset_password_is_shown_once_and_ends_all_sessions(
    site: Services, sam: HttpBrowser, alice: HttpBrowser, open_browser: Any
) -> None:
    id = await id_of(site, "alice")
    answer = await sam.post_json(f"/ops/accounts/{id}/password/")
    password = answer.json()["password"]
    assert answer.headers["cache-control"] == "private, no-store"
    assert not await alice.is_signed_in()
    again = await open_browser()
    assert (await again.log_in("alice", password)).status_code == 200
    assert password not in (await sam.get(f"/ops/accounts/{id}/")).text
    page = await sam.post(f"/ops/accounts/{id}/password/")
    assert page.status_code == 200
    assert 'class="secret"' in page.text


async def test_staff_cannot_reset_the_password_of_other_staff(site: Services, sam: HttpBrowser) -> None:
    now_ms = site.clock.now_ms()
    other = await site.accounts.sign_up(handle="pat", password=None, now_ms=now_ms, staff=True)
    answer = await sam.post_json(f"/ops/accounts/{other.id}/password/")
    assert (answer.status_code, answer.json()["error"]) == (403, "forbidden")
    assert "Set a new password" not in (await sam.get(f"/ops/accounts/{other.id}/")).text
    assert await trail_of(site) == []


async def test_actions_of_staff_have_a_limit(site: Services, sam: HttpBrowser, alice: HttpBrowser) -> None:
    """Otherwise somebody could push all entries out of the audit log within days."""
    site.rules["staff"] = Rule("staff", 2)
    id = await id_of(site, "alice")
    statuses = [(await sam.post(f"/ops/accounts/{id}/sessions/end/")).status_code for _ in range(3)]
    assert statuses == [303, 303, 429]
    assert len(await trail_of(site)) == 2


async def test_failed_actions_of_staff_count_too(site: Services, sam: HttpBrowser) -> None:
    """Failed actions have entries in the audit log, too."""
    site.rules["staff"] = Rule("staff", 2)
    statuses = [(await sam.post_json("/ops/reports/1/claim/")).status_code for _ in range(3)]
    assert statuses == [404, 404, 429]
    assert len(await trail_of(site)) == 2


async def test_sessions_are_listed_and_ended(site: Services, sam: HttpBrowser, alice: HttpBrowser) -> None:
    id = await id_of(site, "alice")
    assert len((await sam.get_json(f"/ops/accounts/{id}/")).json()["sessions"]) == 1
    assert (await sam.post_json(f"/ops/accounts/{id}/sessions/end/")).json()["sessions"] == []
    assert not await alice.is_signed_in()


async def test_staff_cannot_act_on_its_own_account(site: Services, sam: HttpBrowser) -> None:
    id = await id_of(site, "sam")
    for action in ("suspend", "reinstate", "password", "sessions/end"):
        answer = await sam.post_json(f"/ops/accounts/{id}/{action}/")
        assert (answer.status_code, answer.json()["error"]) == (409, "own_account")
    assert await trail_of(site) == []


async def test_an_unknown_account_is_not_found(sam: HttpBrowser) -> None:
    assert (await sam.get("/ops/accounts/999/")).status_code == 404
    assert (await sam.post("/ops/accounts/999/suspend/")).status_code == 404


async def bury(site: Services, payload: bytes) -> None:
    await site.outbox.create_group()
    await site.outbox.add(payload)
    (job,) = await site.outbox.fetch("abad1dea", 1, 10)
    await site.outbox.move_to_dead_letters(job, "it could not <be> done")


async def test_a_dead_letter_is_read_retried_and_dropped(site: Services, sam: HttpBrowser, world: World) -> None:
    carol = await world.person("carol")
    post = await carol.publishes("nobody's business")
    await world.deliver_all()
    await bury(site, encode_job(SyndicatePass(post.id, carol.id, "lists", 3, 5, 6)))
    (letter,) = (await sam.get_json("/ops/deadletters/")).json()["letters"]
    assert (letter["kind"], letter["account"], letter["post"]) == ("pass", "carol", str(post.id))
    assert letter["cursor"] == {"phase": "lists", "partition": 3, "at_ms": 5, "id": 6}
    page = (await sam.get("/ops/deadletters/")).text
    assert "it could not &lt;be&gt; done" in page
    assert "nobody&#x27;s business" not in page
    assert (await sam.post("/ops/deadletters/retry/", id=letter["id"])).status_code == 303
    assert (await site.outbox.read_depth()).waiting == 1
    assert (await sam.post("/ops/deadletters/retry/", id=letter["id"])).status_code == 404
    await world.deliver_all()
    await bury(site, b"not a job")
    (letter,) = (await sam.get_json("/ops/deadletters/")).json()["letters"]
    assert letter["kind"] == "unknown"
    assert (await sam.post_json("/ops/deadletters/drop/", id=letter["id"])).json() == {"dropped": letter["id"]}
    assert (await site.outbox.read_depth()).dead == 0
    assert [action for action, _ in await trail_of(site)] == ["drop", "retry", "retry"]


async def test_the_failed_jobs_of_another_queue_have_a_page(site: Services, sam: HttpBrowser) -> None:
    queue = site.background_queues["media"].queue
    await queue.create_group()
    await queue.add(b"not a job")
    (job,) = await queue.fetch("abad1dea", 1, 10)
    await queue.move_to_dead_letters(job, "no disk")
    assert (await sam.get_json("/ops/")).json()["queues"]["media"]["dead"] == 1
    assert "/ops/deadletters/?queue=media" in (await sam.get("/ops/")).text
    assert (await sam.get_json("/ops/deadletters/")).json()["letters"] == []
    (letter,) = (await sam.get_json("/ops/deadletters/?queue=media")).json()["letters"]
    assert (letter["kind"], letter["reason"]) == ("media", "no disk")
    answer = await sam.post("/ops/deadletters/retry/", id=letter["id"], queue="media")
    assert answer.headers["Location"] == "/ops/deadletters/?queue=media"
    assert (await queue.read_depth()).waiting == 1
    assert (await sam.get_json("/ops/deadletters/?queue=nothing")).status_code == 400


async def test_an_invalid_letter_or_cursor_is_refused(sam: HttpBrowser) -> None:
    assert (await sam.post_json("/ops/deadletters/drop/", id="*")).status_code == 400
    assert (await sam.get_json("/ops/deadletters/?cursor=x")).status_code == 400
    for cursor in ("x", "0-0", f"{10**19}-0", "٣-٣"):
        for path in ("trail", "deadletters"):
            assert (await sam.get_json(f"/ops/{path}/?cursor={cursor}")).status_code == 400, cursor


async def test_the_audit_log_shows_actor_action_target_and_request(
    site: Services, sam: HttpBrowser, alice: HttpBrowser
) -> None:
    id = await id_of(site, "alice")
    answer = await sam.post_json(f"/ops/accounts/{id}/suspend/")
    (entry,) = (await sam.get_json("/ops/trail/")).json()["entries"]
    assert (entry["by"], entry["action"], entry["target"]) == ("sam", "suspend", f"account:{id}")
    assert entry["request"] == answer.headers["x-request-id"]
    assert "@alice" in (await sam.get("/ops/trail/")).text


async def test_only_staff_sees_the_link_to_ops(sam: HttpBrowser, alice: HttpBrowser) -> None:
    assert 'href="/ops/"' in (await sam.get("/public/")).text
    assert 'href="/ops/"' not in (await alice.get("/public/")).text


async def test_everybody_can_read_the_activity_of_the_site(
    site: Services, visitor: HttpBrowser, alice: HttpBrowser
) -> None:
    await alice.publish("hello")
    await site.statistics.meter.flush()
    about = (await visitor.get_json("/about/")).json()
    figures = {"accounts": 1, "posts_today": 1, "active_today": 1, "active_month": 1}
    assert about == {**figures, "version": __version__, "contact": "", "staff": []}
    assert (await visitor.get("/about/")).status_code == 200
