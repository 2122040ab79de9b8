"""Pictures in a real browser: uploads of real files, the viewer, avatars, with and without JavaScript."""

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import FilePayload, Locator, Page, Route, expect

from tests.browser.conftest import OpenReader
from tests.support.chromium import BrowserPage
from tests.support.page_health import find_page_problems
from tests.support.pictures import animation, picture
from tests.support.visitor import HttpVisitor

HEIC = b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00heicmif1" + b"\0" * 200
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>document.title="ran"</script></svg>'


def file(name: str, content: bytes, type: str = "image/jpeg") -> FilePayload:
    return {"name": name, "mimeType": type, "buffer": content}


PHOTO = file("photo.jpg", picture((1200, 900)))
TALL = file("tall.png", picture((600, 1400), "PNG"), "image/png")
GIF = file("dance.gif", animation(5), "image/gif")


@pytest.fixture
def me(reader: OpenReader, own: HttpVisitor) -> BrowserPage:
    page = reader(own)
    page.go_to("/")
    return page


def choose(page: Page | Locator, *files: FilePayload | Path) -> Locator:
    """Choose files in the composer of a page or sheet, and return their rows."""
    page.locator("[data-add-pictures]").first.set_input_files(list(files))
    return page.locator(".picture-row")


def wait_until_ready(rows: Locator, count: int) -> None:
    expect(rows.and_(rows.page.locator("[data-state=ready]"))).to_have_count(count)


def post(page: Page) -> None:
    page.locator("[data-composer] .composer-foot > [type=submit]").click()


def test_a_picture_with_a_description_is_posted_and_opened_large_by_keyboard(
    me: BrowserPage, own: HttpVisitor, reader: OpenReader
) -> None:
    page = me.page
    rows = choose(page, PHOTO, TALL)
    rows.nth(0).get_by_label("Description").fill("A grey gradient")
    wait_until_ready(rows, 2)
    rows.nth(1).get_by_role("button", name="Move before the previous picture").click()
    rows.nth(0).get_by_label("Description").fill("A tall one")
    page.locator("[data-composer] textarea[name=text]").fill("look")
    post(page)
    expect(me.entries).to_have_count(1)
    pictures = me.entries.locator("a.picture img")
    expect(pictures.nth(0)).to_have_attribute("alt", "A tall one")
    expect(pictures.nth(1)).to_have_attribute("alt", "A grey gradient")
    expect(page.locator(".picture-editor")).to_be_hidden()
    page.reload()
    page.wait_for_function(
        "() => [...document.querySelectorAll('a.picture img')].every((image) => image.naturalWidth > 0)"
    )
    me.entries.locator("a.picture").nth(0).press("Enter")
    viewer = page.locator("dialog.viewer")
    expect(viewer).to_be_visible()
    expect(viewer.locator("#viewer-count")).to_have_text("Picture 1 of 2")
    expect(viewer.locator(".viewer-alt")).to_have_text("A tall one")
    page.keyboard.press("ArrowRight")
    expect(viewer.locator("#viewer-count")).to_have_text("Picture 2 of 2")
    page.wait_for_function("() => document.querySelector('dialog.viewer img').naturalWidth === 1200")
    with page.expect_download() as download:
        viewer.get_by_role("link", name="Download").click()
    assert Path(download.value.path()).read_bytes()[:3] == b"\xff\xd8\xff"
    page.keyboard.press("Escape")
    expect(viewer).to_be_hidden()
    expect(me.entries.locator("a.picture").nth(1)).to_be_focused()
    assert me.complaints == []


