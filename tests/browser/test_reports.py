"""A post is reported in four clicks: by the keyboard, on a phone, with and without a script."""

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import OpenReader, SignUpVisitor
from tests.browser.test_pictures import PHOTO, choose, post, wait_until_ready
from tests.support.random_tests import mostly_nightly

WITH_AND_WITHOUT_SCRIPT = pytest.mark.parametrize(
    "has_script", mostly_nightly([True, False], 1), ids=["script", "no script"]
)


@WITH_AND_WITHOUT_SCRIPT
def test_a_post_is_reported_by_four_clicks_and_leads_back(
    reader: OpenReader, visitor: SignUpVisitor, has_script: bool
) -> None:
    author, other = visitor(), visitor()
    author.post("/posts/", text="rude words")
    me = reader(other, java_script_enabled=has_script)
    me.go_to(f"/@{author.handle}/")
    post = me.page.locator(".post").first
    post.locator("summary.action").click()
    post.get_by_role("link", name="Report", exact=True).click()
    me.page.get_by_role("radio", name="Spam").check()
    me.page.get_by_role("button", name="Send the report").click()
    expect(me.page.get_by_role("heading", name="Thank you")).to_be_visible()
    me.page.get_by_label(f"Mute @{author.handle}").select_option("3600")
    me.page.get_by_role("button", name="Mute", exact=True).click()
    expect(me.page).to_have_url(f"{me.url}/@{author.handle}/")
    expect(me.page.locator("main")).to_contain_text(f"You muted @{author.handle}")


@WITH_AND_WITHOUT_SCRIPT
def test_a_post_is_reported_by_the_keyboard(reader: OpenReader, visitor: SignUpVisitor, has_script: bool) -> None:
    author, other = visitor(), visitor()
    author.post("/posts/", text="rude words")
    me = reader(other, java_script_enabled=has_script, viewport={"width": 360, "height": 700})
    me.go_to(f"/@{author.handle}/")
    page = me.page
    page.locator(".post summary.action").first.focus()
    page.keyboard.press("Enter")
    go_to_by_tab(page, page.locator(".post").get_by_role("link", name="Report", exact=True))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=f"Report @{author.handle}")).to_be_visible()
    expect(page.locator("blockquote")).to_have_text("rude words")
    send = page.get_by_role("button", name="Send the report")
    go_to_by_tab(page, send)
    page.keyboard.press("Enter")  # sends no report: no reason has been chosen
    reasons = page.get_by_role("group", name="Why are you reporting this?")
    expect(reasons).to_have_accessible_description("Choose a reason.")
    go_to_by_tab(page, page.get_by_label("Harassment"))
    page.keyboard.press("ArrowUp")
    expect(page.get_by_label("Something else")).to_be_checked()
    go_to_by_tab(page, send)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.keyboard.press("Enter")
    comment = page.get_by_label("What else should we know?")
    expect(comment).to_have_accessible_description("Please describe what is wrong.")
    expect(comment).to_be_focused()
    expect(page.get_by_label("Something else")).to_be_checked()
    page.keyboard.type("They insult me.")
    go_to_by_tab(page, send)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
    page.get_by_role("link", name="Your reports").first.click()
    expect(page.locator(".report")).to_contain_text("We have not decided yet.")
    expect(page.locator(".report")).to_contain_text("They insult me.")


def go_to_by_tab(page: Page, control: Locator) -> None:
    while not control.evaluate("(control) => control === document.activeElement"):
        page.keyboard.press("Tab")


@pytest.mark.nightly
def test_an_open_picture_leads_to_the_form(reader: OpenReader, visitor: SignUpVisitor) -> None:
    author, other = visitor(), visitor()
    mine, theirs = reader(author), reader(other)
    mine.go_to("/")
    rows = choose(mine.page, PHOTO)
    rows.get_by_label("Description").fill("A grey gradient")
    wait_until_ready(rows, 1)
    with mine.page.expect_response(lambda answer: answer.url.endswith("/posts/")):
        post(mine.page)
    post_id = author.get(f"/@{author.handle}/")["posts"][0]["id"]
    for me, has_link in ((theirs, True), (mine, False)):
        me.go_to(f"/@{author.handle}/")
        me.page.locator("a.picture").first.click()
        report = me.page.locator(".viewer-report")
        expect(me.page.locator(".viewer")).to_be_visible()
        if has_link:
            expect(report).to_have_attribute("href", f"/reports/new/?post={post_id}")
            expect(report).to_be_visible()
        else:
            expect(report).to_be_hidden()
