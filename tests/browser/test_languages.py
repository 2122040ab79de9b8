"""Languages in a real browser: plural forms, right-to-left pages, and the flow of a reader of Arabic."""

import json
from pathlib import Path

import pytest
from django.conf import settings
from django.utils import translation
from django.utils.formats import number_format
from django.utils.translation import ngettext
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import OpenReader, open_context, sign_up_visitor
from tests.browser.test_pages import ANONYMOUS, REFUSALS, SIGNED_IN, STAFF, UNCHANGED, prepare_scene
from tests.support.chromium import BrowserPage
from tests.support.page_health import find_page_problems
from tests.support.sites import QuickstartSite
from tests.support.visitor import PASSWORD, HttpVisitor

PHONE, LAPTOP = {"width": 360, "height": 740}, {"width": 1280, "height": 800}
COUNTED = {"new": ("1 new post", "{n} new posts"), "left": ("1 character left", "{n} characters left")}
NUMBERS = [*range(130), 200, 1_000, 1_234, 12_345]
WORDS_MODULE = Path(__file__).resolve().parents[2] / "static/js/words.js"
WORDS_JS = """async ([numbers, names]) => {
  const { word } = await import("/words-alone.js");
  return Object.fromEntries(names.map((name) => [name, numbers.map((n) => word(name, n))]));
}"""
BOX_INSIDE_JS = """(element) => {
  const box = element.getBoundingClientRect();
  return box.left >= 0 && box.right <= document.documentElement.clientWidth && box.width > 0;
}"""
DRAWN_INSIDE_JS = """(use) => {
  const drawn = use.getBoundingClientRect(), box = use.ownerSVGElement.getBoundingClientRect();
  return drawn.width > 0 && drawn.left >= box.left - 0.5 && drawn.right <= box.right + 0.5;
}"""
ENGLISH_HEADINGS = {"home, who to follow", "lists, a made one refused"}
"""Scenes that look for English texts."""


@pytest.mark.nightly
@pytest.mark.parametrize("language", [code for code, _name in settings.LANGUAGES])
def test_scripts_choose_the_plural_forms_and_digits_of_the_server(reader: OpenReader, language: str) -> None:
    page = reader(locale=language)
    source = WORDS_MODULE.read_text()  # pages load it within a bundle
    page.page.route("**/words-alone.js", lambda route: route.fulfill(content_type="text/javascript", body=source))
    page.go_to("/accounts/login/")
    assert page.page.locator("html").get_attribute("lang") == language
    shown = page.page.evaluate(WORDS_JS, [NUMBERS, list(COUNTED)])
    with translation.override(language):
        for name, texts in COUNTED.items():
            expected = [ngettext(*texts, n).replace("{n}", number_format(n, force_grouping=True)) for n in NUMBERS]
            assert [plain_spaces(text) for text in shown[name]] == [plain_spaces(text) for text in expected]


def plain_spaces(text: str) -> str:
    """Return the text with normal spaces: Intl and Django separate thousands by different spaces."""
    return text.replace("\N{NO-BREAK SPACE}", " ").replace("\N{NARROW NO-BREAK SPACE}", " ")


def is_inside_window(page: Page, selector: str) -> bool:
    return bool(page.locator(selector).first.evaluate(BOX_INSIDE_JS))


@pytest.mark.parametrize("viewport", [PHONE, pytest.param(LAPTOP, marks=pytest.mark.nightly)], ids=["phone", "laptop"])
def test_a_reader_of_arabic_logs_in_posts_and_answers(
    site: QuickstartSite, reader: OpenReader, own: HttpVisitor, friend: HttpVisitor, viewport: dict[str, int]
) -> None:
    own.follows(friend.handle)
    browser = reader(locale="ar", viewport=viewport, extra_http_headers=own.headers)
    page = browser.page
    browser.go_to("/accounts/login/")
    expect(page.locator("html")).to_have_attribute("dir", "rtl")
    page.locator("[name=username]").fill(own.handle)
    assert page.locator("[name=username]").evaluate("(input) => getComputedStyle(input).direction") == "ltr"
    page.locator("[name=password]").fill(PASSWORD)
    page.locator("main form [type=submit]").first.click()
    page.wait_for_url(site.url + "/")
    browser.go_to_live("/")
    browser.publish("مرحبا")
    expect(browser.entries.first.locator(".post-text")).to_have_text("مرحبا")
    for number, text in ((1, "منشور جديد واحد"), (2, "منشوران جديدان"), (3, "3 منشورات جديدة")):
        friend.publishes(f"post {number}")
        expect(browser.pill).to_have_text(text)
    assert is_inside_window(page, "[data-live-region] .pill")
    browser.pill.click()
    expect(browser.entries.first.locator(".post-text")).to_have_text("post 3")
    page.locator("article .menu > summary").first.click()
    expect(page.locator("article .menu[open] .menu-body")).to_be_visible()
    assert is_inside_window(page, "article .menu[open] .menu-body")
    page.keyboard.press("Escape")
    page.wait_for_function("() => !history.state?.layers")  # the menu of a phone leaves the history
    browser.go_to(friend.publishes("a thread")["url"])
    browser.publish("رد")
    expect(page.locator("main .post-text", has_text="رد").last).to_be_visible()
    browser.go_to(f"/@{friend.handle}/")
    page.locator(".relation-menu > summary, .menu > summary").first.click()
    assert is_inside_window(page, "details[open] > :not(summary)")


