"""A page confirms a mute, an unfollow, a deletion or a post, and offers to undo it. A mute has a duration."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenReader
from tests.support.chromium import BrowserPage
from tests.support.page_health import find_page_problems
from tests.support.pictures import picture
from tests.support.visitor import HttpVisitor

SIZES = pytest.mark.parametrize(
    "viewport", [{"width": 390, "height": 844}, {"width": 1280, "height": 800}], ids=["phone", "laptop"]
)


def keep_notes(me: BrowserPage) -> None:
    """Show notes for a minute: a click on a loaded machine may take more than the five seconds of a note."""
    me.page.add_init_script(
        "const wait = setTimeout; window.setTimeout = (act, ms) => wait(act, ms === 5000 ? 60_000 : ms);"
    )


@SIZES
def test_a_mute_from_a_post_offers_durations_and_can_be_undone(
    reader: OpenReader, own: HttpVisitor, friend: HttpVisitor, viewport: dict[str, int]
) -> None:
    own.post(f"/@{friend.handle}/follow/")
    friend.publishes("words of a friend")
    me = reader(own, viewport=viewport)
    page = me.page
    me.go_to(f"/@{friend.handle}/")
    page.locator(".post summary.action").first.click()
    page.locator(".post").get_by_role("link", name=f"Mute @{friend.handle}").click()
    page.get_by_label("How long").select_option("3600")
    assert find_page_problems(page) == []
    page.get_by_role("button", name="Mute", exact=True).click()
    expect(page).to_have_url(f"{me.url}/@{friend.handle}/")
    expect(page.locator(".flash")).to_contain_text(f"You muted @{friend.handle}.")
    assert find_page_problems(page) == []
    page.get_by_role("button", name="Undo").click()
    expect(page.locator('[data-relation="mutes"]')).to_have_count(0)


@SIZES
def test_an_unfollow_is_undone_in_the_toast(
    reader: OpenReader, own: HttpVisitor, friend: HttpVisitor, viewport: dict[str, int]
) -> None:
    own.post(f"/@{friend.handle}/follow/")
    me = reader(own, viewport=viewport)
    keep_notes(me)
    me.go_to(f"/@{friend.handle}/")
    button = me.page.locator(f'[data-follow="{friend.handle}"]').first
    button.click()
    expect(me.page.locator(".toast")).to_contain_text(f"You do not follow @{friend.handle} any more.")
    expect(button).not_to_have_class("btn-following")
    me.page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(me.page.locator(f'[data-follow="{friend.handle}"].btn-following').first).to_be_visible()
    expect(me.page.locator(".toast")).to_have_count(0)


def delete(page: Page) -> None:
    page.locator(".post .menu > summary").first.click()
    page.locator(".menu-body summary.menu-item").first.click()
    page.locator("button[data-delete]").first.click()


def texts_of(visitor: HttpVisitor) -> list[str]:
    return [post["text"] for post in visitor.timeline(f"/@{visitor.handle}/")]


@SIZES
def test_a_deleted_post_is_shown_again_by_undo_and_was_never_deleted(
    reader: OpenReader, own: HttpVisitor, viewport: dict[str, int]
) -> None:
    own.publishes("words worth keeping")
    me = reader(own, viewport=viewport)
    keep_notes(me)
    me.go_to("/")
    delete(me.page)
    expect(me.page.locator(".toast")).to_contain_text("Post deleted.")
    expect(me.entries.first).to_be_hidden()
    me.page.keyboard.press("Control+z")
    expect(me.entries.first).to_be_focused()
    me.page.reload()
    expect(me.entries).to_have_count(1)
    assert texts_of(own) == ["words worth keeping"]


def test_a_post_is_deleted_when_the_note_leaves_or_the_page(reader: OpenReader, own: HttpVisitor) -> None:
    for text in ("the first", "the second"):
        own.publishes(text)
    me = reader(own)
    me.go_to("/")
    delete(me.page)
    expect(me.entries).to_have_count(1)
    assert texts_of(own) == ["the first"]
    delete(me.page)
    with me.page.expect_request("**/delete/"):
        me.go_to("/public/")
    me.wait_for(lambda: texts_of(own) == [])


def test_a_note_stays_while_the_pointer_or_the_focus_is_on_it(reader: OpenReader, own: HttpVisitor) -> None:
    own.publishes("words")
    me = reader(own)
    me.page.add_init_script(
        "const wait = setTimeout; window.setTimeout = (act, ms) => wait(act, ms === 1000 ? 100 : ms);"
    )
    me.go_to("/")
    delete(me.page)
    note = me.page.locator(".toast")
    note.hover()
    me.page.wait_for_timeout(5_500)
    expect(note).to_be_visible()
    note.get_by_role("button", name="Undo").focus()
    me.page.mouse.move(2, 2)
    me.page.wait_for_timeout(500)
    expect(note).to_be_visible()
    me.page.keyboard.press("Enter")
    expect(me.entries.first).to_be_visible()
    assert texts_of(own) == ["words"]


def test_another_tab_does_not_delete_a_post_that_can_be_shown_again(reader: OpenReader, own: HttpVisitor) -> None:
    own.publishes("words")
    me = reader(own)
    keep_notes(me)
    me.go_to("/")
    delete(me.page)
    other = me.page.context.new_page()
    other.goto(f"{me.url}/public/")
    other.wait_for_timeout(1_000)
    other.close()
    me.page.bring_to_front()
    assert texts_of(own) == ["words"]


def test_a_deletion_without_an_answer_is_repeated_by_the_next_page(reader: OpenReader, own: HttpVisitor) -> None:
    own.publishes("words")
    me = reader(own)
    keep_notes(me)
    me.go_to("/")
    me.page.route("**/delete/", lambda route: None)  # neither the note nor the page gets an answer
    delete(me.page)
    with me.page.expect_request("**/delete/"):
        me.page.evaluate("dispatchEvent(new Event('pagehide'))")
    me.page.unroute("**/delete/")
    me.go_to("/public/")
    me.wait_for(lambda: texts_of(own) == [])


def test_a_deletion_that_fails_shows_the_post_again(reader: OpenReader, own: HttpVisitor) -> None:
    own.publishes("words")
    me = reader(own)
    me.go_to("/")
    me.page.route("**/delete/", lambda route: route.abort())
    delete(me.page)
    expect(me.page.locator(".toast")).to_contain_text("the site cannot be reached")
    expect(me.entries.first).to_be_visible()
    me.complaints = [text for text in me.complaints if "ERR_FAILED" not in text]


@SIZES
def test_a_published_thread_is_taken_back_into_the_composer(
    reader: OpenReader, own: HttpVisitor, viewport: dict[str, int]
) -> None:
    me = reader(own, viewport=viewport)
    keep_notes(me)
    me.go_to("/#compose")
    form = me.page.locator("[data-composer]")
    form.locator(".composer-warning > summary").click()
    form.locator("[name=spoiler_text]").fill("numbers")
    form.locator("textarea[name=text]").fill("one")
    form.get_by_role("button", name="Add another post").click()
    form.locator("textarea[name='more[]']").fill("left out")
    form.get_by_role("button", name="Add another post").click()
    boxes = form.locator("textarea[name='more[]']")
    boxes.nth(1).fill("two")
    boxes.nth(0).fill("")
    boxes.nth(1).press("Control+Enter")
    expect(me.page.locator(".toast")).to_contain_text("Your posts are published.")
    expect(me.entries).to_have_count(2)
    me.page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(form.locator("textarea[name=text]")).to_be_focused()
    expect(form.locator("textarea[name=text]")).to_have_value("one")
    expect(form.locator("textarea[name='more[]']")).to_have_value("two")
    expect(form.locator("[name=spoiler_text]")).to_have_value("numbers")
    expect(me.entries).to_have_count(0)
    assert texts_of(own) == []
    form.locator("textarea[name=text]").press("Control+Enter")
    expect(me.entries).to_have_count(2)
    assert texts_of(own) == ["two", "one"]


def test_a_picture_comes_back_with_the_text(me: BrowserPage, own: HttpVisitor) -> None:
    keep_notes(me)
    me.go_to("/")
    form = me.page.locator("[data-composer]")
    photo = {"name": "a.jpg", "mimeType": "image/jpeg", "buffer": picture()}
    form.locator("[data-add-pictures]").set_input_files([photo])  # type: ignore[list-item]
    form.locator(".picture-row textarea").fill("A grey square")
    expect(form.locator(".picture-row")).to_have_attribute("data-state", "ready")
    form.locator("textarea[name=text]").fill("with a picture")
    form.locator("textarea[name=text]").press("Control+Enter")
    me.page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(form.locator(".picture-row textarea")).to_have_value("A grey square")
    expect(me.entries).to_have_count(0)
    form.locator("textarea[name=text]").press("Control+Enter")
    expect(me.entries.first.locator("a.picture img")).to_have_attribute("alt", "A grey square")
    assert texts_of(own) == ["with a picture"]


def test_the_page_after_the_compose_page_takes_the_posts_back_as_a_draft(reader: OpenReader, own: HttpVisitor) -> None:
    me = reader(own)
    keep_notes(me)
    me.go_to("/compose/")
    form = me.page.locator("[data-composer]")
    photo = {"name": "a.jpg", "mimeType": "image/jpeg", "buffer": picture()}
    form.locator("textarea[name=text]").fill("one")
    form.get_by_role("button", name="Add another post").click()
    form.locator("textarea[name='more[]']").fill("two")
    form.locator("[data-add-pictures]").set_input_files([photo])  # type: ignore[list-item]
    row = form.locator(".composer-further .picture-row")
    expect(row).to_have_attribute("data-state", "ready")
    row.locator("textarea").fill("A grey square")
    form.locator("[name=sensitive]").check()
    form.locator("textarea[name=text]").press("Control+Enter")
    me.page.wait_for_url(f"**/@{own.handle}/*/")
    expect(me.page.locator(".toast")).to_contain_text("Your posts are published.")
    assert texts_of(own) == ["two", "one"]
    me.page.locator(".toast").get_by_role("button", name="Undo").click()
    me.page.wait_for_url("**/drafts/*/")
    expect(form.locator("textarea[name=text]")).to_have_value("one")
    expect(form.locator("textarea[name='more[]']")).to_have_value("two")
    expect(row.locator("textarea")).to_have_value("A grey square")
    expect(form.locator("[name=sensitive]")).to_be_checked()
    expect(me.page.locator(".toast")).to_have_count(0)
    assert texts_of(own) == []
    form.locator("textarea[name=text]").press("Control+Enter")
    expect(me.page.locator(".toast")).to_contain_text("Your posts are published.")
    assert texts_of(own) == ["two", "one"]


def test_a_deletion_on_the_page_of_the_post_can_be_undone_and_then_leads_home(
    me: BrowserPage, own: HttpVisitor
) -> None:
    post = own.publishes("words to delete")
    me.go_to(post["url"])
    shown = me.page.locator(".thread-post article")
    delete = shown.locator("[data-delete]")
    shown.locator("summary.action").first.click()
    shown.locator("summary.menu-item").click()
    delete.click()
    expect(shown).to_be_hidden()
    me.page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(shown).to_be_visible()
    shown.locator("summary.action").first.click()
    delete.click()
    me.page.wait_for_url(f"{me.url}/")
    expect(me.entries).to_have_count(0)
