"""Scenarios of profiles, relations between accounts, and refusals."""

from collections.abc import Callable

from tests.browser.scenes.base import PageScenario, fills, goes_as_staff, submits


def a_profile_with_its_menu(scene: PageScenario) -> None:
    scene.reader.go_to(f"/@{scene.friend.handle}/")
    scene.reader.page.locator(".relation-menu > summary").click()


def kept_away(*acts: str) -> Callable[[PageScenario], None]:
    """Open the friend's profile after these actions."""

    def act(scene: PageScenario) -> None:
        for each in acts:
            scene.own.post(f"/@{scene.friend.handle}/{each}/")
        scene.reader.go_to(f"/@{scene.friend.handle}/")
        scene.reader.page.locator(".relation-menu > summary").click()

    return act


def blocked_by_a_friend(scene: PageScenario) -> None:
    scene.friend.post(f"/@{scene.own.handle}/block/")
    scene.reader.go_to(f"/@{scene.friend.handle}/")


def a_private_profile(scene: PageScenario) -> None:
    scene.own.post(f"/@{scene.friend.handle}/unfollow/")
    scene.friend.post("/accounts/settings/", display_name="Private", private="1")
    scene.own.post(f"/@{scene.friend.handle}/follow/")
    scene.reader.go_to(f"/@{scene.friend.handle}/")


def lists_somebody(kind: str, *acts: str) -> Callable[[PageScenario], None]:
    def act(scene: PageScenario) -> None:
        for each in acts:
            scene.own.post(f"/@{scene.friend.handle}/{each}/", duration="3600")
        scene.reader.go_to(f"/accounts/{kind}/")

    return act


def requests_to_answer(scene: PageScenario) -> None:
    scene.own.post("/accounts/settings/", display_name="Private", private="1")
    scene.friend.post(f"/@{scene.own.handle}/unfollow/")
    scene.friend.follows(scene.own.handle)
    scene.reader.go_to("/accounts/requests/")


def filters_with_some(scene: PageScenario) -> None:
    scene.own.post("/accounts/filters/", phrase="w" * 100, action="hide", expires_in="3600")
    scene.own.post("/accounts/filters/", phrase="two words")
    scene.reader.go_to("/accounts/filters/")
    for summary in scene.reader.page.locator("details.panel > summary").all():
        summary.click()


def csrf_refusal(scene: PageScenario) -> None:
    scene.reader.go_to("/")
    scene.reader.page.locator("[data-composer] textarea").fill("an old page")
    scene.reader.context.clear_cookies(name="csrftoken")
    with scene.reader.page.expect_navigation():
        scene.reader.page.locator("[data-composer]").evaluate("(form) => form.submit()")


def too_many_follows(scene: PageScenario) -> None:
    while scene.own.post(f"/@{scene.friend.handle}/follow/").status_code == 200:
        pass
    submits("/@{friend}/follow/")(scene)


def too_many_posts(scene: PageScenario) -> None:
    while scene.own.post("/posts/", text="words").status_code == 201:
        pass
    fills("/", text="words that are kept")(scene)


def a_new_password(scene: PageScenario) -> None:
    goes_as_staff("/ops/accounts/{friend}/")(scene)
    with scene.reader.page.expect_navigation():
        scene.reader.page.locator("form[action$='/password/'] button").click()
