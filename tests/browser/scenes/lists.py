"""Scenarios of the pages of lists."""

from playwright.sync_api import expect

from tests.browser.scenes.base import LONG_WORD, PageScenario, fills


def a_list(scene: PageScenario) -> None:
    answer = scene.own.post("/lists/", title=LONG_WORD[:50]).json()
    scene.own.post(f"/lists/{answer['id']}/members/", handle=scene.friend.handle)
    scene.reader.go_to(f"/lists/{answer['id']}/")
    for summary in ("#manage > summary", ".confirm > summary"):
        scene.reader.page.locator(summary).click()


def lists_to_make_one_of(scene: PageScenario) -> None:
    for title in (LONG_WORD[:50], "Good people"):
        scene.own.post("/lists/", title=title)
    fills("/lists/", title="Neither of them")(scene)
    scene.reader.go_to("/lists/")
    scene.reader.page.locator("details.panel > summary").first.click()


def a_made_list_that_refuses(scene: PageScenario) -> None:
    for title in ("One", "Two"):
        scene.own.post("/lists/", title=title)
    page = scene.reader.page
    scene.reader.go_to("/lists/")
    page.locator("details.panel > summary").first.click()
    page.locator("#made-title").fill("Both")
    with page.expect_navigation():
        page.get_by_role("button", name="Create list").last.click()
    expect(page.locator(".error")).to_be_visible()


def a_made_list(scene: PageScenario) -> None:
    made = [scene.own.post("/lists/", title=title).json()["id"] for title in ("One", LONG_WORD[:50])]
    scene.own.post(f"/lists/{made[0]}/members/", handle=scene.friend.handle)
    both = scene.own.post("/lists/", title="Both", operation="union", parts=" ".join(made)).json()
    scene.own.post(f"/lists/{made[1]}/delete/")
    scene.reader.go_to(f"/lists/{both['id']}/")
    scene.reader.page.locator("#manage > summary").click()


def a_list_that_refuses(scene: PageScenario) -> None:
    answer = scene.own.post("/lists/", title="Good people").json()
    fills(f"/lists/{answer['id']}/", handle="nobody_by_this_name")(scene)


def lists_with_one(scene: PageScenario) -> None:
    scene.own.post("/lists/", title=LONG_WORD[:50])
    scene.reader.go_to("/lists/")


def a_public_list(scene: PageScenario) -> None:
    made = scene.friend.post("/lists/", title=LONG_WORD[:50]).json()
    for handle in (scene.friend.handle, scene.own.handle):
        scene.friend.post(f"/lists/{made['id']}/members/", handle=handle)
    answer = scene.friend.post(f"/lists/{made['id']}/edit/", public="1", description=LONG_WORD[:280])
    assert answer.status_code == 200, answer.text
    scene.reader.go_to(f"/lists/{made['id']}/")
    scene.reader.page.locator("main details.panel > summary").last.click()


def people_of_a_public_list(scene: PageScenario) -> None:
    a_public_list(scene)
    scene.reader.go_to(f"{scene.reader.page.url.removeprefix(scene.reader.url)}?tab=people")


def tabs(scene: PageScenario) -> None:
    for title in ("One", LONG_WORD[:50]):
        scene.own.post("/lists/", title=title)
    scene.own.post("/tags/tea/follow/")
    scene.own.post("/lists/tabs/", tab="#tea", action="remove")
    scene.reader.go_to("/lists/tabs/")
