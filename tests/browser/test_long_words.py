"""Languages with long words on the smallest phone: names keep enough width beside their buttons."""

import pytest
from playwright.sync_api import Route, expect

from tests.browser.conftest import OpenReader, SignUpVisitor
from tests.support.visitor import HttpVisitor

PHONE = {"width": 320, "height": 640}
LEAST = 90
"""Pixels for a name: about twelve letters."""


@pytest.mark.nightly
def test_names_keep_their_room_beside_german_buttons(reader: OpenReader, visitor: SignUpVisitor) -> None:
    own, muted, blocked, asking = visitor(), visitor(), visitor(), visitor()
    own.post(f"/@{muted.handle}/mute/", duration="3600")
    own.post(f"/@{blocked.handle}/block/")
    own.post("/accounts/settings/", private="1")
    asking.follows(own.handle)
    parts = [own.post("/lists/", title=f"part {number}").json()["id"] for number in (1, 2)]
    own.post("/lists/", title="Good people made", operation="union", parts=" ".join(parts))
    page = reader(own, locale="de-DE", viewport=PHONE)
    for path, row in (
        ("/accounts/muted/", ".account-body"),
        ("/accounts/blocked/", ".account-body"),
        ("/accounts/requests/", ".account-body"),
        ("/lists/", ".row:last-child .name"),
    ):
        page.go_to(path)
        name = page.page.locator(f"main {row}").last
        expect(name).to_be_visible()
        box = name.bounding_box()
        assert box is not None
        assert box["width"] >= LEAST, path


@pytest.mark.nightly
def test_long_names_and_phrases_are_shown_in_full_in_their_rows(reader: OpenReader, visitor: SignUpVisitor) -> None:
    own, friend = visitor(), visitor()
    friend.post("/accounts/settings/", display_name="Wolfgang Amadeus Mozartkugelfabrikant")
    friend.follows(own.handle)
    own.post("/accounts/filters/", phrase="pineapple", action="warn", expires_in="86400")
    page = reader(own, locale="de-DE", viewport=PHONE)
    for path, row in (("/notifications/", ".told-line"), ("/accounts/filters/", ".panel > summary")):
        page.go_to(path)
        outer = page.page.locator(f"main {row}").first.bounding_box()
        inner = page.page.locator(f"main {row} .name").first.bounding_box()
        assert outer
        assert inner
        assert inner["x"] + inner["width"] <= outer["x"] + outer["width"], path
        assert inner["width"] >= LEAST, path


@pytest.mark.nightly
def test_the_buttons_of_a_profile_stay_inside_their_menu(reader: OpenReader, visitor: SignUpVisitor) -> None:
    own, friend = visitor(), visitor()
    friend.follows(own.handle)
    own.post(f"/@{friend.handle}/hide-boosts/")
    for locale in ("de", "fr", "pl", "ar"):
        page = reader(own, locale=locale, viewport=PHONE)
        page.go_to(f"/@{friend.handle}/")
        page.page.locator(".relation-menu > summary").click()
        menu = page.page.locator(".relation-menu .menu-body")
        expect(menu).to_be_visible()
        assert menu.evaluate("(menu) => menu.scrollWidth <= menu.clientWidth"), locale
        box = menu.bounding_box()
        assert box
        assert 0 <= box["x"] < box["x"] + box["width"] <= PHONE["width"], locale


@pytest.mark.nightly
def test_log_in_and_sign_up_need_no_sideways_scrolling_with_text_of_double_size(reader: OpenReader) -> None:
    """Text of 200 % on a screen of 320 px has as many letters in a line as plain text on 160 px."""
    for locale in ("en", "de", "ar"):
        page = reader(locale=locale, viewport={"width": PHONE["width"] // 2, "height": PHONE["height"] // 2})
        for path in ("/accounts/login/", "/accounts/signup/"):
            page.go_to(path)
            overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert page.page.evaluate(overflow) <= 0, (locale, path)


def test_no_name_is_cut_before_the_script_shortens_the_times(reader: OpenReader, own: HttpVisitor) -> None:
    own.publishes("a post with a time")
    me = reader(own, viewport={"width": 360, "height": 800})
    waiting: list[Route] = []
    me.page.route("**/*.js", lambda route: waiting.append(route))
    me.page.goto(f"{me.url}/", wait_until="commit")
    author = me.entries.first.locator(".post-author .handle")
    expect(author).to_be_visible()
    assert author.evaluate("(handle) => handle.scrollWidth <= handle.clientWidth")
    expect(me.entries.first.locator("time")).to_contain_text("UTC")
    expect(me.entries.first.locator("time")).to_have_css("font-size", "14px")  # a script that never comes
    for route in waiting:
        route.abort()
