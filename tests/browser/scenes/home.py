"""Scenarios of the home page."""

from playwright.sync_api import expect

from tests.browser.conftest import visitor_numbers
from tests.browser.scenes.base import LONG_WORD, PageScenario
from tests.browser.scenes.posts import much_reacted_to
from tests.support.visitor import HttpVisitor


def with_everything_open(scene: PageScenario) -> None:
    scene.reader.go_to_live("/")
    scene.reader.page.locator("details.menu > summary").first.click()
    scene.friend.publishes("one more")
    expect(scene.reader.pill).to_be_visible()


def with_a_refused_text(scene: PageScenario) -> None:
    scene.reader.go_to("/")
    scene.reader.publish(" ")
    expect(scene.reader.page.locator("#composer-error")).to_be_visible()


def with_a_note(scene: PageScenario) -> None:
    scene.reader.go_to("/")
    scene.reader.publish("a note follows")
    expect(scene.reader.page.locator(".toast")).to_be_visible()


def with_new_posts_shown(scene: PageScenario) -> None:
    with_everything_open(scene)
    scene.reader.page.keyboard.press("Escape")
    scene.reader.pill.click()
    expect(scene.reader.page.locator("li.here")).to_be_visible()


def the_dialog_of_keys(scene: PageScenario) -> None:
    scene.reader.go_to("/")
    scene.reader.page.keyboard.press("?")
    expect(scene.reader.page.locator("#shortcuts")).to_be_visible()


def with_reactions(scene: PageScenario) -> None:
    much_reacted_to(scene)
    scene.reader.go_to("/")
    expect(scene.reader.page.locator('[aria-pressed="true"]').first).to_be_visible()


def with_a_place(scene: PageScenario) -> None:
    scene.own.post("/positions/", timeline="home", post=scene.own.timeline("/")[2]["id"])
    scene.reader.go_to("/")
    scene.reader.page.locator("details.panel > summary").click()
    expect(scene.reader.page.locator("li.here")).to_be_visible()


def far_behind(scene: PageScenario) -> None:
    scene.own.post("/positions/", timeline="home", post=scene.own.timeline("/")[-1]["id"])
    scene.reader.go_to("/?limit=2")


def with_suggestions(scene: PageScenario) -> None:
    with HttpVisitor(scene.site.url, f"third{next(visitor_numbers)}") as third:
        third.sign_up()
    scene.friend.follows(third.handle)
    scene.reader.go_to("/")
    expect(scene.reader.page.get_by_role("heading", name="Who to follow")).to_be_visible()


def with_a_folded_post(scene: PageScenario) -> None:
    scene.friend.publishes("what nobody wants to read")
    scene.own.post("/accounts/filters/", phrase="nobody wants")
    scene.reader.wait_for(lambda: "filtered" in scene.own.get("/")["posts"][0])
    scene.reader.go_to("/")
    scene.reader.page.locator("[data-filtered] > summary").first.click()


def with_warned_posts(scene: PageScenario) -> None:
    """One warned post is open and one is folded."""
    for warning in ("Spiders", LONG_WORD):
        scene.own.publishes("the butler did it", spoiler_text=warning)
    scene.reader.go_to("/")
    scene.reader.page.locator(".warned > summary").first.click()
