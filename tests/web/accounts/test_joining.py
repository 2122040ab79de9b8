"""Sign-up by the mode of the site, over HTTP: forms, the page of an applicant, invitations, decisions of staff."""

import re
from typing import Any

import httpx
import pytest

from socialsite.asgi import application
from socialsite.container import Services
from socialsite.ids import AccountId
from socialsite.limits import NEWCOMER_FOLLOWS_PER_DAY
from socialsite.recipes.rate_limit import Rule
from tests.support.api import ApiClient, create_token
from tests.support.browser import HttpBrowser
from tests.support.second_factors import set_up_totp
from tests.support.staff import open_staff
from tests.support.visitor import PASSWORD
from tests.web.conftest import OpenBrowser
from timelines.publishing.content_rules import NEWCOMER_MENTIONS_CAP

REASON = "I would like to talk about trains with others."


@pytest.fixture
async def sam(site: Services, open_browser: OpenBrowser) -> HttpBrowser:
    """The browser of Sam, an owner of the site."""
    return await open_staff(site, open_browser)


async def apply(visitor: HttpBrowser, handle: str = "nora", **fields: str) -> Any:
    values = {"handle": handle, "password1": PASSWORD, "password2": PASSWORD, "reason": REASON, **fields}
    return await visitor.post("/accounts/signup/", **values)


async def id_of(site: Services, handle: str) -> AccountId:
    account = await site.accounts.find_by_handle(handle)
    assert account is not None
    return AccountId(account.id)


async def test_a_closed_site_shows_a_sentence_and_no_form(site: Services, visitor: HttpBrowser) -> None:
    await site.site.change(joining="closed")
    for answer in (await visitor.get("/accounts/signup/"), await apply(visitor)):
        assert answer.status_code == 403
        assert "accepts no new accounts" in answer.text
        assert 'name="password1"' not in answer.text
    answer = await visitor.post_json("/accounts/signup/", handle="nora", password1=PASSWORD, password2=PASSWORD)
    assert (answer.status_code, answer.json()["error"]) == (403, "sign_up_closed")
    for path in ("/", "/accounts/login/"):
        assert "/accounts/signup/" not in (await visitor.get(path)).text


async def test_an_applicant_sees_only_the_page_of_the_application(site: Services, visitor: HttpBrowser) -> None:
    await site.site.change(joining="approval")
    form = (await visitor.get("/accounts/signup/")).text
    assert 'name="reason"' in form
    assert "You only need a handle and a password." not in form
    assert (await apply(visitor, reason="short")).status_code == 422
    answer = await apply(visitor)
    assert (answer.status_code, answer.headers["location"]) == (303, "/accounts/waiting/")
    page = await visitor.get("/accounts/waiting/")
    assert page.status_code == 200
    assert "waits for approval" in page.text
    assert not await visitor.is_signed_in()
    assert (await visitor.get("/@nora/")).status_code == 404
    for path in ("/", "/accounts/", "/accounts/mail/", "/notifications/", "/drafts/"):
        answer = await visitor.get(path)
        assert answer.status_code == 303 or "/accounts/login/" in answer.text, path
    assert (await visitor.post("/posts/", text="hello")).status_code in (303, 401)


async def test_an_applicant_logs_in_to_the_same_page_and_can_withdraw(
    site: Services, visitor: HttpBrowser, open_browser: OpenBrowser
) -> None:
    await site.site.change(joining="approval")
    await apply(visitor)
    other = await open_browser()
    answer = await other.post("/accounts/login/", username="nora", password=PASSWORD)
    assert (answer.status_code, answer.headers["location"]) == (303, "/accounts/waiting/")
    answer = await other.post_json("/accounts/login/", username="nora", password=PASSWORD)
    assert (answer.status_code, answer.json()["error"]) == (401, "account_waiting")
    answer = await other.post_json("/accounts/login/", username="nora", password="wrong " + PASSWORD)
    assert answer.json()["error"] == "wrong_login"
    assert (await other.post("/accounts/waiting/")).status_code == 303
    answer = await other.post_json("/accounts/login/", username="nora", password=PASSWORD)
    assert answer.json()["error"] == "wrong_login"
    assert (await other.get("/accounts/waiting/")).status_code == 303


