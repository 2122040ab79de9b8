"""Pages on paper, on a phone that is turned, and with letters of twice the size."""

import itertools

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenReader, SignUpVisitor
from tests.browser.scenes.base import goes_as_staff
from tests.browser.test_pages import prepare_scene
from tests.support.chromium import BrowserPage
from tests.support.page_health import overflowing_elements, small_targets
from tests.support.sites import QuickstartSite
from tests.support.visitor import HttpVisitor

PHONE = {"width": 390, "height": 844}
VISIBLE_LINKS = """() => [...document.querySelectorAll(".site-header a, .site-header button")]
  .filter((link) => link.checkVisibility())"""
CUT_LINKS = f"""() => ({VISIBLE_LINKS})().filter((link) => {{
  const box = link.getBoundingClientRect();
  const label = [...link.querySelectorAll("span")].find((each) => each.checkVisibility()
    && each.scrollWidth > each.clientWidth && getComputedStyle(each).clipPath === "none");
  return box.left < 0 || box.right > innerWidth || box.top < 0 || box.bottom > innerHeight || label;
}}).map((link) => link.textContent.trim())"""

CUT_TABLES = """() => [...document.querySelectorAll("table")].filter((table) => table.getBoundingClientRect().right
  > innerWidth && getComputedStyle(table.parentElement).overflowX !== "auto").map((table) => table.textContent)"""


def home_with_a_post(reader: OpenReader, own: HttpVisitor, **options: object) -> BrowserPage:
    own.publishes("words on paper")
    page = reader(own, **options)
    page.go_to("/")
    return page


@pytest.mark.nightly
def test_a_printed_page_has_posts_with_dates_and_no_controls(reader: OpenReader, own: HttpVisitor) -> None:
    me = home_with_a_post(reader, own)
    me.page.emulate_media(media="print")
    expect(me.page.get_by_text("words on paper")).to_be_visible()
    for hidden in (".skip", ".site-header", ".aside", "[data-composer]", ".post-actions"):
        expect(me.page.locator(hidden).first).to_be_hidden()
    time = me.entries.first.locator("time")
    assert time.evaluate("(time) => getComputedStyle(time, '::after').content") == f'"{time.get_attribute("title")}"'
    assert time.evaluate("(time) => getComputedStyle(time).fontSize") == "0px", "the age of the post is printed"
    me.go_to("/accounts/security/")
    for button in me.page.locator("main .btn").all():
        expect(button).to_be_hidden()


def test_paper_is_light_and_letters_dark_if_a_reader_chose_the_dark_theme(reader: OpenReader, own: HttpVisitor) -> None:
    """Browsers print light colours for a dark system, but not for a theme that a page has by itself."""
    own.publishes("words on paper")
    own.post("/display/", theme="dark")
    me = reader(own)
    me.go_to("/")
    expect(me.page.locator("html")).to_have_attribute("data-theme", "dark")
    me.page.emulate_media(media="print")
    colours = me.page.evaluate(
        """() => [[".post-text", "color"], ["body", "backgroundColor"]].map(([selector, name]) => {
          const pixel = new OffscreenCanvas(1, 1).getContext("2d", { colorSpace: "srgb" });
          pixel.fillStyle = "white";
          pixel.fillRect(0, 0, 1, 1);
          pixel.fillStyle = getComputedStyle(document.querySelector(selector))[name];
          pixel.fillRect(0, 0, 1, 1);
          return Math.max(...pixel.getImageData(0, 0, 1, 1).data.slice(0, 3));
        })"""
    )
    assert colours[0] < 80, colours
    assert colours[1] > 230, colours


@pytest.mark.parametrize("path", ["/", "/accounts/preferences/", "/accounts/filters/", "/@{handle}/", "/search/"])
def test_no_field_on_a_phone_is_so_small_that_ios_zooms(reader: OpenReader, own: HttpVisitor, path: str) -> None:
    """Safari on iOS zooms into a field whose letters have less than 16 pixels, and stays so."""
    me = reader(own, viewport=PHONE)
    me.go_to(path.format(handle=own.handle))
    small = me.page.evaluate(
        """() => [...document.querySelectorAll("input, select, textarea")]
          .filter((field) => !["hidden", "checkbox", "radio", "submit", "file"].includes(field.type))
          .filter((field) => parseFloat(getComputedStyle(field).fontSize) < 16).map((field) => field.name)"""
    )
    assert small == []


@pytest.mark.nightly
def test_a_phone_that_is_turned_shows_the_whole_navigation(reader: OpenReader, own: HttpVisitor) -> None:
    me = home_with_a_post(reader, own, viewport={"width": PHONE["height"], "height": PHONE["width"]})
    assert len(me.page.evaluate(f"() => ({VISIBLE_LINKS})().map((link) => link.href)")) >= 9
    assert me.page.evaluate(CUT_LINKS) == []


def find_touching_labels(me: BrowserPage) -> list[object]:
    """Return the labels of the navigation that are cut, and the places of neighbours without a gap."""
    labels = me.page.locator(".site-nav li:visible span:not([data-badge])").all()
    boxes = sorted((box["x"], box["x"] + box["width"]) for label in labels if (box := label.bounding_box()))
    assert len(boxes) == 5
    touching = [pair for pair in itertools.pairwise(boxes) if pair[0][1] >= pair[1][0]]
    return [*touching, *me.page.evaluate(CUT_LINKS)]


@pytest.mark.parametrize("language", ["ar", "pl"])
def test_the_labels_of_the_navigation_do_not_touch_on_a_narrow_phone(
    reader: OpenReader, own: HttpVisitor, language: str
) -> None:
    me = reader(own, viewport={"width": 320, "height": 640}, locale=language)
    me.go_to("/")
    assert find_touching_labels(me) == []