def test_a_refused_file_shows_its_reason_before_any_upload(me: BrowserPage, tmp_path: Path) -> None:
    large = tmp_path / "e.jpg"
    large.write_bytes(picture())
    os.truncate(large, 17_000_000)
    sent: list[str] = []
    me.page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    for refused, words in (
        (file("a.jpg", HEIC), "a.jpg has the format HEIC. Your phone can send it as JPEG"),
        (file("b.png", SVG, "image/svg+xml"), "b.png is a drawing (SVG). Save it as PNG"),
        (file("c.jpg", b"\0\0\0\x18ftypmp42" + b"\0" * 100, "video/mp4"), "c.jpg is a video."),
        (file("d.jpg", b"hello"), "d.jpg is not a picture that the site can show."),
        (large, "e.jpg is too large: a picture has at most 16.0\xa0MB."),
    ):
        choose(me.page, refused)
        expect(me.page.locator(".picture-problems")).to_contain_text(words)
    expect(me.page.locator(".picture-row")).to_have_count(0)
    assert sent == []
    assert me.page.title() != "ran"


@pytest.mark.nightly
def test_the_fifth_picture_is_not_added(me: BrowserPage) -> None:
    rows = choose(me.page, *[file(f"{n}.jpg", picture((40 + n, 40))) for n in range(5)])
    expect(me.page.locator(".picture-problems")).to_contain_text("A post has at most 4 pictures.")
    expect(rows).to_have_count(4)


def test_an_interrupted_upload_is_shown_and_continues_with_the_connection(me: BrowserPage) -> None:
    choose(me.page, file("first.jpg", picture()))  # loads the modules
    wait_until_ready(me.page.locator(".picture-row"), 1)
    me.page.route("**/media/", lambda route: route.abort())
    rows = choose(me.page, PHOTO)
    expect(rows.nth(1)).to_have_attribute("data-state", "lost")
    expect(rows.nth(1)).to_contain_text("The connection was lost.")
    rows.nth(1).get_by_label("Description").fill("kept")
    rows.nth(0).get_by_label("Description").fill("first")
    post(me.page)
    expect(me.page.locator("#composer-error")).to_have_text(
        "Not posted: a picture is not uploaded. Try again or remove it."
    )
    me.page.unroute("**/media/")
    me.complaints.clear()  # Chromium reports the lost request
    me.page.evaluate("dispatchEvent(new Event('online'))")
    wait_until_ready(rows, 2)
    post(me.page)
    expect(me.entries.locator("a.picture img").nth(1)).to_have_attribute("alt", "kept")


@pytest.mark.nightly
def test_an_upload_is_canceled_and_a_failed_one_is_tried_again(me: BrowserPage) -> None:
    waiting: list[Route] = []
    choose(me.page, file("first.jpg", picture()))
    wait_until_ready(me.page.locator(".picture-row"), 1)
    me.page.route("**/media/", lambda route: waiting.append(route))
    rows = choose(me.page, PHOTO)
    expect(rows.nth(1)).to_have_attribute("data-state", "uploading")
    rows.nth(1).get_by_role("button", name="Cancel").click()
    expect(rows).to_have_count(1)
    me.page.unroute("**/media/")
    me.page.route("**/media/", lambda route: route.fulfill(status=503, json={"message": "The site is busy."}))
    choose(me.page, PHOTO)
    expect(rows.nth(1)).to_contain_text("The site is busy.")
    me.page.unroute("**/media/")
    rows.nth(1).get_by_role("button", name="Try again").click()
    wait_until_ready(rows, 2)


@pytest.mark.nightly
def test_a_pasted_and_a_dropped_picture_are_added(me: BrowserPage) -> None:
    give = """(kind) => new Promise((done) => {
      const canvas = Object.assign(document.createElement("canvas"), { width: 30, height: 20 });
      canvas.getContext("2d").fillRect(0, 0, 30, 20);
      canvas.toBlob((blob) => {
        const data = new DataTransfer();
        data.items.add(new File([blob], `${kind}.png`, { type: "image/png" }));
        const text = document.querySelector("[data-composer] textarea[name=text]");
        const init = { bubbles: true, cancelable: true };
        text.dispatchEvent(
          kind === "paste"
            ? new ClipboardEvent(kind, { ...init, clipboardData: data })
            : new DragEvent(kind, { ...init, dataTransfer: data }),
        );
        done();
      });
    })"""
    for kind in ("paste", "drop"):
        me.page.evaluate(give, kind)
        expect(me.page.locator(".picture-row .name").last).to_have_text(f"{kind}.png")
    wait_until_ready(me.page.locator(".picture-row"), 2)