async def test_a_password_without_the_second_factor_withdraws_nothing(
    site: Services, alice: HttpBrowser, open_browser: OpenBrowser
) -> None:
    device, thief = await set_up_totp(alice, site.clock), await open_browser()
    assert (await thief.log_in("alice")).json()["error"] == "factor_needed"
    assert (await thief.post_json("/accounts/waiting/")).status_code == 409
    assert (await thief.post("/accounts/waiting/")).headers["location"] == "/accounts/waiting/"
    owner = await open_browser()
    assert (await owner.log_in("alice")).json()["error"] == "factor_needed"
    answer = await owner.post_json("/accounts/login/factor/", code=device.recovery_codes[0])
    assert answer.json()["account"]["handle"] == "alice"


async def test_staff_approves_several_and_refuses_with_a_text(
    site: Services, visitor: HttpBrowser, open_browser: OpenBrowser, sam: HttpBrowser
) -> None:
    await site.site.change(joining="approval")
    browsers = {name: await open_browser() for name in ("nora", "otto", "pia")}
    for name, browser in browsers.items():
        await apply(browser, name)
    page = await sam.get("/ops/applications/")
    assert REASON in page.text
    assert "@nora" in page.text
    data = (await sam.get_json("/ops/applications/")).json()["applications"]
    assert [row["handle"] for row in data] == ["nora", "otto", "pia"]
    assert data[0]["network_count"] == 3
    ids = [str(await id_of(site, name)) for name in browsers]
    fields = [("account", ids[0]), ("account", ids[1]), ("decision", "approve")]
    assert (await sam.post_json("/ops/applications/", **{"account[]": ids[:2], "decision": "approve"})).json() == {
        "decided": 2, "errors": [],
    }, fields  # fmt: skip
    assert REASON in (await sam.get(f"/ops/accounts/{ids[0]}/")).text
    assert (await sam.get_json(f"/ops/accounts/{ids[0]}/")).json()["application"] == REASON
    assert "is approved" in (await browsers["nora"].get("/accounts/waiting/")).text
    assert (await browsers["nora"].log_in("nora")).status_code == 200
    answer = await sam.post("/ops/applications/", account=ids[2], decision="refuse")
    assert (answer.status_code, 'id="decision-error"' in answer.text) == (422, True)
    assert re.search(rf'value="{ids[2]}" id="account-{ids[2]}" checked', answer.text)
    answer = await sam.post("/ops/applications/", decision="refuse", text="Words that are <kept>")
    assert (answer.status_code, "Words that are &lt;kept&gt;</textarea>" in answer.text) == (422, True)
    assert 'role="alert"><p>Tick the applicants to approve.' in answer.text
    assert 'id="decision-error"' not in answer.text
    answer = await sam.post("/ops/applications/", account=ids[2], decision="refuse", text="<b>Too short</b>")
    assert answer.status_code == 303
    page = await browsers["pia"].get("/accounts/waiting/")
    assert "&lt;b&gt;Too short&lt;/b&gt;" in page.text
    answer = await sam.post_json("/ops/applications/", account=ids[2], decision="approve")
    assert answer.status_code == 409
    assert "@sam" in answer.json()["message"]
    assert (await sam.get_json("/ops/applications/")).json()["applications"] == []


async def test_a_member_invites_and_staff_sees_the_tree(
    site: Services, visitor: HttpBrowser, alice: HttpBrowser, sam: HttpBrowser
) -> None:
    await site.site.change(joining="invitation")
    assert (await alice.get("/accounts/invitations/")).status_code == 403
    await site.site.change(members_invite=True)
    for uses in ("0", "101", "x"):
        refused = await alice.post_json("/accounts/invitations/", uses=uses, days="7")
        assert refused.json()["fields"]["uses"] == "Enter a number from 1 to 100."
    answer = await alice.post_json("/accounts/invitations/", uses="1", days="7", note="for Nora")
    assert answer.status_code == 201
    path = answer.json()["url"].partition("testserver")[2] or "/" + answer.json()["url"].split("/", 3)[3]
    page = await visitor.get(path)
    assert "@alice invites you" in page.text
    assert 'name="reason"' not in page.text
    assert (await visitor.get("/invite/nonsense/")).status_code == 404
    answer = await apply(visitor, invitation=path.split("/")[2])
    assert (answer.status_code, answer.headers["location"]) == (303, "/welcome/")
    assert (await visitor.get(path)).status_code == 404  # used up
    (row,) = (await alice.get_json("/accounts/invitations/")).json()["invitations"]
    assert row["handles"] == ["nora"]
    assert "@nora" in (await alice.get("/accounts/invitations/")).text
    alice_id, nora_id = await id_of(site, "alice"), await id_of(site, "nora")
    tree = (await sam.get_json(f"/ops/invitations/{alice_id}/")).json()
    assert [each["handle"] for each in tree["invitations"][0]["invited"]] == ["nora"]
    tree = (await sam.get_json(f"/ops/invitations/{nora_id}/")).json()
    assert [each["handle"] for each in tree["inviters"]] == ["alice"]
    assert "@nora" in (await sam.get(f"/ops/invitations/{alice_id}/")).text


