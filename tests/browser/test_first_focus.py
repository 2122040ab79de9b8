"""The cursor waits where somebody types next, and a language is found by typing its name."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenReader
from tests.support.page_health import find_page_problems
from tests.support.visitor import HttpVisitor

SIZES = pytest.mark.parametrize(
    "viewport", [{"width": 390, "height": 844}, {"width": 1280, "height": 800}], ids=["phone", "laptop"]
)


@SIZES
def test_the_log_in_has_the_cursor_before_and_after_an_error(
    reader: OpenReader, own: HttpVisitor, viewport: dict[str, int]
) -> None:
    me = reader(viewport=viewport)
    me.go_to("/accounts/login/")
    expect(me.page.locator("[name=username]")).to_be_focused()
    me.page.keyboard.type(own.handle)
    me.page.locator("[name=password]").fill("not this")
    me.page.keyboard.press("Enter")
    expect(me.page.get_by_role("alert")).to_be_visible()
    expect(me.page.locator("[name=password]")).to_be_focused()


@SIZES
def test_a_language_is_found_by_its_name(reader: OpenReader, own: HttpVisitor, viewport: dict[str, int]) -> None:
    me = reader(own, viewport=viewport)
    me.go_to("/accounts/preferences/")
    me.page.locator("summary", has_text="More languages").click()
    me.page.locator("[data-filter]").fill("espera")
    shown = me.page.locator("details .choices label:visible")
    expect(shown).to_have_count(1)
    shown.get_by_role("checkbox").check()
    assert find_page_problems(me.page) == []
    me.page.get_by_role("button", name="Save").click()
    expect(me.page.locator('[name=languages][value="eo"]')).to_be_checked()
    expect(me.page.locator("details [name=languages][value=eo]")).to_have_count(0)
