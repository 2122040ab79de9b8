"""Search in a browser: names are completed while a reader types, and the search finds posts."""

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenReader, SignUpVisitor, visitor_numbers
from tests.support.chromium import BrowserPage
from tests.support.page_health import find_page_problems


def types(me: BrowserPage, text: str) -> None:
    box = me.page.locator("[data-composer] textarea")
    box.press("Control+End")
    box.press_sequentially(text)


def test_the_keyboard_completes_a_handle(reader: OpenReader, visitor: SignUpVisitor) -> None:
    friend, me = visitor(), reader(visitor())
    friend.post("/accounts/settings/", display_name="Zoë Quiet", bio="", link="")
    me.go_to("/")
    box, options = me.page.locator("[data-composer] textarea"), me.page.locator("[role=listbox] > [role=option]")
    types(me, "hello a@Zo @Zoë")
    expect(options).to_have_count(1)
    expect(options).to_have_text(f"Zoë Quiet@{friend.handle}")
    expect(box).to_be_focused()
    assert not find_page_problems(me.page)
    expect(options.first).to_have_attribute("aria-selected", "true")
    assert box.get_attribute("aria-activedescendant") == options.first.get_attribute("id")
    box.press("Enter")
    expect(box).to_have_value(f"hello a@Zo @{friend.handle} ")
    expect(options).to_have_count(0)
    types(me, f"@{friend.handle}@local")
    expect(options).to_have_count(1)
    box.press("Tab")
    expect(box).to_have_value(f"hello a@Zo @{friend.handle} @{friend.handle} ")
    box.press("Control+Enter")
    expect(me.entries).to_have_count(1)
    expect(me.page.get_by_role("link", name=f"@{friend.handle}").first).to_be_visible()


@pytest.mark.nightly
def test_a_pointer_completes_a_hashtag_and_escape_leaves_the_text_alone(
    reader: OpenReader, visitor: SignUpVisitor
) -> None:
    tag = f"日本{next(visitor_numbers)}"
    friend, me = visitor(), reader(visitor())
    friend.publishes(f"#{tag}")
    me.go_to("/")
    box, options = me.page.locator("[data-composer] textarea"), me.page.locator("[role=listbox] > [role=option]")
    me.wait_for(lambda: bool(friend.get(f"/search/complete/?q=%23{tag}")["tags"]))
    types(me, "#日本")
    expect(options.first).to_be_visible()
    box.press("Escape")
    expect(options).to_have_count(0)
    box.press("Enter")
    expect(box).to_have_value("#日本\n")
    types(me, f"#{tag[:-1]}")
    options.filter(has_text=re.compile(f"^#{tag}$")).click()
    expect(box).to_have_value(f"#日本\n#{tag} ")
    expect(box).to_be_focused()


@pytest.mark.parametrize(
    ("stored", "typed", "completed"),
    [
        ("dogsof{n}uk", "#DogsOf{n}", "#DogsOf{n}uk "),
        ("izmir{n}haber", "#İzmir{n}", "#İzmir{n}haber "),
        ("strasse{n}west", "#Straße{n}", "#Straße{n}west "),
        ("كتاب{n}جديد", "#کتاب{n}", "#کتاب{n}جديد "),
        ("été{n}bleu", "#Ete{n}", "#été{n}bleu "),
    ],
)
def test_a_completed_hashtag_keeps_the_typed_letters(
    reader: OpenReader, visitor: SignUpVisitor, stored: str, typed: str, completed: str
) -> None:
    """Screen readers read #DogsOfX as words. A tag with other accents is another tag, and replaces what is typed."""
    number = next(visitor_numbers)
    stored, typed, completed = (text.format(n=f"{number}x") for text in (stored, typed, completed))
    friend, me = visitor(), reader(visitor())
    friend.publishes(f"#{stored}")
    me.go_to("/")
    me.wait_for(lambda: bool(friend.get(f"/search/complete/?q=%23{quote(stored)}")["tags"]))
    types(me, typed)
    expect(me.page.locator("[role=listbox] > [role=option]").first).to_have_text(f"#{stored}")
    box = me.page.locator("[data-composer] textarea")
    box.press("Tab")
    expect(box).to_have_value(completed)


