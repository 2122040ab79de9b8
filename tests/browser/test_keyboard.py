"""Every action works by keyboard alone, and single-key shortcuts can be turned on and off."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenReader, SignUpVisitor, visitor_numbers
from tests.support.chromium import BrowserPage, tab_to
from tests.support.visitor import PASSWORD, HttpVisitor


def test_a_reader_signs_up_publishes_and_logs_out_without_a_mouse(reader: OpenReader, visitor: SignUpVisitor) -> None:
    friend, me = visitor(), reader()
    signs_up(me)
    publishes(me, "typed and sent by keys")
    follows(me, friend.handle)
    deletes_the_only_post(me)
    logs_out(me)


def signs_up(me: BrowserPage) -> None:
    """Sign up after the link that skips to the main content."""
    page = me.page
    me.go_to("/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    tab_to(page, 'a[href="/accounts/signup/"]')
    page.keyboard.press("Enter")
    page.wait_for_url("**/signup/")
    tab_to(page, "[name=handle]")
    page.keyboard.type(f"keys{next(visitor_numbers)}")
    tab_to(page, "[name=password1]")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url("**/welcome/profile/")
    me.go_to("/")


def publishes(me: BrowserPage, text: str) -> None:
    page = me.page
    tab_to(page, "[data-composer] textarea")
    page.keyboard.type(text)
    tab_to(page, "[data-composer] [type=submit]", 10)
    page.keyboard.press("Enter")
    expect(me.entries).to_have_count(1)


def follows(me: BrowserPage, handle: str) -> None:
    page = me.page
    page.goto(f"{me.url}/@{handle}/")
    tab_to(page, f'[data-follow="{handle}"]')
    page.keyboard.press("Enter")
    expect(page.locator(".btn-following")).to_be_focused()


def deletes_the_only_post(me: BrowserPage) -> None:
    page = me.page
    me.go_to("/")
    tab_to(page, "details.menu > summary")
    page.keyboard.press("Enter")
    expect(page.locator("details.menu .menu-body")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("details.menu > summary")).to_be_focused()
    page.keyboard.press("Enter")
    tab_to(page, "summary.menu-item", 7)
    page.keyboard.press("Enter")
    tab_to(page, "button[data-delete]", 2)
    page.keyboard.press("Enter")
    expect(me.entries).to_have_count(0)
    assert page.evaluate("document.activeElement !== document.body"), "focus is lost"


def logs_out(me: BrowserPage) -> None:
    page = me.page
    me.go_to("/")
    tab_to(page, 'a[href="/accounts/logout/"]')
    page.keyboard.press("Enter")
    page.wait_for_url("**/logout/")
    tab_to(page, "main button")
    page.keyboard.press("Enter")
    page.wait_for_url(me.url + "/")
    expect(page.locator("body")).to_have_attribute("data-signed-in", "no")


@pytest.mark.nightly
def test_single_keys_move_between_posts_and_can_be_turned_off(reader: OpenReader, own: HttpVisitor) -> None:
    ids = [own.publishes(f"words {number}")["id"] for number in range(3)][::-1]
    me = reader(own)
    me.go_to("/")
    page = me.page

    def focused() -> str | None:
        post_id: str | None = page.evaluate("document.activeElement?.dataset.postId ?? null")
        return post_id

    page.keyboard.press("j")
    assert focused() == ids[0]
    offset = page.evaluate("parseFloat(getComputedStyle(document.activeElement).outlineOffset)")
    assert offset < 0, "the column cuts off an outline that is outside of the post"
    page.keyboard.press("j")
    assert focused() == ids[1]
    page.keyboard.press("k")
    assert focused() == ids[0]
    page.keyboard.press("n")
    expect(page.locator("[data-composer] textarea")).to_be_focused()
    page.keyboard.type("jkn?")
    expect(page.locator("[data-composer] textarea")).to_have_value("jkn?")
    page.locator("[data-composer] textarea").fill("")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("?")
    expect(page.locator("#shortcuts")).to_be_visible()
    page.locator("#shortcuts input").uncheck()
    page.keyboard.press("Escape")
    expect(page.locator("#shortcuts")).to_be_hidden()
    before = focused()
    page.keyboard.press("j")
    assert focused() == before
    page.keyboard.press("p")
    page.wait_for_timeout(200)
    assert page.url == me.url + "/"


@pytest.mark.nightly
def test_a_key_shows_a_new_post_and_focuses_it(reader: OpenReader, own: HttpVisitor, friend: HttpVisitor) -> None:
    own.follows(friend.handle)
    me = reader(own)
    me.go_to_live("/")
    post = friend.publishes("read me")
    expect(me.pill).to_be_visible()
    me.page.keyboard.press(".")
    expect(me.entries).to_have_count(1)
    assert me.page.evaluate("document.activeElement.dataset.postId") == post["id"]


FOCUSED_FIELD = """() => {
  const { tagName, name, title, type } = document.activeElement;
  return name || title || (type === "file" ? "file" : type === "submit" ? "submit" : tagName);
}"""
OPTIONS = ["Content warning", "Poll", "Emoji", "Draft or later", "Who may quote it"]


def test_the_composer_is_walked_from_the_text_over_its_options_to_the_button(
    reader: OpenReader, visitor: SignUpVisitor
) -> None:
    author = visitor()
    post = author.publishes("words")
    me = reader(author)
    steps = ["text", "file", *OPTIONS, "add", "audience", "language", "submit"]
    edit_steps = ["text", "file", "Content warning", "Emoji", "Who may quote it", "language", "submit"]
    for path, expected in (("/", steps), (post["url"], steps), (f"/posts/{post['id']}/edit/", edit_steps)):
        me.go_to(path)
        me.page.locator("[data-composer] textarea").focus()
        walked = [me.page.evaluate(FOCUSED_FIELD)]
        while walked[-1] != "submit" and len(walked) < 15:
            me.page.keyboard.press("Tab")
            walked.append(me.page.evaluate(FOCUSED_FIELD))
        assert walked == expected, path


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_enter_in_an_option_of_the_composer_publishes(
    reader: OpenReader, visitor: SignUpVisitor, scripts: bool
) -> None:
    me = reader(visitor(), java_script_enabled=scripts)
    me.go_to("/")
    me.page.locator("[data-composer] textarea").fill("published by Enter")
    me.page.get_by_title("Content warning").click()
    me.page.locator("[name=spoiler_text]").fill("tea")
    me.page.locator("[name=spoiler_text]").press("Enter")
    expect(me.entries).to_have_count(1)
    me.go_to("/drafts/")
    expect(me.page.get_by_text("published by Enter")).to_have_count(0)


def test_back_closes_the_list_of_shortcuts(me: BrowserPage) -> None:
    me.page.set_viewport_size({"width": 1280, "height": 800})
    me.go_to("/public/")
    me.go_to("/")
    for show in (lambda: me.page.keyboard.press("?"), me.page.get_by_role("button", name="Keyboard shortcuts").click):
        show()
        expect(me.page.locator("#shortcuts")).to_be_visible()
        me.page.go_back()
        expect(me.page.locator("#shortcuts")).to_be_hidden()
        assert me.page.url == f"{me.url}/"


def test_single_keys_do_nothing_behind_a_dialog(me: BrowserPage) -> None:
    me.go_to("/notifications/")
    me.page.keyboard.press("n")
    me.page.locator("dialog.sheet textarea[name=text]").fill("half a thought")
    me.page.locator("dialog.sheet [data-emoji]").focus()
    for key in ("?", "n", "h"):
        me.page.keyboard.press(key)
    expect(me.page.locator("dialog[open]")).to_have_count(1)
    me.page.keyboard.press("Escape")
    expect(me.page.locator("dialog[open]")).to_have_count(0)
    assert me.page.url == f"{me.url}/notifications/"


def test_a_key_leads_into_the_field_of_the_search(me: BrowserPage) -> None:
    me.go_to("/")
    me.page.keyboard.press("/")
    expect(me.page.locator("#search-query")).to_be_focused()