@pytest.mark.nightly
def test_arrows_point_to_the_start_of_the_line_in_arabic(reader: OpenReader, own: HttpVisitor) -> None:
    own.publishes("a post")
    for locale, scale in (("en", "none"), ("ar", "-1 1")):
        page = reader(own, locale=locale)
        page.go_to("/accounts/password/")
        assert page.page.locator(".back use").first.evaluate("(use) => getComputedStyle(use).scale") == scale
        page.go_to(f"/@{own.handle}/")
        reply = page.page.locator("article use[href$=reply]").first
        assert reply.evaluate("(use) => getComputedStyle(use).scale") == scale
        assert reply.evaluate(DRAWN_INSIDE_JS)


@pytest.mark.parametrize(
    ("locale", "text"),
    [
        ("en-GB", "24 Dec 2031, 18:00"),
        ("en-US", "Dec 24, 2031, 6:00 PM"),
        ("de-AT", "24.12.2031, 18:00"),
        ("ar-EG", "24\u200f/12\u200f/2031، 6:00 م"),
    ],
)
def test_times_are_written_as_in_the_region_of_the_reader(
    reader: OpenReader, own: HttpVisitor, locale: str, text: str
) -> None:
    answer = own.post("/drafts/", text="words for later", scheduled_at="2031-12-24T18:00")
    assert answer.status_code in {200, 201}, answer.text
    me = reader(own, locale=locale, timezone_id="UTC")
    me.go_to("/drafts/")
    expect(me.page.locator(".drafts time")).to_have_text(text)


def test_the_time_of_a_scheduled_post_stays_if_the_browser_restores_the_field(
    reader: OpenReader, own: HttpVisitor
) -> None:
    """Firefox restores the local time after a reload, before the script starts."""
    post = own.post("/drafts/", text="words for later", scheduled_at="2031-07-24T10:00").json()
    me = reader(own, timezone_id="Europe/Berlin")
    me.go_to(f"/drafts/{post['id']}/")
    field = me.page.locator("[data-composer] [name=scheduled_at]")
    expect(field).to_have_value("2031-07-24T12:00")
    assert field.get_attribute("autocomplete") == "off"
    me.page.evaluate(
        """async () => {
          const { ServerDraft } = await import("/static/js/drafts.js");
          new ServerDraft(document.querySelector("form[data-composer]"), {});
        }"""
    )
    expect(field).to_have_value("2031-07-24T12:00")


@pytest.mark.parametrize("tag", ["en-GB-u-ca-buddhist", pytest.param("en-GB@posix", marks=pytest.mark.nightly)])
def test_a_region_with_extensions_stops_no_script(reader: OpenReader, own: HttpVisitor, tag: str) -> None:
    own.post("/drafts/", text="words for later", scheduled_at="2031-12-24T18:00")
    me = reader(own, timezone_id="UTC")
    me.page.add_init_script(f"Object.defineProperty(navigator, 'languages', {{get: () => ['{tag}']}})")
    me.go_to("/drafts/")
    expect(me.page.locator(".drafts time")).to_have_text("24 Dec 2031, 18:00")


STATES = [
    *(("signed in", state, act) for state, act in (UNCHANGED | SIGNED_IN | STAFF).items()),
    *(("anonymous", state, act) for state, act in ANONYMOUS.items()),
    *(("refused", state, act) for state, (_status, act) in REFUSALS.items()),
]


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("who", "act"),
    [pytest.param(who, act, id=f"{who}: {state}") for who, state, act in STATES if state not in ENGLISH_HEADINGS],
)
def test_a_page_in_arabic_has_no_barrier_and_fits(
    site: QuickstartSite, chromium: Browser, who: str, act: object
) -> None:
    own, friend = sign_up_visitor(site), sign_up_visitor(site)
    with open_context(chromium, own, locale="ar") as context:
        page = BrowserPage(context.new_page(), site.url)
        page.sign_in_as(own)
        scene = prepare_scene(site, page, own, friend)
        if who == "anonymous":
            context.clear_cookies()
        assert callable(act)
        act(scene)
        problems = [*find_page_problems(page.page), *page.complaints]
    assert not problems, json.dumps(problems, indent=1, ensure_ascii=False)
