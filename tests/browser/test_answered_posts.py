"""The line of the post that a reply answers: one line at every width, and also live."""

import os

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenReader, SignUpVisitor
from tests.support.visitor import HttpVisitor


@pytest.mark.parametrize("width", [320, 390, 1280])
@pytest.mark.parametrize("language", ["en", "ar"])
def test_the_line_of_the_answered_post_stays_one_line(
    reader: OpenReader, visitor: SignUpVisitor, own: HttpVisitor, friend: HttpVisitor, width: int, language: str
) -> None:
    own.follows(friend.handle)
    me = reader(
        own,
        viewport={"width": width, "height": 800},
        color_scheme="dark" if language == "ar" else "light",
        extra_http_headers={**own.headers, "Accept-Language": language},
    )
    me.go_to_live("/")
    question = visitor().publishes("A question with many words, " * 6)
    answer = friend.publishes("an answer", in_reply_to=question["id"])
    me.pill.click()
    line = me.page.locator("article .post-context a")
    for _ in range(2):
        expect(line).to_contain_text("A question with many words")
        box = line.bounding_box()
        assert box
        assert box["height"] < 30
        assert me.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        if folder := os.environ.get("SCREENSHOTS"):
            me.page.screenshot(path=f"{folder}/answered-{width}-{language}.png")
        if me.page.get_by_text("an edited answer").count():
            break
        friend.post(f"/posts/{answer['id']}/edit/", text="an edited answer")
        expect(me.page.get_by_text("an edited answer")).to_be_visible()
        expect(line).to_contain_text("A question with many words")
        me.page.reload()
    line.click()
    me.page.wait_for_url(f"**/{question['id']}/")
