"""Several posts written at once: published in order, each once, and never lost."""

import itertools

import pytest
from playwright.sync_api import Route, expect

from tests.browser.conftest import OpenReader
from tests.support.chromium import BrowserPage
from tests.support.page_health import find_page_problems
from tests.support.pictures import picture
from tests.support.visitor import HttpVisitor

PHONE = {"width": 390, "height": 844}
LAPTOP = {"width": 1280, "height": 800}
BOXES = "textarea[name='more[]']"


@pytest.fixture
def me(reader: OpenReader, own: HttpVisitor) -> BrowserPage:
    page = reader(own, viewport=LAPTOP)
    page.go_to("/")
    return page


def write(me: BrowserPage, *texts: str) -> None:
    """Write a thread with the keyboard alone, from the first box."""
    form = me.page.locator("[data-composer]")
    form.locator("textarea[name=text]").fill(texts[0])
    for number, text in enumerate(texts[1:]):
        add = form.get_by_role("button", name="Add another post")
        add.focus()
        me.page.keyboard.press("Enter")
        expect(form.locator(BOXES).nth(number)).to_be_focused()
        me.page.keyboard.insert_text(text)


def published(own: HttpVisitor) -> list[str]:
    return [post["text"] for post in reversed(own.timeline(f"/@{own.handle}/"))]


def texts(me: BrowserPage) -> list[str]:
    values: list[str] = me.page.locator("[data-composer] textarea[data-max]").evaluate_all(
        "all => all.map(t => t.value)"
    )
    return values


def test_a_thread_written_with_the_keyboard_is_published_in_order(me: BrowserPage, own: HttpVisitor) -> None:
    write(me, "the first", "the second", "the third")
    expect(me.page.locator(".composer-further .composer-count").last).to_have_text("491 characters left")
    assert find_page_problems(me.page) == []
    me.page.keyboard.press("Control+Enter")
    expect(me.page.locator(".toast")).to_contain_text("Your posts are published.")
    assert published(own) == ["the first", "the second", "the third"]
    expect(me.page.locator(".joined article")).to_have_count(3)
    assert texts(me) == [""]
    me.page.reload()
    assert texts(me) == [""]


def test_a_reload_keeps_all_posts_and_a_removed_one_is_left_out(me: BrowserPage, own: HttpVisitor) -> None:
    write(me, "one", "two", "three")
    me.page.reload()
    expect(me.page.locator(BOXES)).to_have_count(2)
    assert texts(me) == ["one", "two", "three"]
    me.page.get_by_role("button", name="Remove this post").first.click()
    expect(me.page.locator("[data-composer] textarea[name=text]")).to_be_focused()
    assert texts(me) == ["one", "three"]
    expect(me.page.get_by_label("Post 2")).to_have_value("three")
    me.page.keyboard.press("Control+Enter")
    expect(me.page.locator(".toast")).to_be_visible()
    assert published(own) == ["one", "three"]


def test_a_post_that_is_too_long_keeps_the_focus_and_nothing_is_sent(me: BrowserPage, own: HttpVisitor) -> None:
    write(me, "one", "x" * 501)
    me.page.keyboard.press("Control+Enter")
    expect(me.page.locator("#composer-error")).to_have_text("1 character too many")
    box = me.page.locator(BOXES)
    expect(box).to_be_focused()
    expect(box).to_have_attribute("aria-invalid", "true")
    me.page.keyboard.press("Backspace")
    me.page.keyboard.press("Control+Enter")
    expect(me.page.locator(".toast")).to_be_visible()
    assert published(own) == ["one", "x" * 500]


def test_a_lost_answer_publishes_no_post_twice(me: BrowserPage, own: HttpVisitor) -> None:
    def swallow(route: Route) -> None:
        route.fetch()
        route.abort()

    me.page.route("**/posts/", swallow)
    write(me, "one", "two")
    me.page.keyboard.press("Control+Enter")
    expect(me.page.locator("#composer-error")).to_contain_text("Your text is kept")
    assert texts(me) == ["one", "two"]
    me.page.unroute("**/posts/")
    me.page.reload()
    expect(me.page.locator(BOXES)).to_have_value("two")
    me.page.locator("[data-composer] [type=submit]").click()
    expect(me.page.locator(".toast")).to_be_visible()
    assert published(own) == ["one", "two"]
    me.complaints = [text for text in me.complaints if "ERR_FAILED" not in text]


def test_a_further_post_has_pictures_of_its_own_also_after_a_reload(me: BrowserPage, own: HttpVisitor) -> None:
    photo = {"name": "a.jpg", "mimeType": "image/jpeg", "buffer": picture()}
    form = me.page.locator("[data-composer]")
    write(me, "one", "two", "three")
    form.locator(BOXES).first.focus()
    form.locator("[data-add-pictures]").set_input_files([photo, photo])  # type: ignore[list-item]
    rows = form.locator(".composer-further").first.locator(".picture-row")
    expect(rows.last).to_have_attribute("data-state", "ready")
    rows.first.locator("textarea").fill("A grey square")
    rows.last.locator("textarea").fill("Another grey square")
    form.locator(BOXES).last.focus()
    assert find_page_problems(me.page) == []
    me.page.reload()
    expect(rows.last.locator("textarea")).to_have_value("Another grey square")
    rows.first.get_by_role("button", name="Remove").click()
    expect(rows).to_have_count(1)
    form.locator(BOXES).first.press("Control+Enter")
    expect(me.page.locator(".toast")).to_contain_text("Your posts are published.")
    pictures = [
        [each["description"] for each in post.get("media_attachments", [])]
        for post in reversed(own.timeline(f"/@{own.handle}/"))
    ]
    assert pictures == [[], ["Another grey square"], []]
    assert form.locator(".picture-row").count() == 0


