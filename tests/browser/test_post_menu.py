"""A click on a post opens it; the side panel suggests people; the theme follows the reader's choice."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenReader, SignUpVisitor
from tests.support.visitor import HttpVisitor


def test_a_click_on_the_text_opens_the_post_and_back_returns(reader: OpenReader, own: HttpVisitor) -> None:
    post = own.publishes("open me by my words")
    me = reader(own)
    me.go_to("/public/")
    me.page.locator(".post-text", has_text="open me by my words").click()
    expect(me.page).to_have_url(me.url + post["url"])
    me.page.locator("a.back").click()
    expect(me.page).to_have_url(me.url + "/public/")


@pytest.mark.nightly
def test_a_click_beside_an_open_menu_only_closes_it(reader: OpenReader, own: HttpVisitor) -> None:
    own.publishes("stay here")
    me = reader(own)
    me.go_to("/")
    me.entries.first.locator("details.menu > summary").click()
    expect(me.entries.first.locator(".menu-body")).to_be_visible()
    me.entries.first.locator(".post-text").click(position={"x": 2, "y": 2})
    expect(me.entries.first.locator(".menu-body")).to_be_hidden()
    assert me.page.url == me.url + "/"


def test_a_menu_fits_with_large_text_on_a_small_phone(reader: OpenReader, own: HttpVisitor) -> None:
    own.publishes("large text")
    me = reader(own, viewport={"width": 180, "height": 370})  # 360 pixels with text of 200 %
    me.go_to("/")
    me.entries.first.locator("details.menu > summary").click()
    menu = me.entries.first.locator(".menu-body").bounding_box()
    assert menu
    assert 0 <= menu["x"] <= menu["x"] + menu["width"] <= 180, menu


def test_a_menu_at_the_bottom_of_the_window_is_scrolled_into_view(reader: OpenReader, own: HttpVisitor) -> None:
    for number in range(6):
        own.publishes(f"a post for the height of the page: {number}")
    me = reader(own, viewport={"width": 360, "height": 800})
    me.go_to("/")
    button = me.entries.nth(2).locator("details.menu > summary")
    button.evaluate("(button) => scrollBy(0, button.getBoundingClientRect().bottom - innerHeight + 80)")
    button.click()
    navigation = me.page.locator(".site-nav").bounding_box()
    assert navigation

    def ends_above_navigation(selector: str) -> bool:
        box = me.entries.nth(2).locator(selector).bounding_box()
        return bool(box) and box["y"] + box["height"] <= navigation["y"]

    me.wait_for(lambda: ends_above_navigation(".menu-body"))
    me.page.locator(".menu[open] summary.menu-item").click()  # the question before a deletion
    me.wait_for(lambda: ends_above_navigation("[data-delete]"))


def test_the_menu_of_the_last_post_ends_above_the_bar_of_a_phone(reader: OpenReader, visitor: SignUpVisitor) -> None:
    own, friend = visitor(), visitor()
    friend.publishes("the only post of a short page")
    me = reader(own, viewport={"width": 360, "height": 700})
    me.go_to(f"/@{friend.handle}/")
    me.page.locator("article details.menu > summary").click()
    me.page.locator("article .menu-body").get_by_text("Report").click()
    expect(me.page.locator("h1")).to_contain_text("Report")


@pytest.mark.nightly
def test_the_side_panel_suggests_people_and_follows_them(reader: OpenReader, visitor: SignUpVisitor) -> None:
    own, friend, stranger = visitor(), visitor(), visitor()
    own.follows(friend.handle)
    friend.follows(stranger.handle)
    me = reader(own, viewport={"width": 1280, "height": 800})
    me.go_to("/public/")
    button = me.page.locator(f"[data-aside-people] [data-follow='{stranger.handle}']")
    button.click()
    expect(button).to_have_count(0)
    me.go_to(f"/@{stranger.handle}/")
    expect(me.page.locator(".btn-following").first).to_be_visible()


@pytest.mark.nightly
def test_a_chosen_theme_wins_over_the_system(reader: OpenReader) -> None:
    me = reader(color_scheme="light")
    me.go_to("/display/")
    background = "getComputedStyle(document.documentElement).backgroundColor"
    light = me.page.evaluate(background)
    me.page.get_by_label("Dark").check()
    me.page.get_by_role("button", name="Save").click()
    expect(me.page.locator("html")).to_have_attribute("data-theme", "dark")
    assert me.page.evaluate(background) != light


def test_back_closes_a_menu_of_a_phone_and_keeps_the_place(reader: OpenReader, own: HttpVisitor) -> None:
    for number in range(12):
        own.post("/posts/", text=f"post {number}")
    me = reader(own, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    me.go_to("/public/")
    me.go_to("/")
    me.entries.nth(8).scroll_into_view_if_needed()
    place = me.page.evaluate("scrollY")
    me.entries.nth(8).locator("details.menu > summary").tap()
    expect(me.page.locator(".menu-body:visible")).to_have_count(1)
    me.wait_for(lambda: me.page.evaluate("history.state?.layers") == 1)
    me.entries.nth(7).locator("details.menu > summary").tap()  # instead of the first menu
    expect(me.entries.nth(7).locator(".menu-body")).to_be_visible()
    expect(me.page.locator(".menu-body:visible")).to_have_count(1)
    me.page.go_back()
    expect(me.page.locator(".menu-body:visible")).to_have_count(0)
    assert me.page.url == f"{me.url}/"
    assert me.page.evaluate("scrollY") == pytest.approx(place, abs=60)  # the menu may have been scrolled into view
    me.page.go_back()
    me.page.wait_for_url("**/public/")


def test_back_from_the_page_of_a_menu_needs_one_step(reader: OpenReader, own: HttpVisitor) -> None:
    own.post("/posts/", text="a post to edit")
    me = reader(own, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    me.go_to("/public/")
    me.go_to("/")
    me.entries.first.locator("details.menu > summary").tap()
    me.wait_for(lambda: me.page.evaluate("history.state?.layers") == 1)
    me.entries.first.get_by_text("Edit", exact=True).tap()
    me.page.wait_for_url("**/edit/")
    me.page.go_back()
    me.page.wait_for_url(f"{me.url}/")
    me.wait_for(lambda: not me.page.evaluate("history.state?.layers"))
    expect(me.page.locator(".menu-body:visible")).to_have_count(0)
    me.page.go_back()
    me.page.wait_for_url("**/public/")