@pytest.mark.nightly
def test_the_reminder_of_descriptions_appears_once_and_can_be_switched_off(me: BrowserPage, own: HttpVisitor) -> None:
    rows = choose(me.page, PHOTO)
    wait_until_ready(rows, 1)
    post(me.page)
    reminder = me.page.locator(".picture-reminder")
    expect(reminder).to_be_visible()
    expect(me.entries).to_have_count(0)
    reminder.get_by_role("button", name="Add a description").click()
    expect(rows.get_by_label("Description")).to_be_focused()
    post(me.page)
    reminder.get_by_role("button", name="Post without").click()
    expect(me.entries.locator("a.picture img")).to_have_attribute("alt", "Picture without a description")
    me.go_to("/display/")
    me.page.get_by_label("Do not remind me").check()
    me.page.get_by_role("button", name="Save").click()
    me.go_to("/")
    wait_until_ready(choose(me.page, TALL), 1)
    post(me.page)
    expect(me.entries).to_have_count(2)


def test_sensitive_pictures_are_loaded_only_after_a_click(me: BrowserPage) -> None:
    rows = choose(me.page, PHOTO)
    rows.get_by_label("Description").fill("secret")
    wait_until_ready(rows, 1)
    me.page.get_by_label("Sensitive: readers see").check()
    post(me.page)
    expect(me.entries).to_have_count(1)
    loaded: list[str] = []
    me.page.on("request", lambda request: loaded.append(request.url) if "/small." in request.url else None)
    me.page.reload()
    cover = me.entries.get_by_text("Sensitive: show the picture")
    expect(cover).to_be_visible()
    assert loaded == []
    with me.page.expect_response(re.compile(r"/small\.")):
        cover.click()
    expect(me.entries.locator("a.picture img")).to_be_visible()


@pytest.mark.nightly
def test_an_animation_does_not_play_with_reduced_motion(me: BrowserPage) -> None:
    me.page.emulate_media(reduced_motion="no-preference")
    rows = choose(me.page, GIF)
    rows.get_by_label("Description").fill("dance")
    wait_until_ready(rows, 1)
    post(me.page)
    expect(me.entries).to_have_count(1)
    shown = "() => document.querySelector('a.picture img').currentSrc.match(/(full|small)\\.webp$/)?.[1] === "
    me.page.wait_for_function(f'{shown}"full"')
    me.page.emulate_media(reduced_motion="reduce")
    me.page.wait_for_function(f'{shown}"small"')


@pytest.mark.nightly
def test_the_focal_point_is_chosen_on_the_preview(me: BrowserPage, own: HttpVisitor) -> None:
    rows = choose(me.page, PHOTO)
    rows.get_by_label("Description").fill("corner")
    wait_until_ready(rows, 1)
    rows.locator(".picture-focus summary").click()
    rows.locator("canvas").click(position={"x": 8, "y": 8})
    with me.page.expect_response("**/posts/") as answer:
        post(me.page)
    (attachment,) = answer.value.json()["media_attachments"]
    assert (attachment["meta"]["focus"]["x"], attachment["meta"]["focus"]["y"]) == pytest.approx((-1, 1), abs=0.2)


