"""Decisions of staff over HTTP: what staff sends, what the person reads, and what others see after each of them."""

import re
import time
from collections.abc import Awaitable, Callable

import pytest

from accounts.accounts.service import AccountService
from accounts.sanctions.sanction import Sanction, SanctionId
from socialsite.admin.audit_log import OPERATOR, AuditLog
from socialsite.container import Services
from socialsite.ids import AccountId
from tests.support.browser import HttpBrowser
from tests.support.second_factors import set_up_totp
from tests.support.staff import open_staff
from tests.support.visitor import PASSWORD

OpenBrowser = Callable[[], Awaitable[HttpBrowser]]
APPEAL = "I think that this decision is wrong."


@pytest.fixture
async def sam(site: Services, open_browser: OpenBrowser) -> HttpBrowser:
    """The browser of Sam, a moderator."""
    return await open_staff(site, open_browser, "sam", "moderator")


async def _id(site: Services, handle: str) -> AccountId:
    account = await site[AccountService].find_by_handle(handle)
    assert account is not None
    return AccountId(account.id)


async def _act(sam: HttpBrowser, account_id: int, kind: str, **fields: object) -> str:
    answer = await sam.post_json(f"/ops/accounts/{account_id}/act/", kind=kind, text="Please be kind.", **fields)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["decision"]["id"])


async def _seen_by(*browsers: HttpBrowser) -> list[tuple[bool, bool]]:
    """Return whether each sees the post on the profile, and on the public timeline."""
    seen = []
    for each in browsers:
        profile, public = (await each.get("/@newcomer/")).text, (await each.get("/public/")).text
        seen.append(("you are all fools" in profile, "you are all fools" in public))
    return seen


async def test_a_newcomer_is_limited_warned_and_suspended_and_reads_why(
    site: Services, sam: HttpBrowser, open_browser: OpenBrowser
) -> None:
    """The drill of two persons: at each step a follower, a stranger and the newcomer see what they should."""
    newcomer, reader, follower, stranger = [await open_browser() for _ in range(4)]
    for browser, handle in ((newcomer, "newcomer"), (reader, "reader"), (follower, "follower")):
        assert (await browser.sign_up(handle)).status_code == 201
    id = await _id(site, "newcomer")
    assert (await follower.post_json("/@newcomer/follow/")).status_code == 200
    post = await newcomer.publish("you are all fools #fools")
    assert await _seen_by(reader, stranger, follower, newcomer) == [(True, True)] * 4
    limit = await _act(sam, id, "limit")
    await _act(sam, id, "warning")
    assert await _seen_by(reader, stranger) == [(False, False)] * 2
    assert [profile for profile, _ in await _seen_by(follower, newcomer)] == [True, True]
    notice = "decided something about your account"
    assert notice in (await newcomer.get("/")).text
    assert notice not in (await reader.get("/")).text
    page = (await newcomer.get("/accounts/sanctions/")).text
    assert page.count("Please be kind.") == 2
    assert "@sam" not in page
    assert notice not in (await newcomer.get("/")).text
    assert (await newcomer.post("/accounts/sanctions/", id=limit, text="No.")).status_code == 422
    assert (await newcomer.post("/accounts/sanctions/", id=limit, text=APPEAL)).status_code == 303
    mia = await open_staff(site, open_browser, "mia", "moderator")
    assert APPEAL in (await mia.get("/ops/appeals/")).text
    decision = f"/ops/accounts/{id}/sanctions/{limit}/decide/"
    assert (await sam.post(decision, decision="refuse", answer="It is right.")).status_code == 403
    refused = await mia.post(decision, decision="refuse", answer="")
    assert (refused.status_code, len(re.findall("<textarea[^>]* autofocus", refused.text))) == (422, 1)
    assert (await mia.post(decision, decision="accepted", answer="It is right.")).status_code == 422
    assert (await mia.post(decision, decision="refuse", answer="It is right.")).status_code == 303
    assert "It is right." in (await newcomer.get("/accounts/sanctions/")).text
    suspension = await _act(sam, id, "suspend")
    assert [(await each.get("/@newcomer/")).status_code for each in (reader, stranger, follower)] == [404] * 3
    assert (await reader.get(f"/@newcomer/{post['id']}/")).status_code == 404
    assert (await newcomer.get("/accounts/sanctions/")).status_code == 303  # to the log-in
    assert (await sam.post(f"/ops/accounts/{id}/sanctions/{suspension}/undo/")).status_code == 303
    assert (await reader.get("/@newcomer/")).status_code == 200
    actions = [entry.action for entry in (await AuditLog(site.store).search(10))[0]]
    assert actions == ["undo", "suspend", "appeal_refused", "warning", "limit"]


def _token(page: str) -> str:
    match = re.search(r'name="token" value="([^"]+)"', page)
    assert match is not None
    return match[1]


