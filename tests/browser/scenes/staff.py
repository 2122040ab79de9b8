"""Scenarios of the site's settings, announcements, applications, and of accounts that may not log in."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.browser.conftest import visitor_numbers
from tests.browser.scenes.base import LONG_WORD, PageScenario, goes_as_staff
from tests.browser.scenes.people import decisions_about_the_own_account
from tests.support.visitor import PASSWORD, HttpVisitor

REASON = "I would like to talk about trains with others. " + LONG_WORD[:100]


@contextmanager
def site_settings(staff: HttpVisitor, **fields: str) -> Iterator[None]:
    """Change settings of the site until the end of the block."""
    former = staff.get("/ops/site/")
    assert staff.post("/ops/site/", **fields).status_code == 200
    try:
        yield
    finally:
        answer = staff.post("/ops/site/", **{name: former[name] for name in fields})
        assert answer.status_code == 200, answer.text


def applies(scene: PageScenario) -> HttpVisitor:
    """Let somebody apply for an account while staff approves new accounts."""
    applicant = HttpVisitor(scene.site.url, f"applicant{next(visitor_numbers)}")
    passwords = {"password1": PASSWORD, "password2": PASSWORD}
    with site_settings(scene.own, joining="approval"):
        answer = applicant.post("/accounts/signup/", handle=applicant.handle, reason=REASON, **passwords)
    assert answer.status_code == 202, answer.text
    return applicant


def applications_to_decide(scene: PageScenario) -> None:
    """The page after a refusal without a text."""
    goes_as_staff("/ops/")(scene)
    applies(scene).http.close()
    page = scene.reader.page
    scene.reader.go_to("/ops/applications/")
    page.locator("main [name=account]").first.check()
    with page.expect_navigation():
        page.locator("main [name=decision][value=refuse]").click()


def an_application(scene: PageScenario) -> None:
    goes_as_staff("/ops/")(scene)
    with applies(scene) as applicant:
        scene.reader.context.clear_cookies()
        scene.reader.sign_in_as(applicant)
    scene.reader.go_to("/accounts/waiting/")
    scene.reader.page.locator(".confirm > summary").click()


def held_posts(scene: PageScenario) -> None:
    goes_as_staff("/ops/")(scene)
    with (
        site_settings(scene.own, holds_first_links="on"),
        HttpVisitor(scene.site.url, f"first{next(visitor_numbers)}") as newcomer,
    ):
        newcomer.sign_up().post("/posts/", text="look at https://example.org/" + "x" * 200)
    scene.reader.go_to("/ops/held/")


def announcements(scene: PageScenario) -> None:
    """One announcement begins later, so that no other page shows it."""
    goes_as_staff("/ops/")(scene)
    fields = {"text": LONG_WORD + " https://example.org/", "starts": "2999-01-01T10:00", "ends": "2999-01-02T10:00"}
    assert scene.own.post("/ops/announcements/", **fields).status_code == 200
    scene.reader.go_to("/ops/announcements/")


def wrong_settings(scene: PageScenario) -> None:
    goes_as_staff("/ops/site/")(scene)
    page = scene.reader.page
    page.locator("[name=accent]").fill("#ffff00")
    page.locator("form:has([name=accent]) [type=submit]").click()
    page.locator("#id_accent_error").wait_for()


def the_rules(scene: PageScenario) -> None:
    """Rules in another language than that of the page may run in the other direction."""
    goes_as_staff("/ops/")(scene)
    with site_settings(scene.own, rules="Be kind.\n" + "No advertising. " * 9):
        scene.reader.go_to("/rules/")


def a_suspended_account(scene: PageScenario) -> None:
    decisions_about_the_own_account(scene)
    account_id = scene.own.get(f"/@{scene.own.handle}/")["account"]["id"]
    answer = scene.friend.post(f"/ops/accounts/{account_id}/act/", kind="suspend", text=LONG_WORD[:300])
    assert answer.status_code == 200, answer.text
    page = scene.reader.page
    scene.reader.go_to("/accounts/login/")
    page.locator("main [name=username]").fill(scene.own.handle)
    page.locator("main [name=password]").fill(PASSWORD)
    with page.expect_navigation():
        page.locator("main form [type=submit]").first.click()
    page.locator("main details > summary").first.click()


def invitations(scene: PageScenario) -> None:
    goes_as_staff("/ops/")(scene)
    for days in (1, 30):
        assert scene.own.post("/accounts/invitations/", uses=100, days=days, note="w" * 50).status_code == 201
    scene.reader.go_to("/accounts/invitations/")
