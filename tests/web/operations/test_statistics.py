"""The statistics that the site collects about itself, and the limits after failed actions."""

import pytest

from accounts.errors import HandleTaken
from socialsite.container import Services
from tests.support.browser import HttpBrowser
from tests.web.conftest import OpenBrowser


async def told(site: Services) -> dict[str, int]:
    await site.statistics.meter.flush()
    now_ms = site.clock.now_ms()
    return await site.statistics.stats.site_totals(now_ms - 60_000, now_ms, now_ms=now_ms)


async def test_requests_pages_log_ins_and_sign_ups_are_counted(site: Services, open_browser: OpenBrowser) -> None:
    await open_browser("alice")
    before, visitor = await told(site), await open_browser()
    await visitor.get("/public/")
    await visitor.get("/nothing/here/")
    await visitor.get("/livez")
    totals = await told(site)
    assert (totals["signups"], totals["pages"]) == (1, before["pages"] + 1)
    assert totals["requests"] > before["requests"] + 1
    assert totals["errors"] == 0


async def test_an_account_made_by_an_operator_counts_as_a_sign_up(site: Services) -> None:
    now_ms = site.clock.now_ms()
    await site.accounts.sign_up(handle="made", password=None, now_ms=now_ms, staff=True)
    with pytest.raises(HandleTaken):
        await site.accounts.sign_up(handle="made", password=None, now_ms=now_ms)
    await site.accounts.import_accounts(handles=["carried_over"], now_ms=now_ms)
    assert (await told(site))["signups"] == 1


async def test_an_author_sees_how_often_others_viewed_a_post(
    site: Services, alice: HttpBrowser, open_browser: OpenBrowser
) -> None:
    bob, visitor = await open_browser("bob"), await open_browser()
    post = await alice.publish("words")
    for reader in (bob, visitor, visitor, alice):
        assert (await reader.get(post["url"])).status_code == 200
        assert (await reader.get("/@alice/")).status_code == 200
    await site.statistics.meter.flush()
    assert "3 views" in (await alice.get(post["url"])).text
    assert "3 views" in (await alice.get("/@alice/")).text
    assert "by others" not in (await bob.get(post["url"])).text
    await site.statistics.flusher.flush(site.clock.now_ms())
    await site.statistics.meter.flush()
    assert "4 views" in (await alice.get(post["url"])).text


async def test_links_that_others_follow_are_counted_for_the_author(
    site: Services, alice: HttpBrowser, open_browser: OpenBrowser
) -> None:
    bob, visitor = await open_browser("bob"), await open_browser()
    post = await alice.publish("look at https://example.org/ and https://example.com/")
    plain = await alice.publish("nothing to follow")
    for reader in (bob, visitor, alice):
        assert (await reader.post_json("/clicks/", post=post["id"])).status_code == 204
        assert (await reader.post_json("/clicks/", post=plain["id"])).status_code == 204
    await site.statistics.meter.flush()
    assert "2 link clicks" in (await alice.get(post["url"])).text
    assert "link click" not in (await alice.get(plain["url"])).text
    assert "link click" not in (await bob.get(post["url"])).text


async def test_a_click_without_a_valid_post_is_refused(site: Services, alice: HttpBrowser) -> None:
    assert (await alice.post_json("/clicks/", post="12345")).status_code == 404
    assert (await alice.post_json("/clicks/", post="x")).status_code == 400
    assert (await alice.post_json("/clicks/")).status_code == 400


@pytest.fixture
async def hasty(limited_site: Services, open_browser: OpenBrowser) -> HttpBrowser:
    """Alice on a site with a limit of three posts per minute."""
    return await open_browser("alice")


async def test_a_post_that_failed_does_not_count_against_the_limit(hasty: HttpBrowser) -> None:
    for _ in range(5):
        assert (await hasty.post_json("/posts/", text=" ")).status_code == 422
    for number in range(3):
        await hasty.publish(f"post {number}")
    assert (await hasty.post_json("/posts/", text="one more")).status_code == 429


async def test_a_follow_of_an_unknown_account_does_not_count_against_the_limit(
    hasty: HttpBrowser, open_browser: OpenBrowser
) -> None:
    await open_browser("bob")
    for _ in range(3):
        assert (await hasty.post_json("/@nobody/follow/")).status_code == 404
    assert (await hasty.post_json("/@bob/follow/")).status_code == 200


async def test_refusals_are_counted_by_rule(limited_site: Services, hasty: HttpBrowser) -> None:
    for number in range(5):
        await hasty.post_json("/posts/", text=f"post {number}")
    totals = await told(limited_site)
    assert (totals["refusals"], totals["posts"]) == (2, 3)
