"""Quotes in real browsers: written from the menu of a post, and removed by the quoted author, also without a script."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenReader, SignUpVisitor
from tests.support.random_tests import mostly_nightly


def quote_from_menu(page: Page, words: str) -> None:
    page.locator(".post summary.action").first.click()
    page.get_by_role("link", name="Quote", exact=True).first.click()
    composer = page.locator("form[data-composer]")
    expect(composer.get_by_label("Quote this post")).to_be_checked()
    composer.locator("[name=text]").fill(words)
    with page.expect_response(lambda response: response.request.method == "POST"):
        composer.get_by_role("button", name="Post", exact=True).click()


@pytest.mark.parametrize("has_script", mostly_nightly([True, False], 1), ids=["script", "no script"])
def test_a_post_is_quoted_and_removed_from_the_quote(
    reader: OpenReader, visitor: SignUpVisitor, has_script: bool
) -> None:
    author, other = visitor(), visitor()
    author.post("/posts/", text="words to quote")
    one, two = reader(author, java_script_enabled=has_script), reader(other, java_script_enabled=has_script)
    two.go_to(f"/@{author.handle}/")
    quote_from_menu(two.page, "my opinion")
    if has_script:
        expect(two.page.locator("dialog.sheet")).to_have_count(0)
    two.go_to(f"/@{other.handle}/")
    card = two.page.locator(".post blockquote.quote")
    expect(card).to_contain_text("words to quote")
    expect(card.get_by_role("link", name=author.handle)).to_have_attribute("href", f"/@{author.handle}/")
    if has_script:
        two.go_to_live(f"/@{other.handle}/")
    one.go_to(f"/@{other.handle}/")
    one.page.locator(".post summary.action").first.click()
    one.page.get_by_role("button", name="Remove my post from this quote").click()
    gap = "The author has removed their post from this quote."
    one.go_to(f"/@{other.handle}/")
    expect(one.page.locator(".post .quote-gap")).to_have_text(gap)
    if not has_script:
        two.go_to(f"/@{other.handle}/")
    expect(two.page.locator(".post .quote-gap")).to_have_text(gap)
    expect(card).to_have_count(0)