@pytest.mark.nightly
def test_publishing_by_keys_closes_the_completion_list(reader: OpenReader, visitor: SignUpVisitor) -> None:
    tag = f"tea{next(visitor_numbers)}"
    friend, me = visitor(), reader(visitor())
    friend.publishes(f"#{tag}more")
    me.go_to("/")
    box, options = me.page.locator("[data-composer] textarea"), me.page.locator("[role=listbox] > [role=option]")
    me.wait_for(lambda: bool(friend.get(f"/search/complete/?q=%23{tag}")["tags"]))
    types(me, f"#{tag}")
    expect(options.first).to_be_visible()
    box.press("Control+Enter")
    expect(me.entries).to_have_count(1)
    expect(options).to_have_count(0)
    types(me, f"#{tag}")
    box.press("Control+Enter")  # before the completion's answer, which comes too late
    expect(me.entries).to_have_count(2)
    me.page.wait_for_timeout(300)
    expect(options).to_have_count(0)


@pytest.mark.nightly
@pytest.mark.parametrize("key", ["Enter", "Tab"])
def test_the_first_suggestion_is_taken_without_an_arrow_key(
    reader: OpenReader, visitor: SignUpVisitor, key: str
) -> None:
    friend, me = visitor(), reader(visitor(), viewport={"width": 320, "height": 640})
    name = f"Long{friend.handle}"
    friend.post("/accounts/settings/", display_name=f"{name} has a long name for a phone", bio="", link="")
    me.go_to("/#compose")
    box, options = me.page.locator("[data-composer] textarea"), me.page.locator("[role=listbox] > [role=option]")
    types(me, f"@{name}")
    expect(options.first).to_contain_text(f"@{friend.handle}")
    row, button = options.first.bounding_box(), me.page.locator(".composer-foot > [type=submit]").bounding_box()
    menu = me.page.locator("#compose-list").bounding_box()
    assert row is not None
    assert button is not None
    assert menu is not None
    assert menu["y"] >= button["y"] + button["height"], "the list covers the button"
    assert row["height"] < 50, "a suggestion has a second line"
    box.press(key)
    expect(box).to_have_value(f"@{friend.handle} ")
    expect(box).to_be_focused()


@pytest.mark.nightly
def test_the_search_field_completes_people_and_leads_to_them(reader: OpenReader, visitor: SignUpVisitor) -> None:
    friend, me = visitor(), reader(visitor())
    friend.post("/accounts/settings/", display_name=f"Quill{friend.handle}", bio="", link="")
    me.go_to("/search/")
    field, options = me.page.locator("#search-query"), me.page.locator("[role=option]")
    field.press_sequentially(f"quill{friend.handle}")
    expect(options.first).to_contain_text(f"@{friend.handle}")
    expect(options.first).to_have_attribute("aria-selected", "false")  # Enter searches
    field.press("ArrowDown")
    field.press("Enter")
    me.page.wait_for_url(f"**/@{friend.handle}/")


def test_the_suggestions_of_the_side_panel_are_seen_in_a_low_window(reader: OpenReader, visitor: SignUpVisitor) -> None:
    friend, me = visitor(), reader(visitor(), viewport={"width": 1280, "height": 720})
    friend.post("/accounts/settings/", display_name="Quill", bio="", link="")
    me.go_to("/public/")
    me.page.locator("#aside-query").press_sequentially(friend.handle)
    option = me.page.locator("#aside-query-list [role=option]").first
    expect(option).to_contain_text(f"@{friend.handle}")
    shown = me.page.locator("#aside-query-list").bounding_box()
    row = option.bounding_box()
    assert shown
    assert row
    assert shown["height"] >= row["height"] >= 36
    name, handle = (option.locator(f"bdi{each}").bounding_box() for each in (":first-of-type", ":last-of-type"))
    assert name
    assert handle
    assert handle["x"] - name["x"] - name["width"] < 20, "the handle is away from the name"


