"""Two persons and the staff: an abusive newcomer is limited, warned, appeals, and is suspended.

At each step a follower, a reader and a visitor see on their pages, in the API and on an open page what they should.
"""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenReader, SignUpVisitor
from tests.support.chromium import BrowserPage
from tests.support.sites import QuickstartSite
from tests.support.visitor import PASSWORD, HttpVisitor

pytestmark = pytest.mark.nightly
APPEAL = "I think that this decision is wrong, because it was a joke."


def press(page: BrowserPage, name: str) -> None:
    with page.page.expect_navigation():
        page.page.locator("main").get_by_role("button", name=name, exact=True).first.click()


def decide(staff: BrowserPage, account_id: str, kind: str, text: str, *, is_reported: bool = False) -> None:
    """Choose a decision on the page of the account, look at the preview, and do it. It may answer the open report."""
    if is_reported:
        staff.go_to("/ops/reports/")
        staff.page.locator("main tbody a[href^='/ops/reports/']").last.click()
        staff.page.get_by_role("link", name="Decide").click()
    else:
        staff.go_to(f"/ops/accounts/{account_id}/")
    staff.page.get_by_label(kind, exact=True).check()
    press(staff, "Continue")
    staff.page.get_by_label("What the person reads").fill(text)
    press(staff, "Preview")
    expect(staff.page.locator("blockquote")).to_contain_text(text)
    press(staff, "Send and apply")
    expect(staff.page.locator(".flash")).to_contain_text("The person is told.")


def sees(page: BrowserPage, text: str, *paths: str) -> list[bool]:
    seen = []
    for path in paths:
        page.go_to(path)
        seen.append(page.page.locator("main").get_by_text(text).count() > 0)
    return seen


def make_staff(site: QuickstartSite, *people: HttpVisitor) -> None:
    with site.redis() as client:
        for each in people:
            client.hset(f"accounts:{{{each.get(f'/@{each.handle}/')['account']['id']}}}:account", "staff", "1")


def reads(person: HttpVisitor, profile: str) -> bool:
    """Return whether the JSON of the profile contains the first post of the newcomer."""
    answer = person.http.get(profile, headers={"Accept": "application/json"})
    return answer.status_code == 200 and "nasty first words" in answer.text


def report(reporter: BrowserPage, post_id: str) -> None:
    reporter.go_to(f"/reports/new/?post={post_id}")
    reporter.page.get_by_role("radio", name="Spam").check()
    with reporter.page.expect_navigation():
        reporter.page.get_by_role("button", name="Send the report").click()


def open_decisions(own: BrowserPage) -> None:
    own.go_to("/")
    own.page.get_by_role("link", name="Read the decision").click()


def appeal(own: BrowserPage, decision: str) -> None:
    article = own.page.locator("article", has_text=decision)
    article.locator("summary").click()
    article.get_by_label("Why is this decision wrong?").fill(APPEAL)
    press(own, "Send the appeal")
    expect(own.page.locator("main")).to_contain_text("Staff has not answered yet.")


def refuse_appeal(staff: BrowserPage, answer: str) -> None:
    staff.go_to("/ops/appeals/")
    item = staff.page.locator(".letters > li", has_text=APPEAL)
    item.get_by_label("Your answer").fill(answer)
    with staff.page.expect_navigation():
        item.get_by_role("button", name="Refuse the appeal").click()


def log_in_suspended(own: BrowserPage, handle: str, text: str) -> None:
    """Log in. The page shows the decision with its text."""
    own.go_to("/accounts/login/")
    own.page.locator("main [name=username]").fill(handle)
    own.page.locator("main [name=password]").fill(PASSWORD)
    press(own, "Log in")
    expect(own.page.locator("h1")).to_have_text("Your account is suspended")
    expect(own.page.locator("main")).to_contain_text(text)


def test_an_abusive_newcomer_is_limited_warned_and_suspended_and_appeals(
    site: QuickstartSite, reader: OpenReader, visitor: SignUpVisitor
) -> None:
    newcomer, abused, follower, staff, judge = (visitor() for _ in range(5))
    account_id = newcomer.get(f"/@{newcomer.handle}/")["account"]["id"]
    make_staff(site, staff, judge)
    follower.follows(newcomer.handle)
    post = newcomer.publishes("nasty first words")
    pages = {"abused": reader(abused), "follower": reader(follower), "visitor": reader()}
    profile, search = f"/@{newcomer.handle}/", "/search/?q=nasty"
    for page in pages.values():
        page.wait_for(lambda page=page: all(sees(page, "nasty first words", profile, "/public/", search)))
    boss, own = reader(staff), reader(newcomer)
    report(pages["abused"], post["id"])
    pages["abused"].go_to_live("/public/")
    pages["follower"].go_to_live("/")
    decide(boss, account_id, "Account limited", "You insult people. Only followers see you.", is_reported=True)
    assert sees(pages["abused"], "We have acted on this report", "/reports/") == [True]
    pages["abused"].go_to_live("/public/")
    newcomer.publishes("nasty second words")
    expect(pages["follower"].pill).to_be_visible()  # the live message has arrived
    visitor().publishes("friendly words")
    expect(pages["abused"].pill).to_contain_text("1 new post")
    for name in ("abused", "visitor"):
        assert sees(pages[name], "nasty", profile, "/public/", search) == [False] * 3
    assert sees(pages["follower"], "nasty second words", "/", profile) == [True, True]
    assert [reads(each, profile) for each in (abused, visitor(), follower)] == [False, False, True]
    decide(boss, account_id, "Warning", "Please read the rules again.")
    open_decisions(own)
    expect(own.page.locator("article h2")).to_have_text(["Warning", "Account limited"])
    assert staff.handle not in own.page.content()
    appeal(own, "Account limited")
    refuse_appeal(reader(judge), "It was no joke for others.")
    own.go_to("/accounts/sanctions/")
    expect(own.page.locator("main")).to_contain_text("It was no joke for others.")
    own.go_to_live("/")
    decide(boss, account_id, "Account suspended", "You went on. Your account is suspended.")
    for page in pages.values():
        assert sees(page, "nasty", "/", "/public/", search, profile) == [False] * 4
    assert not reads(follower, profile)
    log_in_suspended(own, newcomer.handle, "You went on. Your account is suspended.")
    boss.go_to("/ops/trail/?target=" + newcomer.handle)
    expect(boss.page.locator("tbody tr")).to_have_count(4)