def test_two_reloads_in_a_row_and_a_lost_connection_keep_all_pictures(me: BrowserPage) -> None:
    requests = itertools.count()

    def delay(route: Route) -> None:
        if "json" not in route.request.headers.get("accept", ""):
            return route.continue_()
        me.page.wait_for_timeout(700)
        return route.abort() if next(requests) == 2 else route.continue_()

    photo = {"name": "a.jpg", "mimeType": "image/jpeg", "buffer": picture()}
    rows = me.page.locator("[data-composer] .picture-row")
    me.page.locator("[data-composer] [data-add-pictures]").set_input_files([photo, photo])  # type: ignore[list-item]
    expect(rows).to_have_count(2)
    for row in rows.all():
        expect(row).to_have_attribute("data-state", "ready")
    me.page.route("**/media/*/", delay)
    me.page.reload()
    expect(rows.first).to_be_visible()
    me.page.reload()
    expect(rows).to_have_count(2)
    me.complaints = [text for text in me.complaints if "ERR_FAILED" not in text]


def test_a_thread_that_is_sent_right_after_a_reload_keeps_all_pictures(me: BrowserPage, own: HttpVisitor) -> None:
    def delay(route: Route) -> None:
        if "json" in route.request.headers.get("accept", ""):
            me.page.wait_for_timeout(700)
        route.continue_()

    photo = {"name": "a.jpg", "mimeType": "image/jpeg", "buffer": picture()}
    form = me.page.locator("[data-composer]")
    write(me, "one", "two")
    for number, box in enumerate((form.locator("textarea[name=text]"), form.locator(BOXES))):
        box.focus()
        form.locator("[data-add-pictures]").set_input_files([photo, photo])  # type: ignore[list-item]
        expect(form.locator(".picture-row")).to_have_count(2 * number + 2)
    for row in form.locator(".picture-row").all():
        expect(row).to_have_attribute("data-state", "ready")
        row.locator("textarea").fill("A grey square")
    with me.page.expect_response("**/media/*/"):
        form.locator("textarea[name=text]").focus()
    me.page.route("**/media/*/", delay)
    me.page.reload()
    expect(form.locator(".picture-row").first).to_be_visible()
    form.locator("textarea[name=text]").press("Control+Enter")
    expect(me.page.locator(".toast")).to_contain_text("Your posts are published.")
    assert [len(post.get("media_attachments", [])) for post in own.timeline(f"/@{own.handle}/")] == [2, 2]


def test_a_phone_writes_a_thread_in_the_sheet_with_the_keyboard_open(reader: OpenReader, own: HttpVisitor) -> None:
    own.post("/posts/", text="a post of before")
    me = reader(own, viewport=PHONE, has_touch=True, is_mobile=True)
    me.go_to("/")
    me.page.locator(".nav-compose a").tap()
    me.page.set_viewport_size({"width": 390, "height": 480})
    me.page.keyboard.type("one")
    me.page.get_by_role("button", name="Add another post").tap()
    expect(me.page.locator(f"dialog.sheet {BOXES}")).to_be_focused()
    me.page.keyboard.type("two")
    me.page.get_by_role("button", name="Add another post").tap()
    expect(me.page.locator(f"dialog.sheet {BOXES}").nth(1)).to_be_focused()
    me.page.keyboard.type("three")
    for part in (".composer-foot > [type=submit]", ".composer-plus", ".composer-add", BOXES):
        expect(me.page.locator(f"dialog.sheet {part}").last).to_be_in_viewport(ratio=1)
    me.page.locator("dialog.sheet .composer-body > .composer-add").click(
        trial=True
    )  # the foot does not cover the tools
    assert find_page_problems(me.page) == []
    me.page.locator("dialog.sheet .composer-foot > [type=submit]").tap()
    expect(me.page.locator("dialog.sheet")).to_have_count(0)
    assert published(own) == ["a post of before", "one", "two", "three"]


def test_without_a_script_a_button_adds_a_box_and_keeps_what_was_typed(reader: OpenReader, own: HttpVisitor) -> None:
    me = reader(own, viewport={"width": 320, "height": 640}, java_script_enabled=False)
    me.go_to("/")
    me.page.locator("textarea[name=text]").fill("one")
    for number, text in enumerate(("two", "three")):
        me.page.get_by_role("button", name="Add another post").click()
        me.page.locator(BOXES).nth(number).fill(text)
    assert me.page.evaluate("document.documentElement.scrollWidth") <= 320
    me.page.locator(".composer-foot [type=submit]").first.click()
    assert published(own) == ["one", "two", "three"]
