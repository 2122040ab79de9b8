"""The form of a sign-up in a browser: checks while a person types, and the input that a refused form keeps."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenReader, visitor_numbers
from tests.support.chromium import BrowserPage
from tests.support.page_health import find_page_problems
from tests.support.visitor import PASSWORD, HttpVisitor

PHONE, LAPTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 800}


def button_top(page: Page) -> float:
    return float(page.evaluate("document.querySelector('main form [type=submit]').getBoundingClientRect().top"))


@pytest.mark.parametrize("viewport", [PHONE, LAPTOP], ids=["phone", "laptop"])
def test_a_handle_and_a_password_are_checked_while_typed_and_kept_when_refused(
    reader: OpenReader, friend: HttpVisitor, viewport: dict[str, int]
) -> None:
    me = reader(viewport=viewport)
    page = me.page
    me.go_to("/accounts/signup/")
    handle, password = page.locator("[name=handle]"), page.locator("[name=password1]")
    expect(page.locator("input[type=password]")).to_have_count(1)
    top = button_top(page)
    handle.press_sequentially(friend.handle)
    expect(page.locator("#id_handle_helptext")).to_have_text("This handle is taken.")
    password.press_sequentially("password")
    expect(page.locator("#id_password1_helptext")).to_have_text("This password is too common.")
    assert button_top(page) == top
    page.locator("main").get_by_role("button", name="Sign up").click()
    expect(page.locator("#id_handle_error")).to_have_text("This handle is taken.")
    expect(page.locator("#id_password1_error")).to_have_text("This password is too common.")
    expect(handle).to_be_focused()
    expect(password).to_have_value("password")
    assert find_page_problems(page) == []
    password.fill(PASSWORD)
    expect(page.locator("#id_password1_helptext")).to_have_text("This password is good.")
    expect(page.locator("#id_password1_error")).to_have_count(0)
    page.locator("main").get_by_role("button", name="Sign up").click()
    expect(handle).to_be_focused()
    expect(password).to_have_value(PASSWORD)
    handle.fill(f"free{next(visitor_numbers)}")
    expect(page.locator("#id_handle_helptext")).to_have_text("This handle is free.")
    page.locator("main").get_by_role("button", name="Sign up").click()
    page.wait_for_url("**/welcome/profile/")


def test_a_refused_change_of_the_password_keeps_what_was_typed(me: BrowserPage, own: HttpVisitor) -> None:
    me.go_to("/accounts/password/")
    me.page.locator("[name=old_password]").fill("not this one")
    me.page.locator("[name=new_password1]").fill(f"{PASSWORD}!")
    me.page.get_by_role("button", name="Change password").click()
    expect(me.page.locator("[name=old_password]")).to_be_focused()
    expect(me.page.locator("[name=new_password1]")).to_have_value(f"{PASSWORD}!")
    me.page.locator("[name=old_password]").fill(PASSWORD)
    me.page.get_by_role("button", name="Change password").click()
    expect(me.page.locator(".flash")).to_have_text("Your password is changed.")