@pytest.mark.parametrize("has_factor", [False, True])
async def test_a_suspended_person_reads_why_after_the_right_password_and_factor_and_appeals(
    site: Services, sam: HttpBrowser, alice: HttpBrowser, open_browser: OpenBrowser, has_factor: bool
) -> None:
    device = await set_up_totp(alice, site.clock) if has_factor else None
    id = await _id(site, "alice")
    made = await _act(sam, id, "suspend")
    visitor = await open_browser()
    wrong = await visitor.post("/accounts/login/", username="alice", password="wrong one 7")
    assert "Please be kind." not in wrong.text
    answer = await visitor.post("/accounts/login/", username="alice", password=PASSWORD)
    if device is not None:
        assert (answer.status_code, answer.headers["Location"]) == (303, "/accounts/login/factor/")
        assert "Please be kind." not in (await visitor.get("/accounts/login/factor/")).text
        answer = await visitor.post("/accounts/login/factor/", code=device.recovery_codes[0])
    assert answer.status_code == 401
    assert "Please be kind." in answer.text
    assert (await visitor.get("/accounts/")).status_code == 303  # there is no session
    token = _token(answer.text)
    assert (await visitor.post("/accounts/suspended/", token=token, id=made, text="No.")).status_code == 401
    assert (await visitor.post("/accounts/suspended/", token=token + "x", id=made, text=APPEAL)).status_code == 303
    sent = await visitor.post("/accounts/suspended/", token=token, id=made, text=APPEAL)
    assert (sent.status_code, "Your appeal is stored." in sent.text) == (200, True)
    page = (await sam.get("/ops/appeals/")).text
    assert APPEAL in page
    assert page.count('<span class="count">1</span>') == 2, "the menu shows how many wait"
    refused = await visitor.post_json("/accounts/login/", username="alice", password=PASSWORD)
    assert (refused.status_code, "suspended" in refused.json()["message"]) == (401, True)
    assert (await sam.post(f"/ops/accounts/{id}/sanctions/{made}/undo/")).status_code == 303
    assert "This decision was taken back." in (await sam.get("/ops/appeals/")).text


async def test_the_page_of_an_account_names_others_that_logged_in_from_its_networks(
    site: Services, sam: HttpBrowser, alice: HttpBrowser, bob: HttpBrowser
) -> None:
    path, bob_id = f"/ops/accounts/{await _id(site, 'alice')}/", await _id(site, "bob")
    assert f'<a href="/ops/accounts/{bob_id}/"><bdi>@bob</bdi></a>' in (await sam.get(path)).text
    assert str(bob_id) in (await sam.get_json(path)).json()["sharing_networks"]


async def test_the_form_shows_the_text_to_start_from_a_preview_and_errors(
    site: Services, sam: HttpBrowser, alice: HttpBrowser
) -> None:
    id, post = await _id(site, "alice"), await alice.publish("a spider")
    path = f"/ops/accounts/{id}/act/"
    form = (await sam.get(f"{path}?kind=fold_posts&report=7")).text
    assert "so that everybody can choose" in form
    german = (await sam.get(f"{path}?kind=warning", **{"Accept-Language": "de"})).text
    assert "verstößt gegen die Regeln dieser Website" in german  # the language of mails is unknown
    assert 'name="report" value="7"' in form
    assert f'name="post" value="{post["id"]}"' in form
    secret = await alice.publish("for followers only", audience="followers")
    hidden = (await sam.get(f"{path}?kind=fold_posts&post={secret['id']}")).text
    assert f'name="post" value="{secret["id"]}" checked' in hidden
    assert "for followers only" not in hidden
    fields = {"kind": "silence", "text": "Hush.", "duration": "7d", "id": "77"}
    preview = await sam.post(path, preview="1", **fields)
    assert (preview.status_code, "What the person receives" in preview.text) == (200, True)
    unknown_kind = [await sam.get(path), await sam.get(f"{path}?kind=x"), await sam.post(path, text="x")]
    for answer in unknown_kind:
        assert (answer.status_code, 'id="kind-error" role="alert">This is not one' in answer.text) == (422, True)
    wrong = await sam.post(path, kind="fold_posts", text="x")
    assert (wrong.status_code, "Please choose at least one post." in wrong.text) == (422, True)
    assert await site.repositories.sanctions.list_all(id) == []
    for _ in range(2):
        answer = await sam.post(path, **fields, next=f"{path}?kind=silence")
        assert (answer.status_code, answer.headers["location"]) == (303, f"/ops/accounts/{id}/")
    empty_note = await sam.post(path, kind="note", text="")
    assert (empty_note.status_code, "Send and apply" in empty_note.text) == (422, False)
    assert (await sam.post(path, kind="note", text="Has two accounts.")).status_code == 303
    assert [each.kind for each in await site.repositories.sanctions.list_all(id)] == ["note", "silence"]
    account_page = (await sam.get(f"/ops/accounts/{id}/")).text
    assert "Has two accounts." in account_page
    assert "Account silenced" in account_page
    assert "Has two accounts." not in (await alice.get("/accounts/sanctions/")).text


