"""The forms of the profile and of the site: one Save, pictures in their places before it, and nothing that is lost."""

import pytest
from playwright.sync_api import Dialog, Page, expect

from tests.browser.conftest import OpenReader
from tests.browser.test_pictures import PHOTO, TALL, file
from tests.browser.test_site_settings import boss, site_settings
from tests.support.chromium import BrowserPage
from tests.support.page_health import find_page_problems
from tests.support.visitor import HttpVisitor

PHONE, LAPTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 800}
SIZES = pytest.mark.parametrize("viewport", [PHONE, LAPTOP], ids=["phone", "laptop"])
__all__ = ["boss"]


def assert_reachable(page: Page, name: str) -> None:
    """Check that a button is in the window, and that nothing covers it."""
    box = page.get_by_role("button", name=name, exact=True).bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= page.viewport_size["height"]  # type: ignore[index]
    point = [box["x"] + box["width"] / 2, box["y"] + box["height"] / 2]
    assert page.evaluate("([x, y]) => document.elementFromPoint(x, y).closest('button')?.type", point) == "submit"


@SIZES
def test_one_save_stores_texts_and_pictures_and_leaving_unsaved_changes_warns(
    reader: OpenReader, own: HttpVisitor, viewport: dict[str, int]
) -> None:
    me = reader(own, viewport=viewport)
    page = me.page
    me.go_to("/accounts/settings/")
    page.get_by_label("Bio").fill("I write about tea")
    page.get_by_label("Avatar").set_input_files([TALL])
    page.get_by_label("Header").set_input_files([PHOTO])
    expect(page.locator(".picture-of-avatar .avatar canvas")).to_be_visible()
    expect(page.locator(".crop")).to_have_count(2)
    assert_reachable(page, "Save")
    assert find_page_problems(page) == []
    asked: list[str] = []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    page.once("dialog", stay)
    page.evaluate("location.assign('/')")
    me.wait_for(lambda: asked == ["beforeunload"])
    expect(page.get_by_label("Bio")).to_have_value("I write about tea")
    page.get_by_label("Link", exact=True).fill("ftp://nowhere")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("#id_link_error")).to_contain_text("https://")
    expect(page.locator(".picture-of-avatar .avatar canvas")).to_be_visible()
    page.get_by_label("Link", exact=True).fill("example.org")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".flash")).to_have_text("Your profile is saved.")
    expect(page.get_by_label("Bio")).to_have_value("I write about tea")
    expect(page.locator(".picture-of-avatar .avatar img")).to_be_visible()
    expect(page.locator(".picture-of-header img")).to_be_visible()
    page.get_by_label("Remove the picture").first.check()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".picture-of-avatar .avatar img")).to_have_count(0)
    expect(page.locator(".picture-of-header img")).to_be_visible()


def test_a_file_that_is_no_picture_is_named_beside_its_field_and_the_texts_stay(
    me: BrowserPage, own: HttpVisitor
) -> None:
    me.go_to("/accounts/settings/")
    me.page.get_by_label("Bio").fill("still here")
    me.page.get_by_label("Avatar").set_input_files([file("notes.png", b"no picture", "image/png")])
    me.page.get_by_role("button", name="Save", exact=True).click()
    expect(me.page.locator("#avatar-file_error")).to_be_visible()
    expect(me.page.get_by_label("Bio")).to_have_value("still here")


BOTTOM_JS = "(element) => element.getBoundingClientRect().bottom"


@SIZES
def test_a_refused_field_and_its_error_are_above_the_bar_of_the_button(
    reader: OpenReader, own: HttpVisitor, viewport: dict[str, int]
) -> None:
    me = reader(own, viewport=viewport)
    page = me.page
    me.go_to("/accounts/settings/")
    page.get_by_label("Label 1").fill("Pronouns")
    page.evaluate("scrollTo(0, 0)")
    page.get_by_role("button", name="Save", exact=True).click()
    content = page.get_by_label("Content 1")
    expect(content).to_be_focused()
    bar_top = page.locator(".save-bar").bounding_box()["y"]  # type: ignore[index]
    assert page.locator("#id_field_value_1_error").evaluate(BOTTOM_JS) <= bar_top
    assert page.get_by_label("Label 1").evaluate(BOTTOM_JS) == content.evaluate(BOTTOM_JS)


@SIZES
def test_the_settings_of_the_site_are_saved_together(
    reader: OpenReader, boss: HttpVisitor, viewport: dict[str, int]
) -> None:
    with site_settings(boss, description="", rules="", about=""):
        me = reader(boss, viewport=viewport)
        page = me.page
        me.go_to("/ops/site/")
        page.get_by_label("Description").fill("For tea friends.")
        page.locator("[name=rules]").fill("Be kind.")
        page.locator("[name=about]").fill("We like tea.")
        assert_reachable(page, "Save")
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.locator(".flash")).to_contain_text("Saved.")
        expect(page.get_by_label("Description")).to_have_value("For tea friends.")
        expect(page.locator("[name=rules]")).to_have_value("Be kind.")
        expect(page.locator("[name=about]")).to_have_value("We like tea.")
