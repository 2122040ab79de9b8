"""The composer never loses a text: after a refusal, a reload, a repeated request or a lost connection."""

import re

import pytest
from playwright.sync_api import Route, expect

from tests.browser.conftest import OpenReader
from tests.support.chromium import BrowserPage
from tests.support.page_health import find_page_problems
from tests.support.visitor import HttpVisitor

BLANK = " \n\t "
POST_LIMIT = 40  # the site's RATE_LIMIT_POST


@pytest.fixture
def me(reader: OpenReader, own: HttpVisitor) -> BrowserPage:
    page = reader(own)
    page.go_to("/")
    return page


def use_up_the_minute(own: HttpVisitor) -> None:
    """Publish until the limit refuses; it adds up two adjacent minutes, so this may take a few more posts."""
    refused = [own.post("/posts/", text="many words").status_code == 429 for _ in range(POST_LIMIT + 1)]
    assert refused[-1]


def test_a_text_over_the_rate_limit_stays_in_the_box_with_the_reason_beside_it(
    me: BrowserPage, own: HttpVisitor
) -> None:
    use_up_the_minute(own)
    with me.page.expect_response("**/posts/") as answer:
        me.publish("words worth keeping")
    assert answer.value.status == 429
    expect(me.page.locator("#composer-error")).to_be_visible()
    expect(me.page.locator("#composer-error")).to_have_text(
        re.compile(r"You posted too often in the last minute\. Try again in \d+ seconds?\.")
    )
    text = me.page.locator("[data-composer] textarea")
    expect(text).to_have_value("words worth keeping")
    expect(text).to_have_attribute("aria-invalid", "true")
    assert "composer-error" in (text.get_attribute("aria-describedby") or "")
    assert me.page.url == me.url + "/"


@pytest.mark.nightly
def test_an_invalid_text_stays_in_the_box_with_the_reason(me: BrowserPage) -> None:
    with me.page.expect_response("**/posts/") as answer:
        me.publish(BLANK)
    assert answer.value.status == 422
    expect(me.page.locator("#composer-error")).to_be_visible()
    expect(me.page.locator("[data-composer] textarea")).to_have_value(BLANK)
    me.publish("now with words")
    expect(me.entries).to_have_count(1)
    expect(me.page.locator("#composer-error")).to_be_hidden()


@pytest.mark.nightly
def test_an_over_long_text_is_counted_as_on_the_server_and_not_sent(me: BrowserPage) -> None:
    family = "\N{MAN}\N{ZERO WIDTH JOINER}\N{WOMAN}\N{ZERO WIDTH JOINER}\N{GIRL}"
    me.page.locator("[data-composer] textarea").fill(family * 2 + "e\u0301" * 498 + "x")
    expect(me.page.locator("#composer-count")).to_have_text("1 character too many")
    me.page.locator("[data-composer] [type=submit]").click()
    expect(me.page.locator("#composer-error")).to_have_text("1 character too many")
    me.page.locator("[data-composer] textarea").press("End")
    me.page.locator("[data-composer] textarea").press("Control+End")
    me.page.locator("[data-composer] textarea").press("Backspace")
    expect(me.page.locator("#composer-count")).to_have_text("0 characters left")
    me.page.locator("[data-composer] [type=submit]").click()
    expect(me.entries).to_have_count(1)


def test_a_draft_survives_a_reload_and_disappears_when_it_is_published(me: BrowserPage) -> None:
    me.page.locator("[data-composer] textarea").fill("half a thought")
    me.page.reload()
    expect(me.page.locator("[data-composer] textarea")).to_have_value("half a thought")
    me.page.locator("[data-composer] textarea").press("Control+Enter")
    expect(me.entries).to_have_count(1)
    me.page.reload()
    expect(me.page.locator("[data-composer] textarea")).to_have_value("")


@pytest.mark.nightly
def test_a_reload_continues_the_draft_on_the_server(me: BrowserPage, own: HttpVisitor) -> None:
    for text in ("half a thought", "half a thought, and more"):
        with me.page.expect_response("**/drafts/") as saved:
            me.page.locator("[data-composer] textarea").fill(text)
        assert saved.value.ok
        me.page.reload()
    assert [draft["params"]["text"] for draft in own.get("/drafts/")["drafts"]] == [["half a thought, and more"]]


def test_a_log_out_deletes_drafts(me: BrowserPage) -> None:
    me.page.locator("[data-composer] textarea").fill("my private draft")
    drafts = "Object.keys(localStorage).filter((name) => name.startsWith('draft:'))"
    me.page.wait_for_function(f"{drafts}.length > 0")
    me.page.goto(f"{me.page.url.rstrip('/')}/accounts/logout/")
    me.page.locator('form[action="/accounts/logout/"] button').click()
    me.page.wait_for_function("() => document.body.dataset.signedIn === 'no'")
    assert me.page.evaluate(drafts) == []


