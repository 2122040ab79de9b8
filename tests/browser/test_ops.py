"""The parts of the dashboard and of link counting that only a browser can show."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenReader, SignUpVisitor
from tests.support.sites import QuickstartSite


def test_the_dashboard_renews_itself_until_it_is_turned_off(
    site: QuickstartSite, reader: OpenReader, visitor: SignUpVisitor
) -> None:
    staff, other = visitor(), visitor()
    account = staff.get(f"/@{staff.handle}/")["account"]["id"]
    with site.redis() as client:
        client.hset(f"accounts:{{{account}}}:account", "staff", "1")
    me = reader(staff)
    me.go_to("/ops/")
    chart = me.page.locator("#ops-live svg[aria-label^='Posts:']")
    before = chart.get_attribute("aria-label") or ""
    other.publishes("one more")
    expect(chart).not_to_have_attribute("aria-label", before)
    me.page.locator("[data-renew]").uncheck()
    me.page.evaluate("document.getElementById('ops-live').firstElementChild.id = 'kept'")
    me.page.wait_for_timeout(6_000)
    expect(me.page.locator("#kept")).to_have_count(1)


@pytest.mark.nightly
def test_an_author_sees_how_often_a_link_was_followed(
    site: QuickstartSite, reader: OpenReader, visitor: SignUpVisitor
) -> None:
    author = visitor()
    post = author.publishes("look at https://localhost.test.example.org/ there")
    me = reader(visitor())
    me.page.route("https://**", lambda route: route.fulfill(body="the target"))
    me.go_to(post["url"])
    with me.page.expect_request("**/clicks/") as click_request:
        me.page.locator(".post-text a.link").click()
    assert click_request.value.method == "POST"
    me.page.wait_for_url("https://localhost.test.example.org/")
    own = reader(author)

    def is_counted() -> bool:
        own.go_to(post["url"])
        return own.page.get_by_text("1 link click").count() == 1

    own.wait_for(is_counted)