@pytest.mark.parametrize("language", ["en", "de", "es", "fr", "pl", "ar", "ja"])
def test_the_bar_of_a_phone_has_equal_parts(reader: OpenReader, own: HttpVisitor, language: str) -> None:
    me = reader(own, viewport=PHONE, locale=language)
    me.go_to("/")
    widths = me.page.locator(".site-nav li:visible").evaluate_all("all => all.map((each) => each.offsetWidth)")
    assert max(widths) - min(widths) <= 1, widths
    assert find_touching_labels(me) == []


@pytest.mark.parametrize("width", [390, 1280])
def test_links_of_posts_and_profiles_are_large_enough_for_a_finger(
    reader: OpenReader, visitor: SignUpVisitor, width: int
) -> None:
    author, own = visitor(), visitor()
    author.post("/posts/", text=f"hello @{own.handle}, a link is below the time")
    own.follows(author.handle)
    me = reader(own, viewport={"width": width, "height": 844})
    for path in ("/", "/public/", f"/@{author.handle}/", "/search/"):
        me.go_to(path)
        assert small_targets(me.page) == []


@pytest.mark.nightly
def test_letters_of_twice_the_size_cut_nothing_off_on_a_phone(reader: OpenReader, own: HttpVisitor) -> None:
    me = reader(own, viewport=PHONE)
    sizes = {"fontSizes": {"standard": 32, "fixed": 26}}  # the setting of the browser
    me.context.new_cdp_session(me.page).send("Page.setFontSizes", sizes)
    for path in ("/", f"/@{own.handle}/", "/notifications/", "/accounts/settings/", "/lists/"):
        me.go_to(path)
        assert me.page.evaluate("getComputedStyle(document.documentElement).fontSize") == "32px"
        assert me.page.evaluate(CUT_LINKS) == [], path
        assert me.page.evaluate("document.documentElement.scrollWidth") == PHONE["width"], path


@pytest.mark.parametrize("language", ["en", "de", "ar"])
def test_no_page_of_a_visitor_is_wider_than_a_phone_with_letters_of_twice_the_size(
    reader: OpenReader, own: HttpVisitor, friend: HttpVisitor, language: str
) -> None:
    post = own.publishes("words for #everybody")["url"]
    friend.follows(own.handle)
    me = reader(locale=language)
    me.page.add_init_script(
        "addEventListener('DOMContentLoaded', () => (document.documentElement.style.fontSize = '200%'))"
    )
    for path in (
        *("/", "/public/", "/search/", f"/search/?q={own.handle}", "/search/?q=nothing+like+it", "/tags/everybody/"),
        *(f"/@{own.handle}/", f"/@{own.handle}/followers/", f"/@{own.handle}/following/", "/tags/trending/"),
        *(post, f"{post}likes/", f"{post}boosts/", f"{post}quotes/", f"{post}history/", "/@nobody_by_this_name/"),
        *("/about/", "/rules/", "/privacy/", "/terms/", "/display/"),
        *("/accounts/login/", "/accounts/signup/", "/accounts/reset/"),
    ):
        me.go_to(path)
        for width in (320, 390):
            me.page.set_viewport_size({"width": width, "height": 780})
            assert overflowing_elements(me.page) == [], path


@pytest.mark.nightly
def test_tables_of_staff_are_scrolled_with_letters_of_twice_the_size(
    site: QuickstartSite, reader: OpenReader, own: HttpVisitor, friend: HttpVisitor
) -> None:
    me = reader(own, viewport=PHONE)
    goes_as_staff("/ops/accounts/")(prepare_scene(site, me, own, friend))
    sizes = {"fontSizes": {"standard": 32, "fixed": 26}}
    me.context.new_cdp_session(me.page).send("Page.setFontSizes", sizes)
    with HttpVisitor(site.url, "a_handle_as_long_as_") as person:
        person.sign_up()
    me.go_to("/ops/accounts/")
    assert me.page.locator("table").count()
    assert me.page.evaluate(CUT_TABLES) == []


@pytest.mark.nightly
def test_a_follow_offers_to_unfollow_only_after_the_pointer_has_left(
    reader: OpenReader, visitor: SignUpVisitor
) -> None:
    friend, me = visitor(), reader(visitor())
    me.go_to(f"/@{friend.handle}/")
    me.page.locator(f'main [data-follow="{friend.handle}"]').click()
    button = me.page.locator("main .btn-following")
    expect(button.get_by_text("Following")).to_be_visible()
    expect(button.get_by_text("Unfollow")).to_be_hidden()
    me.page.mouse.move(1, 1)
    button.hover()
    expect(button.get_by_text("Unfollow")).to_be_visible()


@pytest.mark.nightly
def test_only_the_button_of_the_composer_is_filled_on_home(reader: OpenReader, visitor: SignUpVisitor) -> None:
    me = reader(visitor())
    filled = {}
    for path in ("/", "/public/"):
        me.go_to(path)
        link = me.page.locator(".nav-compose a")
        filled[path] = link.evaluate("link => getComputedStyle(link).backgroundColor")
    assert filled["/"] == "rgba(0, 0, 0, 0)"
    assert filled["/public/"] != filled["/"]


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (900, 700), (844, 390)])
def test_the_own_profile_the_public_posts_and_the_lists_are_one_click_away(
    reader: OpenReader, own: HttpVisitor, width: int, height: int
) -> None:
    me = reader(own, viewport={"width": width, "height": height})
    me.go_to("/search/")
    for path in (f"/@{own.handle}/", "/public/", "/lists/", "/accounts/logout/"):
        expect(me.page.locator(f'.site-header a[href="{path}"]')).to_be_in_viewport(ratio=1)