def test_a_retry_after_a_lost_answer_publishes_no_second_post(me: BrowserPage, own: HttpVisitor) -> None:
    sent: list[str] = []

    def swallow_first(route: object) -> None:
        sent.append("")
        if len(sent) > 1:
            route.continue_()  # type: ignore[attr-defined]
            return
        route.fetch()  # type: ignore[attr-defined]  # the request arrives, its answer does not
        route.abort()  # type: ignore[attr-defined]

    me.page.route("**/posts/", swallow_first)
    me.publish("said once")
    expect(me.page.locator("#composer-error")).to_contain_text("Your text is kept")
    expect(me.page.locator("[data-composer] textarea")).to_have_value("said once")
    me.page.locator("[data-composer] [type=submit]").click()
    expect(me.page.locator("[data-composer] textarea")).to_have_value("")
    assert [post["text"] for post in own.timeline(f"/@{own.handle}/")] == ["said once"]
    me.complaints = [text for text in me.complaints if "ERR_FAILED" not in text]


@pytest.mark.nightly
def test_a_retry_after_a_reload_during_the_request_publishes_no_second_post(me: BrowserPage, own: HttpVisitor) -> None:
    """The draft is still in the box after the reload; sending it again does not publish a second post."""

    def swallow(route: Route) -> None:
        route.fetch()
        route.abort()

    me.page.route("**/posts/", swallow)
    me.publish("said once")
    expect(me.page.locator("#composer-error")).to_be_visible()
    me.page.unroute("**/posts/")
    me.page.reload()
    expect(me.page.locator("[data-composer] textarea")).to_have_value("said once")
    me.page.locator("[data-composer] [type=submit]").click()
    expect(me.page.locator("[data-composer] textarea")).to_have_value("")
    me.publish("said next")
    expect(me.page.locator("[data-composer] textarea")).to_have_value("")
    assert [post["text"] for post in own.timeline(f"/@{own.handle}/")] == ["said next", "said once"]
    me.complaints = [text for text in me.complaints if "ERR_FAILED" not in text]


@pytest.mark.nightly
def test_a_double_click_publishes_once(me: BrowserPage, own: HttpVisitor) -> None:
    me.page.locator("[data-composer] textarea").fill("said twice in a hurry")
    me.page.locator("[data-composer] [type=submit]").dblclick()
    expect(me.entries).to_have_count(1)
    assert len(own.timeline(f"/@{own.handle}/")) == 1


@pytest.mark.nightly
def test_without_a_script_a_refused_text_reappears_in_its_box(reader: OpenReader, own: HttpVisitor) -> None:
    me = reader(own, java_script_enabled=False)
    me.go_to("/")
    me.publish("x" * 501)
    expect(me.page.locator("#composer-error")).to_be_visible()
    expect(me.page.locator("[data-composer] textarea[name=text]")).to_have_value("x" * 501)
    use_up_the_minute(own)
    me.publish("shorter, but too soon")
    expect(me.page.locator("#composer-error")).to_be_visible()
    expect(me.page.locator("[data-composer] textarea[name=text]")).to_have_value("shorter, but too soon")


@pytest.mark.nightly
def test_a_pasted_or_dropped_file_that_is_no_picture_is_refused_with_a_sentence(me: BrowserPage) -> None:
    for kind, transfer in (("paste", "clipboardData"), ("drop", "dataTransfer")):
        me.page.locator("[data-composer] textarea[name=text]").evaluate(
            """(box, [kind, transfer]) => {
              const data = new DataTransfer();
              data.items.add(new File(["x"], "cat.png", { type: "image/png" }));
              const kinds = { paste: ClipboardEvent, drop: DragEvent };
              box.dispatchEvent(new kinds[kind](kind, { [transfer]: data, bubbles: true, cancelable: true }));
            }""",
            [kind, transfer],
        )
        problems = me.page.locator(".picture-problems")
        expect(problems).to_contain_text("cat.png is not a picture that the site can show.")
        problems.evaluate("(element) => element.replaceChildren()")


@pytest.mark.nightly
def test_the_tools_of_the_composer_stay_in_one_row_while_they_are_open(reader: OpenReader, own: HttpVisitor) -> None:
    me = reader(own, viewport={"width": 360, "height": 640})
    me.go_to("/#compose")
    tools = me.page.locator(".composer-body > details > summary")
    rows = """(tools) => tools.map((tool) => tool.getBoundingClientRect())
      .map((box) => Math.round((box.top + box.bottom) / 2))
      .filter((middle, at, all) => Math.abs(middle - all[0]) > 4).length"""
    for number in range(tools.count()):
        tools.nth(number).click()
        assert tools.evaluate_all(rows) == 0
    assert find_page_problems(me.page) == []
    tools.first.click()
    assert tools.evaluate_all(rows) == 0


def test_the_last_row_of_the_composer_fits_a_phone(reader: OpenReader, own: HttpVisitor) -> None:
    me = reader(own, viewport={"width": 360, "height": 800})
    me.go_to("/#compose")
    boxes = [each.bounding_box() for each in me.page.locator("dialog.sheet .composer-foot > select").all()]
    middles = [box["y"] + box["height"] / 2 for box in boxes if box]
    assert len(middles) == 2
    assert max(middles) - min(middles) < 2, boxes
