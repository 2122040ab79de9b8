"""Polls in real browsers: a poll is written in the composer, answered without a new page, and moves on open pages."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenReader, SignUpVisitor


def write_poll(page: Page, question: str) -> None:
    composer = page.locator("form[data-composer]").first
    composer.locator("[name=text]").fill(question)
    composer.get_by_title("Poll").click()
    composer.get_by_placeholder("Option 1").fill("Tea")
    composer.get_by_placeholder("Option 2").fill("Coffee")
    composer.locator("[type=submit]").click()


def test_a_vote_shows_the_results_and_moves_them_on_another_page(reader: OpenReader, visitor: SignUpVisitor) -> None:
    author, voter = visitor(), visitor()
    one, two = reader(author), reader(voter)
    one.go_to_live("/")
    write_poll(one.page, "Which one?")
    own = one.page.locator(".poll").first
    expect(own.locator("progress")).to_have_count(2)
    expect(one.page.locator(".composer-poll")).not_to_have_attribute("open", "")
    two.go_to(f"/@{author.handle}/")
    poll = two.page.locator(".poll").first
    expect(poll.locator("progress")).to_have_count(0)
    poll.get_by_role("button", name="Vote").click()
    expect(two.page.locator(".toast")).to_contain_text("Choose an option first.")
    poll.get_by_label("Coffee").check()
    poll.get_by_role("button", name="Vote").click()
    expect(poll.locator("progress")).to_have_count(2)
    expect(poll).to_contain_text("1 person voted")
    expect(own).to_contain_text("1 person voted")


@pytest.mark.nightly
def test_a_poll_is_answered_without_a_script(reader: OpenReader, visitor: SignUpVisitor) -> None:
    author, voter = visitor(), visitor()
    author.post("/posts/", text="Which days?", **{"poll[options][]": ["Monday", "Tuesday"], "poll[multiple]": "on"})
    me = reader(voter, java_script_enabled=False)
    me.go_to(f"/@{author.handle}/")
    for day in ("Monday", "Tuesday"):
        me.page.get_by_label(day).check()
    me.page.get_by_role("button", name="Vote").click()
    expect(me.page.locator(".poll progress")).to_have_count(2)