def test_an_avatar_is_cropped_by_keyboard_and_shown_in_the_navigation(me: BrowserPage) -> None:
    page = me.page
    me.go_to("/accounts/settings/")
    form = page.locator(".picture-of-avatar")
    form.locator("[type=file]").set_input_files([file("two.png", picture((200, 100), "PNG"), "image/png")])
    canvas = form.locator(".crop canvas")
    canvas.press("ArrowRight")
    expect(form.locator("[name=avatar_crop]")).to_have_value("0.2700,0.0000,0.5000,1.0000")
    canvas.press("-")
    expect(form.locator("[name=avatar_crop]")).to_have_value(re.compile(r"^0\.27\d+,0\.01\d*,0\.49\d+,0\.98\d*$"))
    box = canvas.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"], box["y"] + 20, steps=3)
    page.mouse.up()
    expect(form.locator("[name=avatar_crop]")).to_have_value(re.compile(r"^0\.0"))
    page.get_by_role("button", name="Save", exact=True).click()
    image = page.locator(".site-nav .avatar img")
    expect(image).to_be_attached()
    page.wait_for_function("() => document.querySelector('.site-nav .avatar img').naturalWidth === 96")
    form.get_by_label("Remove the picture").check()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(image).to_have_count(0)
    assert me.complaints == []


@pytest.mark.nightly
def test_a_page_without_pictures_loads_no_script_for_pictures(me: BrowserPage, own: HttpVisitor) -> None:
    own.post("/posts/", text="only words")
    loaded: list[str] = []
    me.page.on("request", lambda request: loaded.append(request.url))
    me.page.reload()
    expect(me.entries).to_have_count(1)
    assert [url for url in loaded if re.search("pictures|viewer|picture_parts", url)] == []


@pytest.mark.nightly
def test_the_pictures_of_a_draft_return_after_a_reload_and_a_lost_one_is_named(me: BrowserPage) -> None:
    page = me.page
    rows = choose(page, PHOTO)
    wait_until_ready(rows, 1)
    with page.expect_response(re.compile(r"/media/\d+/$")):
        rows.get_by_label("Description").fill("kept")
        rows.get_by_label("Description").blur()
    page.route("**/media/", lambda route: None)  # this upload never ends
    choose(page, TALL)
    expect(rows).to_have_count(2)
    page.reload()
    wait_until_ready(rows, 1)
    expect(rows).to_have_count(1)
    expect(rows.get_by_label("Description")).to_have_value("kept")
    page.wait_for_function("() => document.querySelector('.picture-thumb img').naturalWidth > 0")
    expect(page.locator(".picture-problems")).to_contain_text("tall.png was not uploaded before the page was closed.")
    assert find_page_problems(page) == []
    post(page)
    expect(me.entries.locator("a.picture img")).to_have_attribute("alt", "kept")
    page.reload()
    expect(me.entries).to_have_count(1)
    expect(rows).to_have_count(0)


