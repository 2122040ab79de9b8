"""The dashboard renews itself, and a followed link is told: what only a browser can show."""

from playwright.sync_api import expect

from tests.browser.conftest import OpenReader, SignUpVisitor
from tests.support.site import QuickstartSite


def test_the_dashboard_renews_itself_unless_it_is_told_not_to(
    site: QuickstartSite, reader: OpenReader, visitor: SignUpVisitor
) -> None:
    staff, other = visitor(), visitor()
    account = staff.get(f"/@{staff.handle}/")["account"]["id"]
    with site.redis() as client:
        client.hset(f"accounts:{{{account}}}:account", "staff", "1")
    me = reader(staff)
    me.go_to("/ops/")
    said = me.page.locator("#ops-live svg[aria-label^='Posts:']")
    before = said.get_attribute("aria-label") or ""
    other.publishes("one more")
    expect(said).not_to_have_attribute("aria-label", before)
    me.page.locator("[data-renew]").uncheck()
    me.page.evaluate("document.getElementById('ops-live').firstElementChild.id = 'kept'")
    me.page.wait_for_timeout(6_000)
    expect(me.page.locator("#kept")).to_have_count(1)


def test_a_link_that_somebody_follows_is_told_to_its_author(
    site: QuickstartSite, reader: OpenReader, visitor: SignUpVisitor
) -> None:
    author = visitor()
    post = author.publishes("look at https://localhost.test.example.org/ there")
    me = reader(visitor())
    me.page.route("https://**", lambda route: route.fulfill(body="the target"))
    me.go_to(post["url"])
    with me.page.expect_request("**/clicks/") as told:
        me.page.locator(".post-text a.link").click()
    assert told.value.method == "POST"
    me.page.wait_for_url("https://localhost.test.example.org/")
    own = reader(author)

    def is_counted() -> bool:
        own.go_to(post["url"])
        return own.page.get_by_text("links followed 1 time").count() == 1

    own.wait_for(is_counted)
