"""The emoji of the composer: found by name, inserted at the cursor, with keyboard and pointer."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenReader
from tests.support.chromium import BrowserPage
from tests.support.page_health import find_page_problems
from tests.support.sites import QuickstartSite
from tests.support.visitor import HttpVisitor

TEXT = "[data-composer] textarea[name=text]"


def test_an_emoji_is_found_by_its_name_and_inserted_at_the_cursor(me: BrowserPage, own: HttpVisitor) -> None:
    loaded: list[str] = []
    me.page.on("request", lambda request: loaded.append(request.url))
    me.go_to("/")
    page = me.page
    page.locator(TEXT).fill("tea and cake")
    page.locator(TEXT).evaluate("(text) => text.setSelectionRange(4, 4)")
    assert not [url for url in loaded if "emoji" in url]
    page.get_by_role("button", name="Emoji").focus()
    page.keyboard.press("Enter")
    search = page.get_by_role("combobox", name="Search by name")
    expect(search).to_be_focused()
    assert find_page_problems(page) == []
    page.keyboard.type("hot bev")
    expect(page.get_by_role("option", name="hot beverage")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(page.locator(TEXT)).to_be_focused()
    expect(page.locator(TEXT)).to_have_value("tea ☕and cake")
    assert page.locator(TEXT).evaluate("(text) => text.selectionStart") == 5
    expect(search).to_have_count(0)


def test_arrows_choose_escape_gives_the_focus_back_and_recent_emoji_come_first(
    me: BrowserPage, own: HttpVisitor
) -> None:
    me.go_to("/")
    page = me.page
    button = page.get_by_role("button", name="Emoji")
    button.click()
    selected = page.locator(".emoji [aria-selected=true]")
    expect(selected).to_have_attribute("title", "grinning face")
    for key in ("ArrowRight", "ArrowDown", "ArrowUp"):
        page.keyboard.press(key)
    expect(selected).to_have_attribute("title", "grinning face with big eyes")
    page.keyboard.press("Shift+Enter")
    page.keyboard.press("Shift+Enter")
    expect(page.locator(TEXT)).to_have_value("😃😃")
    page.keyboard.press("Escape")
    expect(page.locator(TEXT)).to_be_focused()
    expect(button).to_have_attribute("aria-expanded", "false")
    button.click()
    expect(selected).to_have_attribute("title", "grinning face with big eyes")
    page.get_by_role("option", name="France").click()
    expect(page.locator(TEXT)).to_have_value("😃😃🇫🇷")


def test_names_are_in_the_language_of_the_page_and_arrows_follow_its_direction(
    reader: OpenReader, own: HttpVisitor
) -> None:
    me = reader(own, locale="ar")
    me.go_to("/")
    me.page.locator("[data-emoji]").click()
    selected = me.page.locator(".emoji [aria-selected=true]")
    expect(selected).to_have_attribute("title", "وجه بابتسامة عريضة")
    me.page.keyboard.press("ArrowLeft")
    expect(selected).not_to_have_attribute("title", "وجه بابتسامة عريضة")
    me.page.keyboard.type("cat face")
    expect(selected).to_have_text("🐱")


@pytest.mark.parametrize("typed", ["\u2764", "\u2764\ufe0f"])
def test_an_emoji_is_found_by_typing_the_emoji(reader: OpenReader, own: HttpVisitor, typed: str) -> None:
    me = reader(own)
    me.go_to("/compose/")
    me.page.locator("[data-emoji]").click()
    expect(me.page.get_by_role("combobox", name="Search by name")).to_be_focused()
    me.page.keyboard.insert_text(typed)
    expect(me.page.locator(".emoji [role=option]")).not_to_have_count(0)
    me.page.get_by_role("option", name="red heart", exact=True).click()
    expect(me.page.locator(TEXT)).to_have_value("\u2764\ufe0f")


def test_a_dialog_stays_open_when_escape_closes_the_emoji(me: BrowserPage, own: HttpVisitor) -> None:
    me.go_to("/notifications/")
    me.page.keyboard.press("n")
    me.page.locator("dialog.sheet").get_by_role("button", name="Emoji").click()
    expect(me.page.get_by_role("combobox", name="Search by name")).to_be_focused()
    me.page.keyboard.press("Escape")
    expect(me.page.locator("dialog.sheet textarea[name=text]")).to_be_focused()


def test_touch_devices_and_pages_without_a_script_have_no_button(reader: OpenReader, own: HttpVisitor) -> None:
    for options in ({"has_touch": True, "is_mobile": True}, {"java_script_enabled": False}):
        me = reader(own, **options)
        me.go_to("/compose/")
        expect(me.page.locator(TEXT)).to_be_visible()
        expect(me.page.locator("[data-emoji]")).to_be_hidden()


@pytest.mark.parametrize("language", ["en", "de", "fr", "es", "pt", "pl", "ja", "ar"])
def test_the_names_of_each_language_are_complete_and_small(site: QuickstartSite, language: str) -> None:
    manifest = json.loads((site.data / "static/staticfiles.json").read_text())["paths"]
    content = (site.data / "static" / manifest[f"emoji/{language}.txt"]).read_bytes()
    assert len(content) <= 95_000
    codes, *rows = content.decode().splitlines()
    assert re.fullmatch(r"([A-Z]{2}){258}", codes)
    assert len(rows) == 1428
    assert all(len(row.split("\t")) >= 2 for row in rows)


def test_control_z_takes_back_an_emoji_and_a_completion(reader: OpenReader, own: HttpVisitor) -> None:
    own.publishes("#undoable words")
    me = reader(own)
    me.go_to("/")
    text = me.page.locator(TEXT)
    text.focus()
    me.page.keyboard.type("tea ")
    me.page.locator("[data-emoji]").click()
    search = me.page.get_by_role("combobox", name="Search by name")
    expect(search).to_be_focused()
    me.page.keyboard.type("hot bev")
    expect(me.page.get_by_role("option", name="hot beverage")).to_have_attribute("aria-selected", "true")
    me.page.keyboard.press("Enter")
    expect(text).to_have_value("tea ☕")
    me.page.keyboard.type(" #undo")
    me.page.locator(".completions [role=option]").filter(has_text="#undoable").click()
    expect(text).to_have_value("tea ☕ #undoable ")
    me.page.keyboard.press("Control+z")
    expect(text).to_have_value("tea ☕ #undo")
    for _ in range(7):
        me.page.keyboard.press("Control+z")
    expect(text).to_have_value("tea ")
    me.page.keyboard.press("Control+Shift+z")
    expect(text).to_have_value("tea ☕")


def test_the_emoji_of_exactly_that_name_comes_first(me: BrowserPage) -> None:
    me.go_to("/")
    me.page.locator(".composer-emoji").click()
    expect(me.page.get_by_role("combobox", name="Search by name")).to_be_focused()
    me.page.keyboard.type("rocket")
    expect(me.page.locator("#emoji-list [role=option]").first).to_have_text("🚀")


def test_back_closes_the_emoji_and_not_the_composer(me: BrowserPage) -> None:
    me.go_to("/public/")
    me.go_to("/notifications/")
    me.page.keyboard.press("n")
    me.page.locator(TEXT).fill("tea")
    emoji = me.page.locator(".emoji")
    for close in (me.page.go_back, me.page.locator("[data-emoji]").click):
        me.page.locator("[data-emoji]").click()
        expect(emoji).to_be_visible()
        close()
        expect(emoji).to_have_count(0)
        expect(me.page.locator(TEXT)).to_be_focused()
    me.page.locator("[data-emoji]").click()
    expect(emoji).to_be_visible()
    me.page.get_by_role("button", name="Cancel").click()
    expect(me.page.locator("dialog.sheet")).to_have_count(0)
    me.page.go_back()
    me.page.wait_for_url(f"{me.url}/public/")
