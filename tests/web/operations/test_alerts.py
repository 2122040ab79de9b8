"""/ops/alerts/ and /ops/trends/ over HTTP, the alerts on the dashboard, and the gauge of each alert."""

import asyncio
from typing import Any

import pytest

from socialsite.admin.audit_log import AuditLog
from socialsite.alerts.service import AlertService
from socialsite.alerts.watch import AlertWatch
from socialsite.container import Services
from socialsite.ids import AccountId, PostId
from tests.support.browser import HttpBrowser
from tests.support.visitor import PASSWORD
from tests.support.world import World
from timelines.audit.sampler import DamageCounts

TITLE = "The integrity check found problems"


@pytest.fixture
async def sam(site: Services, visitor: HttpBrowser) -> HttpBrowser:
    """The browser of Sam, who owns the site."""
    await site.accounts.sign_up(
        handle="sam", password=PASSWORD, now_ms=site.clock.now_ms(), staff=True, allow_reserved=True
    )
    assert (await visitor.log_in("sam")).status_code == 200
    return visitor


async def test_an_alert_is_on_the_dashboard_and_its_page_until_it_ends(site: Services, sam: HttpBrowser) -> None:
    counts = DamageCounts(site.store)
    await counts.add({"x": 3})
    for path in ("/ops/", "/ops/alerts/"):
        assert TITLE not in (await sam.get(path)).text
    for _ in range(2):
        await AlertService(site).check()
    for path in ("/ops/", "/ops/alerts/"):
        assert TITLE in (await sam.get(path)).text
        alerts = (await sam.get_json(path)).json()["alerts"]
        assert "3 problems" in next(each["text"] for each in alerts if each["name"] == "integrity")
    await counts.replace({})
    for _ in range(2):
        await AlertService(site).check()
    assert TITLE not in (await sam.get("/ops/alerts/")).text


async def test_the_metrics_contain_a_gauge_of_each_alert(site: Services, open_browser: Any, settings: Any) -> None:
    settings.ALERT_INTERVAL_S = 0.001
    await DamageCounts(site.store).add({"x": 3})
    for _ in range(2):
        await AlertWatch(site).check_once()
    page = (await (await open_browser(address="127.0.0.1")).get("/metrics")).text
    assert 'socialsite_alert{name="integrity"} 1.0' in page
    assert 'socialsite_alert{name="store"} 0.0' in page


async def test_staff_chooses_mail_or_push_for_alerts(site: Services, sam: HttpBrowser) -> None:
    assert (await sam.get_json("/ops/alerts/")).json()["told_by"] == "mail"
    answer = await sam.post_json("/ops/alerts/", alerts="push", summary="1")
    assert answer.status_code == 200, answer.text
    answer = await sam.get_json("/ops/alerts/")
    assert (answer.json()["told_by"], answer.json()["summary"]) == ("push", True)
    await sam.post_json("/ops/alerts/", alerts="none")
    answer = await sam.get_json("/ops/alerts/")
    assert (answer.json()["told_by"], answer.json()["summary"]) == ("none", False)
    assert (await sam.post_json("/ops/alerts/", alerts="by pigeon")).status_code == 422


async def id_of(site: Services, handle: str) -> AccountId:
    return AccountId((await site.accounts.get_by_handle(handle)).id)


@pytest.fixture
async def trending(world: World) -> None:
    """Two hashtags that several accounts use."""
    for person in await world.people("carol", "dave", "erin"):
        await person.publishes("#fine and #rude")
    await world.deliver_all()


async def trends_of(browser: HttpBrowser) -> list[str]:
    return [each["name"] for each in (await browser.get_json("/api/v1/trends")).json()]


