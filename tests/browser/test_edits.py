"""Edits: with and without JavaScript, and on pages that are open meanwhile."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenReader, SignUpVisitor
from tests.browser.test_live import COME_BACK, LOSE_SOCKET, goes_live_with
from tests.browser.test_pictures import GIF, PHOTO, TALL, choose, post, wait_until_ready
from tests.support.chromium import BrowserPage
from tests.support.page_health import find_page_problems, overflowing_elements
from tests.support.visitor import HttpVisitor, JsonObject

TEXT = ".post-text"


def edits(author: HttpVisitor, post: JsonObject, text: str) -> None:
    answer = author.post(f"/posts/{post['id']}/edit/", text=text)
    assert answer.status_code == 200, answer.text


def test_an_edit_replaces_the_text_on_open_pages(
    reader: OpenReader, visitor: SignUpVisitor, friend: HttpVisitor
) -> None:
    own, booster = visitor(), visitor()
    own.follows(booster.handle)
    post = friend.publishes("fisrt words")
    booster.post(f"/posts/{post['id']}/boost/")
    home = reader(own)
    goes_live_with(home, 1)
    boost = home.entries.first
    expect(boost.locator(TEXT)).to_have_text("fisrt words")
    thread = reader()
    thread.go_to_live(post["url"])
    boost.locator("[data-act=like]").click()
    expect(boost.locator('[data-count="likes"]')).to_have_text("1")
    edits(friend, post, "first words")
    for text in (boost.locator(TEXT), thread.page.locator(f".thread-post {TEXT}")):
        expect(text).to_have_text("first words")
    expect(boost.locator(".post-by")).to_contain_text("Boosted by")
    expect(boost.locator("[data-act=like]")).to_have_attribute("aria-pressed", "true")
    expect(boost.locator(".post-edited")).to_contain_text("Edited")
    assert boost.get_attribute("aria-labelledby") == boost.locator(".post-author").get_attribute("id")
    edits(friend, post, "first words again")
    expect(boost.locator(TEXT)).to_have_text("first words again")
    assert home.entry_ids() != [post["id"]]


@pytest.mark.nightly
def test_an_edit_reaches_waiting_posts_and_pages_without_a_socket(
    reader: OpenReader, own: HttpVisitor, friend: HttpVisitor
) -> None:
    own.follows(friend.handle)
    old = friend.publishes("old words")
    home = reader(own)
    goes_live_with(home, 1)
    waiting = friend.publishes("waiting")
    expect(home.pill).to_have_text("1 new post")
    edits(friend, waiting, "waiting no more")
    home.page.evaluate(LOSE_SOCKET)
    edits(friend, old, "new words")
    home.page.evaluate(COME_BACK)
    expect(home.entries.last.locator(TEXT)).to_have_text("new words")
    home.pill.click()
    expect(home.entries.first.locator(TEXT)).to_have_text("waiting no more")


@pytest.mark.nightly
def test_an_edit_replaces_the_text_on_an_open_notifications_page(
    reader: OpenReader, own: HttpVisitor, friend: HttpVisitor
) -> None:
    post = friend.publishes(f"fisrt words for @{own.handle}")
    mine = reader(own)

    def has_mention() -> bool:
        mine.go_to_live("/notifications/")
        return mine.page.locator(f".told {TEXT}").count() == 1

    mine.wait_for(has_mention)
    edits(friend, post, f"first words for @{own.handle}")
    expect(mine.page.locator(f".told {TEXT}")).to_contain_text("first words")


def test_an_author_edits_a_post_from_its_menu(reader: OpenReader, own: HttpVisitor) -> None:
    post = own.publishes("fisrt words")
    mine = reader(own)
    mine.go_to("/")
    mine.entries.first.locator("details.menu > summary").click()
    mine.entries.first.get_by_role("link", name="Edit").click()
    field = mine.page.locator("form[data-composer=edit] textarea")
    expect(field).to_have_value("fisrt words")
    field.fill("first words")
    assert find_page_problems(mine.page) == []
    mine.page.get_by_role("button", name="Save").click()
    expect(mine.page).to_have_url(re.compile(re.escape(post["url"])))
    expect(mine.page.locator(f".thread-post {TEXT}")).to_have_text("first words")
    mine.page.locator(".post-edited").first.click()
    expect(mine.page.locator("del")).to_contain_text("fisrt")
    expect(mine.page.locator("ins")).to_contain_text("first")
    assert find_page_problems(mine.page) == []
    mine.go_to("/")
    expect(mine.page.locator("#compose")).to_have_value("")  # the form of new posts has no draft of the edit


def with_pictures(reader: OpenReader, own: HttpVisitor) -> BrowserPage:
    """Publish a post with two pictures, and open the form to edit it."""
    mine = reader(own)
    mine.go_to("/")
    rows = choose(mine.page, PHOTO, TALL)
    wait_until_ready(rows, 2)
    for number, text in enumerate(("a photo", "a tall one")):
        rows.nth(number).get_by_label("Description").fill(text)
    post(mine.page)
    expect(mine.entries).to_have_count(1)
    mine.go_to(f"/posts/{mine.entry_ids()[0]}/edit/")
    wait_until_ready(rows, 2)
    return mine


@pytest.mark.nightly
def test_pictures_of_a_post_are_moved_described_removed_and_added(
    reader: OpenReader, own: HttpVisitor, friend: HttpVisitor
) -> None:
    mine = with_pictures(reader, own)
    other = reader(friend)
    other.go_to_live(f"/@{own.handle}/")
    page, rows = mine.page, mine.page.locator(".picture-row")
    page.wait_for_function(
        "() => [...document.querySelectorAll('.picture-thumb img')].every((each) => each.naturalWidth)"
    )
    expect(rows.nth(0).get_by_label("Description")).to_have_value("a photo")
    rows.nth(1).get_by_role("button", name="Move before the previous picture").click()
    rows.nth(0).get_by_label("Description").fill("very tall")
    rows.nth(1).get_by_role("button", name="Remove").click()
    expect(rows).to_have_count(1)
    choose(page, GIF)
    wait_until_ready(rows, 2)
    rows.nth(1).get_by_label("Description").fill("dance")
    assert find_page_problems(page) == []
    page.get_by_role("button", name="Save").click()
    shown = [page.locator(".thread-post a.picture img"), other.entries.first.locator("a.picture img")]
    for pictures in shown:
        expect(pictures).to_have_count(2)
        expect(pictures.nth(0)).to_have_attribute("alt", "very tall")
        expect(pictures.nth(1)).to_have_attribute("alt", "dance")
    page.locator(".post-edited").first.click()
    versions = page.locator(".versions > li")
    expect(versions.nth(0).locator("a.picture img")).to_have_count(2)
    expect(versions.nth(1).locator("a.picture img").nth(0)).to_have_attribute("alt", "a photo")
    assert find_page_problems(page) == []
    assert mine.complaints == []


@pytest.mark.nightly
def test_pictures_of_a_post_are_edited_without_javascript(reader: OpenReader, own: HttpVisitor) -> None:
    with_pictures(reader, own)
    post_id = own.get(f"/@{own.handle}/")["posts"][0]["id"]
    mine = reader(own, java_script_enabled=False, viewport={"width": 320, "height": 600})
    mine.go_to(f"/posts/{post_id}/edit/")
    page, rows = mine.page, mine.page.locator(".picture-row")
    expect(rows).to_have_count(2)
    rows.nth(1).get_by_label("Description").fill("very tall")
    rows.nth(1).get_by_role("button", name="Move before the previous picture").click()
    expect(rows.nth(0).get_by_label("Description")).to_have_value("very tall")
    rows.nth(1).get_by_role("button", name="Remove").click()
    expect(rows).to_have_count(1)
    page.locator("[name=file-0]").set_input_files([GIF])
    page.locator("[name=description-0]").fill("dance")
    assert overflowing_elements(page) == []
    page.get_by_role("button", name="Save").click()
    pictures = page.locator(".thread-post a.picture img")
    expect(pictures).to_have_count(2)
    expect(pictures.nth(0)).to_have_attribute("alt", "very tall")
    expect(pictures.nth(1)).to_have_attribute("alt", "dance")


@pytest.mark.nightly
def test_a_post_is_edited_without_javascript_at_320_pixels(reader: OpenReader, own: HttpVisitor) -> None:
    post = own.publishes("fisrt words")
    mine: BrowserPage = reader(own, java_script_enabled=False, viewport={"width": 320, "height": 600})
    mine.go_to(f"/posts/{post['id']}/edit/")
    mine.page.locator("[name=text]").fill("first words " + "x" * 500)
    mine.page.get_by_role("button", name="Save").click()
    expect(mine.page.locator(".error")).to_contain_text("at most 500 characters")
    mine.page.locator("[name=text]").fill("first words")
    mine.page.get_by_role("button", name="Save").click()
    expect(mine.page.locator(f".thread-post {TEXT}")).to_have_text("first words")
    for path in (post["url"], f"{post['url']}history/", f"/posts/{post['id']}/edit/"):
        mine.go_to(path)
        assert overflowing_elements(mine.page) == [], path


def test_the_browser_asks_before_a_changed_edit_is_left_and_not_when_it_is_saved(
    me: BrowserPage, own: HttpVisitor
) -> None:
    post = own.publishes("first words")
    asked: list[str] = []
    me.page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    me.go_to(f"/posts/{post['id']}/edit/")
    me.page.locator("textarea[name=text]").fill("other words")
    me.page.get_by_role("link", name="Explore").first.click(no_wait_after=True)
    me.wait_for(lambda: asked == ["beforeunload"])
    assert me.page.url.endswith("/edit/")
    me.page.locator(".composer-foot [type=submit]").click()
    expect(me.page.locator(".thread-post .post-text")).to_have_text("other words")
    assert asked == ["beforeunload"]