async def test_a_deletion_needs_a_suspension(site: Services, sam: HttpBrowser, alice: HttpBrowser) -> None:
    id = await _id(site, "alice")
    path = f"/ops/accounts/{id}/act/"
    assert (await sam.post_json(path, kind="delete", text="Deleted.")).status_code == 409
    await _act(sam, id, "suspend")
    assert (await sam.post_json(path, kind="delete", text="Deleted.")).status_code == 200
    account = await site.accounts.find(id)
    assert account is not None
    assert account.state == "deleted"


async def test_the_audit_log_is_searched_by_actor_target_action_and_day(
    site: Services, sam: HttpBrowser, alice: HttpBrowser, bob: HttpBrowser
) -> None:
    for handle, kind in (("alice", "note"), ("alice", "warning"), ("bob", "note")):
        await _act(sam, await _id(site, handle), kind)

    async def count(query: str) -> int:
        return len((await sam.get_json(f"/ops/trail/?{query}")).json()["entries"])

    searches = ("", "by=sam", "by=@alice", "target=alice", "target=alice&action=note", "until=2001-01-01")
    assert [await count(query) for query in searches] == [3, 3, 0, 2, 1, 0]
    assert await count("since=2001-01-01") == 3
    await AuditLog(site.store).record(OPERATOR, "role", "account:1")
    assert [await count(f"by={name}") for name in ("manage.py", "nobody")] == [1, 0]
    assert await count("target=nobody") == 0
    assert [await count(query) for query in ("since=0001-01-01", "until=0001-01-01")] == [4, 0]
    assert (await sam.get("/ops/trail/?since=yesterday")).status_code == 400
    assert "sanction:" in (await sam.get("/ops/trail/?target=bob")).text


@pytest.mark.nightly
async def test_the_page_of_an_account_with_everything_takes_less_than_50_ms_of_cpu(
    site: Services, sam: HttpBrowser, alice: HttpBrowser
) -> None:
    """A thousand reports, 200 decisions with long texts, and 100 posts. The time includes the client of the test."""
    id, now_ms = await _id(site, "alice"), site.clock.now_ms()
    reporters = await site.accounts.import_accounts(handles=[f"r{n}" for n in range(1_000)], now_ms=now_ms)
    for reporter_id in reporters.values():
        await site.reports.report(reporter_id=reporter_id, target_id=id, category="spam", comment="x" * 500)
    for number in range(100):
        await site.publishing.publish(author_id=id, text=f"post {number} " + "word " * 50, now_ms=now_ms)
    for number in range(1, 201):
        sanction = Sanction("warning", SanctionId(number), id, AccountId(1), "word " * 400, now_ms)
        await site.repositories.sanctions.add(sanction, is_news=False)
    times = []
    for _ in range(5):
        started = time.process_time()
        page = await sam.get(f"/ops/accounts/{id}/")
        times.append(time.process_time() - started)
        assert "1,000 reports about this account" in page.text
    assert min(times) < 0.05, times


async def test_an_account_whose_owner_has_requested_its_deletion_can_be_suspended(
    site: Services, alice: HttpBrowser, sam: HttpBrowser
) -> None:
    """Its owner could come back otherwise. Staff does not take the deletion back."""
    site.accounts.deletion_grace_ms = 60_000
    await alice.post("/accounts/delete/", password=PASSWORD)
    account_id = await _id(site, "alice")
    page = (await sam.get(f"/ops/accounts/{account_id}/")).text
    assert ('name="kind" value="suspend"' in page, "/reinstate/" in page) == (True, False)
    await _act(sam, account_id, "suspend")
    page = (await sam.get(f"/ops/accounts/{account_id}/")).text
    assert ('name="kind" value="suspend"' in page, "/reinstate/" in page) == (False, True)
    await alice.post("/accounts/login/", username="alice", password=PASSWORD, keep="on")
    assert not await alice.is_signed_in()


async def test_staff_reads_no_notes_and_no_reports_about_the_own_account(
    site: Services, alice: HttpBrowser, sam: HttpBrowser, open_browser: OpenBrowser
) -> None:
    """Sam was a member when an owner wrote a note, and a report names the rule that Sam broke."""
    olga, sam_id = await open_staff(site, open_browser, "olga", "owner"), await _id(site, "sam")
    await site.site.change(rules=("Be kind",))
    fields = {"category": "violation", "rules": "0", "account": str(sam_id)}
    report_id = (await alice.post_json("/reports/new/", **fields)).json()["id"]
    note = {"kind": "note", "text": "Canary told us of this"}
    assert (await olga.post_json(f"/ops/accounts/{sam_id}/act/", **note)).status_code == 200
    paths = [f"/ops/accounts/{sam_id}/{path}" for path in ("", f"act/?kind=warning&report={report_id}")]
    for browser, is_shown in ((olga, True), (sam, False)):
        text = "".join([(await browser.get(path)).text + (await browser.get_json(path)).text for path in paths])
        assert ("Canary told" in text, 'value="Be kind" checked' in text) == (is_shown, is_shown)