async def test_a_hashtag_that_is_held_back_leaves_pages_and_the_api_at_once(
    site: Services, sam: HttpBrowser, alice: HttpBrowser, trending: None
) -> None:
    assert sorted(await trends_of(alice)) == ["fine", "rude"]
    answer = await sam.post_json("/ops/trends/", tag="rude", action="hold")
    assert answer.status_code == 200, answer.text
    assert await trends_of(alice) == ["fine"]
    for path in ("/public/", "/search/", "/"):
        assert 'href="/tags/rude/"' not in _aside((await alice.get(path)).text)
    assert "Show #rude" in (await sam.get("/ops/trends/")).text
    await sam.post_json("/ops/trends/", tag="rude", action="show")
    assert sorted(await trends_of(alice)) == ["fine", "rude"]
    entries = [(entry.action, entry.target) for entry in (await AuditLog(site.store).search(10))[0]]
    assert entries == [("show", "hashtag:rude"), ("hold", "hashtag:rude")]
    tags = [f"tag{number}" for number in range(5)]
    await asyncio.gather(*(sam.post_json("/ops/trends/", tag=tag, action="hold") for tag in tags))
    assert set(site.site.settings.held_hashtags) == set(tags)


def _aside(page: str) -> str:
    """Return the part of the page that shows trends."""
    return page.partition("data-trends")[2].partition("</section>")[0]


async def test_with_a_review_only_allowed_hashtags_are_trends(
    site: Services, sam: HttpBrowser, alice: HttpBrowser, trending: None
) -> None:
    await site.site.change(reviews_trends=True)
    assert await trends_of(alice) == []
    await sam.post_json("/ops/trends/", tag="fine", action="show")
    assert await trends_of(alice) == ["fine"]
    await sam.post_json("/ops/trends/", tag="fine", action="hold")
    assert await trends_of(alice) == []


async def test_an_account_that_is_held_back_is_not_suggested(
    site: Services, sam: HttpBrowser, alice: HttpBrowser, trending: None
) -> None:
    async def suggested() -> set[str]:
        answer = await alice.get_json("/api/v1/directory")
        shown = {each["username"] for each in answer.json()}
        found = await site.follow_suggestions.suggestions(await id_of(site, "alice"), 20)
        authors = await site.accounts.find_authors([each.account_id for each in found])
        assert {author.handle for author in authors.values()} == shown - {"alice"}
        return shown

    assert {"carol", "dave", "erin"} <= await suggested()
    await sam.post_json("/ops/trends/", handle="@dave", action="hold")
    assert "dave" not in await suggested()
    assert "@dave" in (await sam.get("/ops/trends/")).text
    await sam.post_json("/ops/trends/", handle="dave", action="show")
    assert "dave" in await suggested()
    await site.site.change(suggests_accounts=False)
    assert await site.follow_suggestions.suggestions(await id_of(site, "alice"), 20) == []


async def test_an_unknown_account_is_reported_beside_its_field(sam: HttpBrowser) -> None:
    page = await sam.post("/ops/trends/", handle="nobody", action="hold")
    assert page.status_code == 422
    assert 'aria-describedby="held-handle-error"' in page.text
    assert 'value="nobody"' in page.text
    assert "field-wrong" in page.text
    assert (await sam.post_json("/ops/trends/", handle="nobody", action="hold")).status_code == 404
    assert (await sam.post_json("/ops/trends/", tag="x", action="burn")).status_code == 422


async def test_a_post_that_is_held_back_is_not_popular(
    site: Services, sam: HttpBrowser, alice: HttpBrowser, world: World
) -> None:
    post = await alice.publish("popular")
    for person in await world.people("liker1", "liker2"):
        await site.reactions.like(account_id=person.id, post_id=PostId(int(post["id"])), now_ms=site.clock.now_ms())
    await site.popular.refill()

    async def popular() -> list[str]:
        return [each["id"] for each in (await alice.get_json("/search/")).json()["posts"]]

    assert await popular() == [post["id"]]
    assert (
        await sam.post_json("/ops/trends/", post=f"http://testserver{post['url']}", action="hold")
    ).status_code == 200
    assert await popular() == []
    page = (await sam.get("/ops/trends/")).text
    assert f'<a href="{post["url"]}">' in page
    for wrong in ("nothing", "9", ""):
        refused = await sam.post("/ops/trends/", post=wrong, action="hold")
        assert refused.status_code == 422
        assert 'id="held-post-error"' in refused.text
    await sam.post_json("/ops/trends/", post=post["id"], action="show")
    assert await popular() == [post["id"]]
