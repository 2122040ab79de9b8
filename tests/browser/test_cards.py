"""A card about an account on whose name or picture the mouse rests, on wide screens."""

from typing import Any

from playwright.sync_api import expect

from tests.browser.conftest import OpenReader, SignUpVisitor
from tests.support.visitor import HttpVisitor

WIDE: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}}
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


def test_a_card_follows_and_closes_by_leaving_and_by_escape(reader: OpenReader, visitor: SignUpVisitor) -> None:
    own, friend = visitor(), visitor()
    friend.post("/accounts/settings/", display_name="Ada", bio="I look closely.")
    friend.publishes("hello")
    me = reader(own, **WIDE)
    me.go_to("/public/")
    name, card = me.page.locator(f'main a.post-author[href="/@{friend.handle}/"]').first, me.page.locator(".card")
    name.hover()
    expect(card).to_contain_text("I look closely.")
    expect(card.locator(".counts")).to_be_visible()
    card.get_by_role("button", name=f"Follow @{friend.handle}").click()
    expect(card.get_by_role("button", name=f"Unfollow @{friend.handle}")).to_be_visible()
    me.page.keyboard.press("Escape")
    expect(card).to_be_hidden()
    me.page.mouse.move(2, 2)
    name.hover()
    expect(card).to_be_visible()
    me.page.mouse.move(2, 2)
    expect(card).to_be_hidden()


def test_a_card_never_covers_the_field_that_has_focus(reader: OpenReader, visitor: SignUpVisitor) -> None:
    own, friend = visitor(), visitor()
    own.follows(friend.handle)
    friend.publishes("hello")
    me = reader(own, **WIDE)
    me.go_to("/")
    field = me.page.locator("main .composer textarea").first
    field.focus()
    me.page.locator(f'main a.post-author[href="/@{friend.handle}/"]').first.hover()
    expect(me.page.locator(".card")).to_be_visible()
    card, box = me.page.locator(".card").bounding_box(), field.bounding_box()
    assert card
    assert box
    assert card["y"] >= box["y"] + box["height"] or card["y"] + card["height"] <= box["y"]


def test_a_scroll_below_a_mouse_at_rest_opens_no_card(reader: OpenReader, own: HttpVisitor) -> None:
    for number in range(12):
        own.publishes(f"hello {number} " + "and many words " * 20)
    me = reader(own, **WIDE)
    me.go_to(f"/@{own.handle}/")
    name = me.page.locator("main .post a.post-author").nth(6).bounding_box()
    text = me.page.locator("main .post .post-text").nth(1).bounding_box()
    assert name
    assert text
    y = text["y"] + 10
    me.page.mouse.move(name["x"] + 5, y)
    loaded: list[str] = []
    me.page.on("request", lambda request: loaded.append(request.url))
    me.page.evaluate("y => scrollBy({ top: y, behavior: 'instant' })", name["y"] + 5 - y)
    expect(me.page.locator("a.post-author:hover")).to_have_count(1)
    me.page.wait_for_timeout(1_000)  # a card opens after half a second
    assert not [url for url in loaded if "card" in url]
    me.page.mouse.move(name["x"] + 7, y + 1)
    expect(me.page.locator(".card")).to_be_visible()


def test_a_phone_loads_no_card(reader: OpenReader, own: HttpVisitor) -> None:
    own.publishes("hello")
    me = reader(own, **PHONE)
    me.go_to("/public/")
    name = me.page.locator(f'main a.post-author[href="/@{own.handle}/"]').first
    with me.page.expect_navigation():
        name.tap()
    expect(me.page.locator(".card")).to_have_count(0)
