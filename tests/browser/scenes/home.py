"""Home in its states."""

from playwright.sync_api import expect

from tests.browser.conftest import numbers
from tests.browser.scenes.base import Scene
from tests.browser.scenes.posts import much_reacted_to
from tests.support.visitor import Visitor


def with_everything_open(scene: Scene) -> None:
    scene.reader.goes_live("/")
    scene.reader.page.locator("details.menu > summary").first.click()
    scene.friend.publishes("one more")
    expect(scene.reader.pill).to_be_visible()


def with_a_refused_text(scene: Scene) -> None:
    scene.reader.goes("/")
    scene.reader.publishes(" ")
    expect(scene.reader.page.locator("#composer-error")).to_be_visible()


def with_a_note(scene: Scene) -> None:
    scene.reader.goes("/")
    scene.reader.publishes("a note follows")
    expect(scene.reader.page.locator(".toast")).to_be_visible()


def with_new_posts_shown(scene: Scene) -> None:
    with_everything_open(scene)
    scene.reader.page.keyboard.press("Escape")
    scene.reader.pill.click()
    expect(scene.reader.page.locator("li.here")).to_be_visible()


def the_dialog_of_keys(scene: Scene) -> None:
    scene.reader.goes("/")
    scene.reader.page.keyboard.press("?")
    expect(scene.reader.page.locator("#shortcuts")).to_be_visible()


def with_reactions(scene: Scene) -> None:
    much_reacted_to(scene)
    scene.reader.goes("/")
    expect(scene.reader.page.locator('[aria-pressed="true"]').first).to_be_visible()


def with_a_place(scene: Scene) -> None:
    posts = scene.own.timeline("/")
    scene.own.post("/positions/", timeline="home", post=posts[2]["id"])
    scene.reader.goes("/")
    scene.reader.page.locator("details.panel > summary").click()
    expect(scene.reader.page.locator("li.here")).to_be_visible()


def far_behind(scene: Scene) -> None:
    posts = scene.own.timeline("/")
    scene.own.post("/positions/", timeline="home", post=posts[-1]["id"])
    scene.reader.goes("/?limit=2")


def with_suggestions(scene: Scene) -> None:
    with Visitor(scene.site.url, f"third{next(numbers)}") as third:
        third.sign_up()
    scene.friend.follows(third.handle)
    scene.reader.goes("/")
    expect(scene.reader.page.get_by_role("heading", name="Who to follow")).to_be_visible()


def with_a_folded_post(scene: Scene) -> None:
    scene.friend.publishes("what nobody wants to read")
    scene.own.post("/accounts/filters/", phrase="nobody wants")
    scene.reader.until(lambda: "filtered" in scene.own.get("/")["posts"][0])
    scene.reader.goes("/")
    scene.reader.page.locator("[data-filtered] > summary").first.click()
