"""The composer as a sheet: on a phone with its keyboard open, and as a dialog of every page on a wide screen."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenReader, SignUpVisitor
from tests.support.chromium import BrowserPage
from tests.support.page_health import find_page_problems
from tests.support.pictures import picture
from tests.support.visitor import HttpVisitor

PHONE = {"width": 390, "height": 844}
KEYBOARD_OPEN = {"width": 390, "height": 480}


@pytest.fixture
def me(reader: OpenReader, own: HttpVisitor) -> BrowserPage:
    own.post("/posts/", text="the first of my posts")
    page = reader(own, viewport=PHONE, has_touch=True, is_mobile=True)
    page.go_to("/")
    return page


def add_pictures(me: BrowserPage, count: int) -> None:
    files = [{"name": f"{n}.jpg", "mimeType": "image/jpeg", "buffer": picture()} for n in range(count)]
    me.page.set_input_files("dialog.sheet [data-add-pictures]", files)  # type: ignore[arg-type]
    expect(me.page.locator(".picture-row[data-state=ready]")).to_have_count(count)


def test_a_phone_shows_the_first_post_at_the_top_and_opens_the_composer_as_a_sheet(me: BrowserPage) -> None:
    box = me.entries.first.bounding_box()
    assert box is not None
    assert box["y"] <= 130
    me.page.locator(".nav-compose a").tap()
    expect(me.page.locator("dialog.sheet textarea[name=text]")).to_be_focused()
    me.page.keyboard.type("written on a phone")
    me.page.locator("dialog.sheet .composer-foot > [type=submit]").tap()
    expect(me.page.locator("dialog.sheet")).to_have_count(0)
    expect(me.entries.first).to_contain_text("written on a phone")


def test_four_pictures_and_the_keyboard_leave_post_and_tools_within_the_window(me: BrowserPage) -> None:
    me.page.locator(".nav-compose a").tap()
    me.page.set_viewport_size(KEYBOARD_OPEN)
    add_pictures(me, 4)
    for part in (".composer-foot > [type=submit]", ".composer-add", ".composer-audience", "textarea[name=text]"):
        expect(me.page.locator(f"dialog.sheet {part}")).to_be_in_viewport(ratio=1)
    assert find_page_problems(me.page) == []
    me.page.set_viewport_size(KEYBOARD_OPEN)
    me.page.locator(".picture-alt").nth(1).tap()
    me.page.locator("dialog.picture-sheet textarea").fill("A grey square")
    me.page.go_back()
    expect(me.page.locator(".picture-row").nth(1)).to_have_class("picture-row described")
    me.page.locator("dialog.sheet .composer-foot > [type=submit]").tap()
    me.page.locator("[data-post-anyway]").tap()
    expect(me.entries.first.locator("a.picture img").nth(1)).to_have_attribute("alt", "A grey square")


def test_back_closes_the_sheet_and_keeps_the_text_as_a_draft(me: BrowserPage) -> None:
    me.page.locator(".nav-compose a").tap()
    me.page.keyboard.type("half a thought")
    me.page.go_back()
    expect(me.page.locator("dialog.sheet")).to_have_count(0)
    assert me.page.url == f"{me.url}/"
    me.page.reload()
    me.page.locator(".nav-compose a").tap()
    expect(me.page.locator("dialog.sheet textarea[name=text]")).to_have_value("half a thought")


def test_a_reply_is_written_over_the_timeline_and_keeps_its_place(me: BrowserPage) -> None:
    me.page.set_viewport_size({"width": 1280, "height": 800})
    me.entries.first.locator(".action[href$='#reply']").click()
    expect(me.page.locator("dialog.sheet blockquote")).to_contain_text("the first of my posts")
    me.page.keyboard.type("an answer to it")
    me.page.keyboard.press("Control+Enter")
    expect(me.page.locator("dialog.sheet")).to_have_count(0)
    assert me.page.url == f"{me.url}/"
    answered = me.entries.filter(has_text="the first of my posts")
    me.go_to(answered.locator(".post-time").get_attribute("href") or "")
    expect(me.page.locator("[data-replies] article")).to_contain_text("an answer to it")


def test_a_second_click_opens_no_second_sheet_and_a_reply_is_kept(me: BrowserPage) -> None:
    me.page.set_viewport_size({"width": 1280, "height": 800})
    me.entries.first.locator(".action[href$='#reply']").dblclick()
    expect(me.page.locator("dialog.sheet")).to_have_count(1)
    me.page.keyboard.type("half an answer")
    me.page.keyboard.press("Escape")
    expect(me.page.locator("dialog.sheet")).to_have_count(0)
    me.entries.first.locator(".action[href$='#reply']").click()
    expect(me.page.locator("dialog.sheet textarea[name=text]")).to_have_value("half an answer")


def test_escape_closes_the_suggestions_and_not_the_sheet(me: BrowserPage, visitor: SignUpVisitor) -> None:
    friend = visitor()
    me.page.set_viewport_size({"width": 1280, "height": 800})
    me.go_to("/notifications/")
    me.page.keyboard.press("n")
    me.page.locator("dialog.sheet textarea[name=text]").press_sequentially(f"@{friend.handle[:-1]}")
    expect(me.page.locator("dialog.sheet [role=option]").first).to_be_visible()
    me.page.keyboard.press("Escape")
    expect(me.page.locator("dialog.sheet [role=option]")).to_have_count(0)
    expect(me.page.locator("dialog.sheet")).to_have_count(1)


def test_a_post_for_followers_is_not_shown_among_public_posts(me: BrowserPage, friend: HttpVisitor) -> None:
    me.page.set_viewport_size({"width": 1280, "height": 800})
    me.go_to_live("/public/")
    me.page.keyboard.press("n")
    me.page.locator("dialog.sheet textarea[name=text]").fill("for my followers")
    me.page.locator("dialog.sheet [name=audience]").select_option("followers")
    me.page.keyboard.press("Control+Enter")
    expect(me.page.locator(".notes")).to_contain_text("published")
    friend.publishes("for everybody")
    expect(me.pill).to_have_text("1 new post")
    me.pill.click()
    expect(me.entries.first).to_contain_text("for everybody")
    expect(me.page.locator(".timeline", has_text="for my followers")).to_have_count(0)


def test_a_post_from_another_profile_is_not_shown_among_its_posts(me: BrowserPage, visitor: SignUpVisitor) -> None:
    other = visitor()
    other.post("/posts/", text="of the other")
    me.page.set_viewport_size({"width": 1280, "height": 800})
    me.go_to(f"/@{other.handle}/")
    me.page.keyboard.press("n")
    me.page.locator("dialog.sheet textarea[name=text]").fill("from elsewhere")
    me.page.keyboard.press("Control+Enter")
    expect(me.page.locator(".notes")).to_contain_text("published")
    expect(me.entries).to_have_count(1)


def test_new_post_on_the_page_of_a_post_is_no_reply(me: BrowserPage) -> None:
    me.go_to(me.entries.first.locator(".post-time").get_attribute("href") or "")
    me.page.locator(".nav-compose a").tap()
    expect(me.page.locator("dialog.sheet textarea[name=text]")).to_be_focused()
    expect(me.page.locator("dialog.sheet [name=in_reply_to]")).to_have_count(0)
    me.page.go_back()
    me.page.locator(".reply-line a").tap()
    expect(me.page.locator("dialog.sheet [name=in_reply_to]")).to_have_count(1)


def test_without_a_script_the_composer_is_a_page(reader: OpenReader, own: HttpVisitor) -> None:
    page = reader(own, java_script_enabled=False, viewport=PHONE)
    page.go_to("/notifications/")
    page.page.locator(".nav-compose a").click()
    page.page.locator("textarea[name=text]").fill("sent by a form")
    page.page.locator(".composer-foot [type=submit]").first.click()
    expect(page.entries.first).to_contain_text("sent by a form")


def test_what_was_typed_is_among_the_drafts_at_once(me: BrowserPage) -> None:
    me.page.locator(".nav-compose a").tap()
    me.page.keyboard.type("half a thought")
    me.page.locator("dialog.sheet").get_by_role("link", name="Drafts").tap()
    me.page.wait_for_url("**/drafts/")
    expect(me.page.locator("main")).to_contain_text("half a thought")


def test_a_closed_sheet_stores_its_draft_for_other_devices(me: BrowserPage, own: HttpVisitor) -> None:
    me.page.locator(".nav-compose a").tap()
    me.page.keyboard.type("half a thought")
    with me.page.expect_response("**/drafts/", timeout=3500):
        me.page.locator("dialog.sheet").get_by_role("button", name="Cancel").tap()
    assert "half a thought" in str(own.get("/drafts/"))


def test_back_from_the_sheet_of_a_quote_closes_its_menu_too(me: BrowserPage) -> None:
    me.entries.first.locator(".menu > summary").tap()
    me.entries.first.locator(".menu-item[href$='/quote/']").tap()
    expect(me.page.locator("dialog.sheet")).to_have_count(1)
    me.page.go_back()
    expect(me.page.locator("dialog.sheet")).to_have_count(0)
    expect(me.page.locator("details.menu[open]")).to_have_count(0)
    expect(me.entries.first.locator(".menu > summary")).to_be_focused()


def test_a_reload_of_an_address_that_opens_the_sheet_opens_it_no_more_and_back_leaves_the_page(me: BrowserPage) -> None:
    me.go_to("/public/")
    me.go_to("/#compose")
    expect(me.page.locator("dialog.sheet")).to_have_count(1)
    me.page.reload()
    expect(me.page.locator(".nav-compose a")).to_be_visible()
    expect(me.page.locator("dialog.sheet")).to_have_count(0)
    me.page.go_back()
    me.page.wait_for_url(f"{me.url}/public/")


@pytest.mark.parametrize("width", [320, 390])
def test_all_tools_are_in_the_window_with_letters_of_twice_the_size(me: BrowserPage, width: int) -> None:
    me.page.set_viewport_size({"width": width, "height": 640})
    me.page.evaluate("document.documentElement.style.fontSize = '200%'")
    me.page.locator(".nav-compose a").tap()
    for tool in me.page.locator("dialog.sheet :is(.composer-body > .action, summary):visible").all():
        expect(tool).to_be_in_viewport(ratio=1)
    assert find_page_problems(me.page) == []


def test_who_sees_a_text_its_poll_and_its_language_are_kept_with_it(me: BrowserPage) -> None:
    me.page.locator(".nav-compose a").tap()
    sheet = me.page.locator("dialog.sheet")
    sheet.locator("textarea[name=text]").fill("for my followers only")
    sheet.locator("[name=audience]").select_option("followers")
    sheet.locator("[name=language]").select_option("de")
    sheet.locator(".composer-poll > summary").tap()
    for n, option in enumerate(("tea", "coffee")):
        sheet.locator('[name="poll[options][]"]').nth(n).fill(option)
    me.page.go_back()
    me.go_to("/notifications/")
    me.page.locator(".nav-compose a").tap()
    expect(sheet.locator("textarea[name=text]")).to_have_value("for my followers only")
    expect(sheet.locator("[name=audience]")).to_have_value("followers")
    expect(sheet.locator("[name=language]")).to_have_value("de")
    expect(sheet.locator('[name="poll[options][]"]').nth(1)).to_have_value("coffee")
    expect(sheet.locator('[name="poll[options][]"]').nth(1)).to_be_visible()
    sheet.locator(".composer-foot > [type=submit]").tap()
    expect(sheet).to_have_count(0)
    me.go_to("/")
    expect(me.entries.first.locator(".post-time")).to_contain_text("Followers")
    me.page.locator(".nav-compose a").tap()
    expect(sheet.locator("[name=audience]")).to_have_value("public")


def test_a_time_that_was_chosen_is_kept_and_the_button_says_it(me: BrowserPage) -> None:
    me.page.locator(".nav-compose a").tap()
    sheet = me.page.locator("dialog.sheet")
    sheet.locator("textarea[name=text]").fill("for next year")
    sheet.locator(".composer-later > summary").tap()
    sheet.locator("[name=scheduled_at]").fill("2099-01-01T10:00")
    me.page.go_back()
    me.go_to("/public/")
    me.page.locator(".nav-compose a").tap()
    expect(sheet.locator("[name=scheduled_at]")).to_have_value("2099-01-01T10:00")
    expect(sheet.locator(".composer-foot > [type=submit]")).to_have_text("Schedule")


def test_on_a_phone_the_reminder_opens_the_description_and_focus_stays_on_the_pictures(me: BrowserPage) -> None:
    me.page.locator(".nav-compose a").tap()
    add_pictures(me, 3)
    me.page.locator("dialog.sheet .composer-foot > [type=submit]").tap()
    me.page.locator("[data-describe]").tap()
    expect(me.page.locator("dialog.picture-sheet textarea")).to_be_focused()
    me.page.keyboard.press("Escape")
    expect(me.page.locator("dialog.picture-sheet")).to_have_count(0)
    buttons = me.page.locator(".picture-alt")
    for press in ('[data-move="1"]', "button[data-remove]"):
        buttons.first.tap()
        me.page.locator(f"dialog.picture-sheet {press}").tap()
        expect(me.page.locator("dialog.picture-sheet")).to_have_count(0)
        expect(me.page.locator(".picture-alt:focus")).to_have_count(1)
    expect(me.page.locator("dialog.sheet .picture-row")).to_have_count(2)


def test_a_failure_is_said_above_the_sheet(me: BrowserPage) -> None:
    me.page.route("**/pictures/dialogs/", lambda route: route.abort())
    me.page.locator(".nav-compose a").tap()
    me.page.set_input_files(
        "dialog.sheet [data-add-pictures]", [{"name": "1.jpg", "mimeType": "image/jpeg", "buffer": picture()}]
    )
    toast = me.page.locator(".toast")
    expect(toast).to_contain_text("the site cannot be reached")
    assert toast.evaluate(
        """(note) => {
          const { x, y, width, height } = note.getBoundingClientRect();
          return document.elementFromPoint(x + width / 2, y + height / 2) === note;
        }"""
    )
    me.page.go_back()
    expect(toast).to_be_visible()
    me.complaints.clear()  # of the request
