"""Content warnings in a browser: written with a button, and opened by click and keyboard."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenReader
from tests.support.chromium import BrowserPage
from tests.support.visitor import HttpVisitor


@pytest.fixture
def me(reader: OpenReader, own: HttpVisitor) -> BrowserPage:
    page = reader(own)
    page.go_to("/")
    return page


def write_warned(me: BrowserPage, text: str, warning: str) -> None:
    form = me.page.locator("[data-composer]")
    form.locator(".composer-warning > summary").click()
    field = form.get_by_role("textbox", name="Content warning")
    expect(field).to_be_focused()
    field.fill(warning)
    expect(form.locator(".composer-count")).to_have_text(f"{500 - len(warning)} characters left")
    me.publish(text)


def test_a_warning_is_written_and_its_post_opened_by_click_and_keyboard(me: BrowserPage) -> None:
    write_warned(me, "the butler did it", "Film ending")
    post = me.entries.first
    text = post.locator(".post-text")
    expect(post.locator(".warned summary bdi")).to_have_text("Film ending")
    expect(text).to_be_hidden()
    expect(me.page.locator("#composer-warning")).to_be_hidden()
    expect(me.page.locator("#composer-warning")).to_have_value("")
    post.get_by_text("Show", exact=True).click()
    expect(text).to_be_visible()
    me.page.keyboard.press("j")
    me.page.keyboard.press("x")
    expect(text).to_be_hidden()
    post.locator(".warned > summary").focus()
    me.page.keyboard.press("Enter")
    expect(text).to_be_visible()
    assert me.page.url.rstrip("/") == me.url.rstrip("/")


@pytest.mark.nightly
def test_a_folded_warning_is_kept_but_not_sent(me: BrowserPage) -> None:
    form = me.page.locator("[data-composer]")
    form.locator(".composer-warning > summary").click()
    form.locator("#composer-warning").fill("Film ending")
    form.locator(".composer-warning > summary").click()
    me.publish("no secrets here")
    expect(me.entries.first.locator(".post-text")).to_be_visible()
    expect(me.entries.first.locator(".warned")).to_have_count(0)


def test_a_folded_warning_is_not_sent_after_a_reload_either(me: BrowserPage) -> None:
    form = me.page.locator("[data-composer]")
    form.locator(".composer-warning > summary").click()
    form.locator("#composer-warning").fill("Film ending")
    form.locator(".composer-warning > summary").click()
    form.locator("textarea[name=text]").fill("no secrets here")
    me.page.reload()
    expect(form.locator("textarea[name=text]")).to_have_value("no secrets here")
    form.locator(".composer-foot > [type=submit]").click()
    expect(me.entries.first.locator(".post-text")).to_be_visible()
    expect(me.entries.first.locator(".warned")).to_have_count(0)


@pytest.mark.nightly
def test_a_warning_that_was_not_sent_is_there_after_a_reload(me: BrowserPage) -> None:
    me.page.locator(".composer-warning > summary").click()
    me.page.locator("#composer-warning").fill("Film ending")
    me.page.reload()
    expect(me.page.locator("#composer-warning")).to_be_visible()
    expect(me.page.locator("#composer-warning")).to_have_value("Film ending")


@pytest.mark.nightly
def test_live_posts_are_open_for_a_reader_who_opens_warnings(
    me: BrowserPage, own: HttpVisitor, friend: HttpVisitor
) -> None:
    own.post("/accounts/preferences/", open_warnings="1")
    me.go_to_live("/public/")
    friend.post("/posts/", text="the butler did it", spoiler_text="Film ending")
    me.pill.click()
    expect(me.entries.first.locator(".warned .post-text")).to_be_visible()