@pytest.mark.nightly
def test_the_form_for_a_new_member_of_a_list_completes_handles(reader: OpenReader, visitor: SignUpVisitor) -> None:
    friend, own = visitor(), visitor()
    path = f"/lists/{own.post('/lists/', title='quiet people').json()['id']}/"
    me = reader(own)
    me.go_to(path)
    field, options = me.page.locator("form[action$='/members/'] input[name=handle]"), me.page.locator("[role=option]")
    field.press_sequentially(friend.handle[:-1])
    expect(options.first).to_be_visible()
    handle = options.first.inner_text().rpartition("@")[2]  # any handle with this beginning
    assert handle.startswith(friend.handle[:-1])
    options.first.click()
    expect(field).to_have_value(handle)
    field.press("Enter")
    expect(me.page.locator(".page-note")).to_have_text("1 member")
    expect(field, "the next person is typed at once").to_be_focused()
    field.press_sequentially(visitor().handle)
    field.press("Escape")
    field.press("Enter")
    expect(me.page.locator(".page-note")).to_have_text("2 members")


def test_the_search_field_finds_posts(reader: OpenReader, visitor: SignUpVisitor) -> None:
    word = f"needle{next(visitor_numbers)}"
    friend, me = visitor(), reader(visitor())
    post = friend.publishes(f"A {word}, in a haystack")
    me.wait_for(lambda: bool(friend.get(f"/search/?q={word}")["posts"]))
    me.go_to("/")
    me.page.get_by_role("link", name="Explore").click()
    field = me.page.get_by_role("main").get_by_role("searchbox")
    field.fill(f'"{word} in a" from:{friend.handle}')
    field.press("Enter")
    expect(me.page.locator(f"article[data-post-id='{post['id']}']")).to_be_visible()
    expect(field).to_have_value(f'"{word} in a" from:{friend.handle}')


def test_the_tabs_of_a_search_work_by_keys_on_a_phone_without_script(
    reader: OpenReader, visitor: SignUpVisitor
) -> None:
    friend = visitor()
    me = reader(viewport={"width": 320, "height": 640}, java_script_enabled=False)
    me.go_to(f"/search/?q={friend.handle}")
    tabs, found = me.page.locator("main nav.tabs a"), me.page.locator("main li[data-account]")
    expect(found).to_have_attribute("data-account", friend.handle)
    for name, found_count in {"Posts": 0, "People": 1, "Hashtags": 0}.items():
        for _ in range(40):
            if tabs.filter(has_text=name).evaluate("link => link === document.activeElement"):
                break
            me.page.keyboard.press("Tab")
        me.page.keyboard.press("Enter")
        expect(tabs.and_(me.page.locator("[aria-current=page]"))).to_have_text(name)
        expect(found).to_have_count(found_count)
        assert me.page.evaluate("document.documentElement.scrollWidth") <= 320, "the page is wider than the screen"


def test_explore_offers_something_before_a_search_and_keeps_recent_searches_on_the_device(
    reader: OpenReader, visitor: SignUpVisitor
) -> None:
    author, likers, me = visitor(), [visitor(), visitor()], reader(visitor())
    me.page.set_viewport_size({"width": 390, "height": 844})
    post = author.publishes(f"Everybody likes this #liked{next(visitor_numbers)}")
    for liker in likers:
        liker.post(f"/posts/{post['id']}/like/")
    me.wait_for(lambda: post["id"] in [each["id"] for each in author.get("/search/?tab=posts")["posts"]])
    me.go_to("/search/")
    page = me.page
    expect(page.get_by_role("heading", name="Explore")).to_be_visible()
    expect(page.locator(f"article[data-post-id='{post['id']}']")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert not find_page_problems(page)
    recent = page.get_by_role("region", name="Recent searches")
    expect(recent).to_be_hidden()
    for text in ("<b>tea</b>", "cake"):
        page.locator("#search-query").fill(text)
        page.locator("#search-query").press("Enter")
        page.wait_for_url("**/search/?q=*")
    me.go_to("/search/")
    expect(recent.get_by_role("link")).to_have_text(["cake", "<b>tea</b>"])
    recent.get_by_role("button").click()
    expect(recent).to_be_hidden()
    expect(page.locator("#search-query")).to_be_focused()
    me.go_to("/search/")
    expect(recent).to_be_hidden()