@pytest.mark.nightly
def test_a_swipe_shows_the_next_picture(reader: OpenReader, own: HttpVisitor) -> None:
    me = reader(own, has_touch=True, viewport={"width": 360, "height": 640})
    me.go_to("/")
    me.page.locator(".nav-compose a").tap()
    wait_until_ready(choose(me.page.locator("dialog.sheet"), PHOTO, TALL), 2)
    me.page.locator("dialog.sheet .composer-foot > [type=submit]").tap()
    me.page.locator("[data-post-anyway]").tap()
    me.entries.locator("a.picture").first.tap()
    count = me.page.locator("#viewer-count")
    expect(count).to_have_text("Picture 1 of 2")
    touch = me.page.context.new_cdp_session(me.page)

    def swipe(start: int, end: int) -> None:
        points = [[start, 300], [(start + end) // 2, 302], [end, 304], None]
        for point, kind in zip(points, ("touchStart", "touchMove", "touchMove", "touchEnd"), strict=True):
            at = [{"x": point[0], "y": point[1]}] if point else []
            touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": at})

    swipe(300, 60)
    expect(count).to_have_text("Picture 2 of 2")
    swipe(300, 60)  # there is no third picture
    expect(count).to_have_text("Picture 2 of 2")
    swipe(60, 300)
    expect(count).to_have_text("Picture 1 of 2")


def test_back_closes_the_large_picture_and_stays_on_the_page(me: BrowserPage, own: HttpVisitor) -> None:
    rows = choose(me.page, PHOTO)
    rows.get_by_label("Description").fill("A gradient")
    wait_until_ready(rows, 1)
    post(me.page)
    expect(me.entries).to_have_count(1)
    me.go_to("/public/")
    me.go_to(f"/@{own.handle}/")
    viewer = me.page.locator("dialog.viewer")
    for close in (lambda: me.page.go_back(), lambda: me.page.keyboard.press("Escape")):
        me.entries.locator("a.picture").first.click()
        expect(viewer.get_by_role("button", name="Close")).to_be_focused()
        close()
        expect(viewer).to_be_hidden()
        expect(me.page).to_have_url(re.compile(f"/@{own.handle}/$"))
    me.page.wait_for_function("() => !history.state?.layers")
    me.page.go_back()
    expect(me.page).to_have_url(re.compile("/public/$"))


def test_a_single_picture_keeps_its_place_before_it_arrives(me: BrowserPage) -> None:
    sizes = [(1200, 900), (600, 1400), (3000, 300), (40, 40)]
    for number, size in enumerate(sizes, 1):
        rows = choose(me.page, file(f"{size}.png", picture(size, "PNG"), "image/png"))
        rows.get_by_label("Description").fill("A gradient")
        wait_until_ready(rows, 1)
        post(me.page)
        expect(me.entries).to_have_count(number)
    boxes = """() => [...document.querySelectorAll('.pictures-1')]
        .map((box) => [box.getBoundingClientRect().width, box.getBoundingClientRect().height])"""
    for width in (320, 390, 1280):
        me.page.set_viewport_size({"width": width, "height": 844})
        me.page.route("**/media/**", lambda _: None)  # the picture does not arrive yet
        me.page.reload(wait_until="domcontentloaded")
        before = me.page.evaluate(boxes)
        me.page.unroute("**/media/**")
        me.page.reload()
        for image in me.entries.locator("a.picture img").all():
            image.scroll_into_view_if_needed()
        me.page.wait_for_function(
            "() => [...document.querySelectorAll('a.picture img')].every((image) => image.naturalWidth > 0)"
        )
        for box, held_back in zip(me.page.evaluate(boxes), before, strict=True):
            assert box == pytest.approx(held_back, abs=1)  # the small picture's sides are rounded
        assert me.page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.nightly
def test_pages_with_pictures_are_accessible_and_never_too_wide(me: BrowserPage) -> None:
    page = me.page
    rows = choose(page, PHOTO, TALL, GIF)
    wait_until_ready(rows, 3)
    rows.nth(0).locator(".picture-focus summary").click()
    assert find_page_problems(page) == []
    post(page)
    page.get_by_role("button", name="Post without").click()
    expect(me.entries).to_have_count(1)
    assert find_page_problems(page) == []
    me.entries.locator("a.picture").first.click()
    expect(page.locator("dialog.viewer")).to_be_visible()
    assert find_page_problems(page) == []
    me.go_to("/accounts/settings/")
    page.get_by_label("Avatar").set_input_files([TALL])
    expect(page.locator(".crop")).to_be_visible()
    assert find_page_problems(page) == []


def test_a_picture_is_posted_and_opened_without_a_script(reader: OpenReader, own: HttpVisitor) -> None:
    me = reader(own, java_script_enabled=False)
    page = me.page
    me.go_to("/")
    page.locator("[data-composer] textarea[name=text]").fill("by form")
    page.get_by_role("button", name="Add pictures").click()
    expect(page.locator("textarea[name=text]")).to_have_value("by form")
    page.locator("[name=file-0]").set_input_files([PHOTO])
    page.locator("[name=description-0]").fill("without a script")
    page.locator(".composer-foot > [type=submit]").click()
    shown = me.entries.locator("a.picture img")
    expect(shown).to_have_attribute("alt", "without a script")
    shown.click()
    expect(page).to_have_url(re.compile(r"/media/.*/full\.jpg$"))
    expect(page.locator("img")).to_be_visible()
    assert me.complaints == []  # nothing forbids the styles of Chromium's own page for a picture
