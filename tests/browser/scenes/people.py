"""Scenarios of profiles, relations between accounts, and refusals."""

from collections.abc import Callable

from tests.browser.scenes.base import LONG_WORD, PageScenario, fills, goes_as_staff, submits
from tests.support.visitor import PASSWORD, HttpVisitor


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


def decisions_about_the_own_account(scene: PageScenario) -> None:
    """Staff has folded a post and warned the account, which appeals one decision and writes the other appeal."""
    goes_as_staff("/ops/")(scene)
    with scene.site.redis() as client:
        client.hset(f"accounts:{{{_id(scene.own)}}}:account", "staff", "0")
        client.hset(f"accounts:{{{_id(scene.friend)}}}:account", "staff", "1")
    assert scene.friend.post("/accounts/login/", username=scene.friend.handle, password=PASSWORD).status_code == 200
    post = scene.own.publishes(LONG_WORD[:300])
    path = f"/ops/accounts/{_id(scene.own)}/act/"
    for fields in ({"kind": "fold_posts", "post": post["id"], "warning": "Words"}, {"kind": "warning"}):
        answer = scene.friend.post(path, text="Please read the rules.\n\n" + LONG_WORD[:200], **fields)
        assert answer.status_code == 200, answer.text
    folded = answer.json()["decision"]["id"]
    assert scene.own.post("/accounts/sanctions/", id=folded, text="I think that this is wrong.").status_code == 200
    scene.reader.go_to("/accounts/sanctions/")
    scene.reader.page.locator("main details > summary").first.click()


def appeals_to_decide(scene: PageScenario) -> None:
    decisions_about_the_own_account(scene)
    goes_as_staff("/ops/appeals/")(scene)


def a_form_of_a_decision(scene: PageScenario) -> None:
    """The form with errors beside its fields."""
    goes_as_staff("/ops/accounts/{friend}/act/?kind=fold_posts")(scene)
    with scene.reader.page.expect_navigation():
        scene.reader.page.locator(".ops form").evaluate("(form) => { form.text.value = ''; form.submit(); }")


def _id(person: HttpVisitor) -> str:
    return str(person.get(f"/@{person.handle}/")["account"]["id"])


def report_friend(scene: PageScenario) -> str:
    """Let the reader report the friend with a post, and return the id of the report."""
    posts = scene.own.get(f"/@{scene.friend.handle}/")["posts"]
    report = scene.own.post("/reports/new/", post=posts[0]["id"], category="spam", comment="w" * 300).json()
    return str(report["id"])


def a_report_form(scene: PageScenario) -> None:
    posts = scene.own.get(f"/@{scene.friend.handle}/")["posts"]
    scene.reader.go_to(f"/reports/new/?post={posts[0]['id']}")
    scene.reader.page.locator(".options-details > summary").first.click()


def own_reports(scene: PageScenario) -> None:
    report_friend(scene)
    scene.reader.go_to("/reports/")


def the_queue_of_reports(scene: PageScenario) -> None:
    report_friend(scene)
    goes_as_staff("/ops/reports/")(scene)


def a_report_that_staff_decides(scene: PageScenario) -> None:
    goes_as_staff(f"/ops/reports/{report_friend(scene)}/")(scene)


def a_consent(scene: PageScenario) -> None:
    """Open the page that asks whether an app may use the account."""
    app, uri = {"client_name": "An app", "scopes": "read write follow push"}, "urn:ietf:wg:oauth:2.0:oob"
    client_id = scene.own.http.post("/api/v1/apps", data={**app, "redirect_uris": uri}).json()["client_id"]
    query = f"response_type=code&client_id={client_id}&redirect_uri={uri}&scope=read+write+follow+push"
    scene.reader.go_to(f"/oauth/authorize?{query}")


def a_preview_of_an_import(scene: PageScenario) -> None:
    page = scene.reader.page
    scene.reader.go_to("/accounts/import/")
    page.locator("main select").select_option("following")
    accounts = f"{scene.friend.handle}\nnobody_by_this_name\n".encode()
    page.locator("#id_file").set_input_files({"name": "a.csv", "mimeType": "text/csv", "buffer": accounts})
    page.locator("main form:has(#id_file) button[type=submit]").click()
    page.locator("main button[formaction$='/confirm/']").wait_for()