async def test_staff_publishes_a_held_post(site: Services, alice: HttpBrowser, sam: HttpBrowser) -> None:
    await site.site.change(holds_first_links=True)
    answer = await alice.post("/posts/", text="see https://example.com/offer")
    assert (answer.status_code, answer.headers["location"]) == (303, "/drafts/")
    assert "Waits for a look" in (await alice.get("/drafts/")).text
    answer = await alice.post_json("/posts/", text="see https://example.com/second")
    assert (answer.status_code, answer.json()["held"]) == (202, True)
    assert "waits for a look" in answer.json()["message"]
    assert "https://example.com/offer" in (await sam.get("/ops/held/")).text
    first, second = (await sam.get_json("/ops/held/")).json()["posts"]
    assert (await sam.post("/ops/held/", post=first["id"], decision="approve")).status_code == 303
    assert (await sam.post("/ops/held/", post=second["id"], decision="refuse", text="Only one.")).status_code == 303
    await site.drafts.publish_due()
    assert "https://example.com/offer" in (await sam.get("/@alice/")).text
    assert "Only one." in (await alice.get("/drafts/")).text
    assert (await sam.post_json("/ops/held/", post=first["id"], decision="approve")).status_code == 404


async def test_new_accounts_have_a_third_of_the_limits_and_read_until_when(site: Services, alice: HttpBrowser) -> None:
    await site.site.change(newcomer_days=3)
    handles = " ".join(f"@person{n}" for n in range(NEWCOMER_MENTIONS_CAP + 1))
    answer = await alice.post_json("/posts/", text=handles)
    assert answer.status_code == 422
    assert "new accounts" in answer.json()["fields"]["text"].lower()
    site.rules["post"] = Rule("post", 9)
    statuses = [(await alice.post_json("/posts/", text=f"post {n}")).status_code for n in range(4)]
    assert statuses == [201, 201, 201, 429]
    answer = await alice.post_json("/posts/", text="one more")
    assert "Lower limits apply to new accounts" in answer.json()["message"]
    await site.site.change(newcomer_days=0)
    assert (await alice.post_json("/posts/", text=handles)).status_code == 201


async def test_a_new_account_follows_fifty_accounts_a_day_on_pages_and_in_apps_together(
    site: Services, alice: HttpBrowser, open_browser: OpenBrowser
) -> None:
    site.rules.clear()
    handles = [f"member{number}" for number in range(NEWCOMER_FOLLOWS_PER_DAY + 2)]
    ids = await site.accounts.import_accounts(handles=handles, now_ms=site.clock.now_ms())
    await site.site.change(newcomer_days=3)
    client = ApiClient(application, token=await create_token(site, "alice", "write"))

    async def follow(number: int) -> httpx.Response:
        if number % 2:
            return await client.http.post(f"/api/v1/accounts/{ids[handles[number]]}/follow")
        return await alice.post_json(f"/@{handles[number]}/follow/")

    answers = [await follow(number) for number in range(NEWCOMER_FOLLOWS_PER_DAY + 2)]
    assert [answer.status_code for answer in answers] == [200] * NEWCOMER_FOLLOWS_PER_DAY + [429] * 2
    for answer in answers[-2:]:
        assert "Lower limits apply to new accounts" in answer.text
    assert (await alice.post_json(f"/@{handles[0]}/unfollow/")).status_code == 200
    assert (await follow(-2)).status_code == 429  # an unfollow gives nothing back
    await alice.post("/welcome/people/", follow=handles[-1])
    assert await site.repositories.follows.following_count(AccountId(1)) == NEWCOMER_FOLLOWS_PER_DAY - 1
    await site.site.change(newcomer_days=0)
    assert (await follow(-2)).status_code == 200
