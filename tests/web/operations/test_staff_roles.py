"""The roles of staff over HTTP: every URL under /ops/ needs a right, and owners and admins give and take roles."""

import asyncio
import re
from typing import Any, get_args

import pytest
from django.urls import URLPattern

from accounts.roles import RIGHTS_BY_ROLE, ROLES, Right, Role
from socialsite.admin.audit_log import AuditLog
from socialsite.admin.menu import GROUPS
from socialsite.admin.urls import urlpatterns
from socialsite.container import Services
from socialsite.ids import AccountId
from tests.support.browser import HttpBrowser
from tests.support.routes import Route, routes
from tests.support.visitor import PASSWORD

RIGHTS_BY_NAME = {pattern.name: getattr(pattern.callback, "right", None) for pattern in urlpatterns}


async def staff_browser(site: Services, open_browser: Any, handle: str, role: Role) -> HttpBrowser:
    account = await site.accounts.sign_up(
        handle=handle, password=PASSWORD, now_ms=site.clock.now_ms(), allow_reserved=True
    )
    if role:
        await site.staff.set_role(AccountId(account.id), role)
    browser: HttpBrowser = await open_browser()
    assert (await browser.log_in(handle)).status_code == 200
    return browser


def right_of(route: Route) -> str:
    pattern: URLPattern
    (pattern,) = [each for each in urlpatterns if f"/ops/{each.pattern}" == route.pattern]
    return str(RIGHTS_BY_NAME[pattern.name])


def test_every_url_of_staff_names_its_right() -> None:
    assert [name for name, right in RIGHTS_BY_NAME.items() if right not in get_args(Right)] == []


@pytest.mark.parametrize("role", ["", *ROLES])
async def test_a_role_opens_exactly_the_urls_of_its_rights(site: Services, open_browser: Any, role: Role) -> None:
    site.rules.clear()
    await site.accounts.sign_up(handle="olga", password=None, now_ms=site.clock.now_ms(), staff=True)
    browser = await staff_browser(site, open_browser, "mona", role)
    rights = RIGHTS_BY_ROLE.get(role, frozenset())
    for route in routes():
        if not route.path.startswith("/ops/"):
            continue
        for method in route.methods & {"GET", "POST"}:
            headers = {"Accept": "application/json", "X-CSRFToken": browser.csrf_token}
            answer = await browser.http.request(method, route.path, headers=headers)
            refusal = answer.json().get("error") if answer.status_code in (403, 404) else None
            if not role:
                assert answer.status_code == 404, (method, route.path)
            elif right_of(route) in rights:
                assert refusal != "missing_right", (method, route.path)
            elif route.path == "/ops/":
                assert answer.headers["location"] in ("/ops/reports/", "/ops/accounts/")
            else:
                assert refusal == "missing_right", (method, route.path)


async def test_the_menu_contains_only_pages_that_the_role_may_open(site: Services, open_browser: Any) -> None:
    owner = await staff_browser(site, open_browser, "olga", "owner")
    moderator = await staff_browser(site, open_browser, "mona", "moderator")
    groups = {
        owner: ["/ops/reports/", "/ops/accounts/", "/ops/site/", "/ops/"],
        moderator: ["/ops/reports/", "/ops/accounts/", "/ops/trail/"],
    }
    for browser, pages in (
        (owner, ["/ops/accounts/", "/ops/applications/", "/ops/staff/"]),
        (moderator, ["/ops/accounts/", "/ops/applications/"]),
    ):
        page = (await browser.get("/ops/accounts/?q=nobody")).text
        menu = page[page.index('<nav aria-label="Operations"') :].partition("</nav>")[0]
        assert re.findall(r'<a href="([^"]+)"', menu) == [*groups[browser], *pages]
        current = re.findall(r'<a href="([^"]+)" aria-current="(\w+)"', menu)
        assert current == [("/ops/accounts/", "true"), (pages[0], "page")]


def test_each_page_of_staff_without_a_parameter_is_in_one_group_of_the_menu() -> None:
    opened = [each.path for each in routes() if each.pattern.startswith("/ops/") and "GET" in each.methods]
    in_menu = [page.path for _label, *pages in GROUPS for page in pages]
    assert sorted(in_menu) == sorted(path for path in opened if not any(map(str.isdigit, path)))


async def test_an_owner_gives_and_takes_a_role_at_once(site: Services, open_browser: Any, alice: HttpBrowser) -> None:
    owner = await staff_browser(site, open_browser, "olga", "owner")
    assert (await alice.get("/ops/trail/")).status_code == 404
    given = await owner.post_json("/ops/staff/", handle="@alice", role="moderator")
    assert {each["handle"]: each["role"] for each in given.json()["staff"]} == {"olga": "owner", "alice": "moderator"}
    assert (await alice.get("/ops/trail/")).status_code == 200
    assert (await owner.post("/ops/staff/", handle="alice", role="none")).status_code == 303
    assert (await alice.get("/ops/trail/")).status_code == 404, "with the same session"
    entries = (await AuditLog(site.store).search(10))[0]
    assert [(entry.action, entry.target, entry.detail) for entry in entries] == [
        ("role", "account:1", "role:none"),
        ("role", "account:1", "role:moderator"),
    ]


async def test_a_crash_between_the_list_and_its_copy_leaves_no_rights(site: Services, open_browser: Any) -> None:
    """The list has the new role, and the process died before it changed the account."""
    await staff_browser(site, open_browser, "olga", "owner")
    mona = await staff_browser(site, open_browser, "mona", "owner")
    await site.repositories.accounts.set_staff_role(AccountId(2), "owner", "moderator")
    assert [(await mona.get(path)).status_code for path in ("/ops/site/", "/ops/site/", "/ops/reports/")] == [
        404, 403, 200,
    ]  # fmt: skip
    await site.repositories.accounts.set_staff_role(AccountId(2), "moderator", "")
    assert [(await mona.get("/ops/reports/")).status_code for _ in range(2)] == [404, 404]
    assert (await site.accounts.get(AccountId(2))).role == ""


async def test_an_admin_changes_only_the_roles_of_moderators(site: Services, open_browser: Any) -> None:
    await site.accounts.sign_up(handle="olga", password=None, now_ms=site.clock.now_ms(), staff=True)
    await site.accounts.sign_up(handle="alice", password=None, now_ms=site.clock.now_ms())
    admin = await staff_browser(site, open_browser, "anna", "admin")
    assert (await admin.post_json("/ops/staff/", handle="alice", role="moderator")).status_code == 200
    for handle, role in (("alice", "admin"), ("alice", "owner"), ("olga", "none"), ("anna", "owner"), ("anna", "none")):
        assert (await admin.post_json("/ops/staff/", handle=handle, role=role)).status_code == 403, (handle, role)
    assert (await admin.post_json("/ops/staff/", handle="alice", role="none")).status_code == 200


async def test_wrong_input_is_reported_beside_its_field(site: Services, open_browser: Any) -> None:
    owner = await staff_browser(site, open_browser, "olga", "owner")
    for fields, name, typed in (
        ({"handle": "nobody", "role": "admin"}, "handle", "nobody"),
        ({"handle": "olga", "role": "king"}, "role", "olga"),
        ({"handle": "olga", "role": "none"}, "role", "olga"),
    ):
        answer = await owner.post("/ops/staff/", **fields)
        assert answer.status_code in (409, 422)
        assert f'aria-describedby="{name}-error"' in answer.text
        assert "field-wrong" in answer.text
        assert f'value="{typed}"' in answer.text
    assert "last owner" in answer.text


async def test_roles_passwords_and_deletions_need_a_confirmation(
    site: Services, open_browser: Any, alice: HttpBrowser, monkeypatch: Any
) -> None:
    owner = await staff_browser(site, open_browser, "olga", "owner")
    path = f"/ops/accounts/{(await site.accounts.get_by_handle('alice')).id}"
    monkeypatch.setattr("accounts.factors.step_up.STEP_UP_TTL_MS", 0)
    assert (await owner.get("/ops/staff/")).headers["location"].startswith("/accounts/confirm/")
    assert (await owner.post_json("/ops/staff/", handle="olga", role="none")).json()["error"] == "confirmation_needed"
    assert (await owner.post_json(f"{path}/password/")).json()["error"] == "confirmation_needed"
    deletion = await owner.post_json(f"{path}/act/", kind="delete", text="Deleted.")
    assert deletion.json()["error"] == "confirmation_needed"
    assert await alice.is_signed_in()


async def test_two_owners_who_remove_each_other_leave_one(site: Services, open_browser: Any) -> None:
    """Both requests pass the check of the role, then one of them comes second."""
    one = await staff_browser(site, open_browser, "olga", "owner")
    other = await staff_browser(site, open_browser, "otto", "owner")
    for _round in range(5):
        answers = await asyncio.gather(
            one.post_json("/ops/staff/", handle="otto", role="none"),
            other.post_json("/ops/staff/", handle="olga", role="none"),
        )
        assert sorted(answer.status_code for answer in answers) in ([200, 404], [200, 409], [200, 403])
        (owner,) = (await site.staff.list_roles()).keys()
        assert (await site.accounts.get(owner)).role == "owner"
        for account_id in (AccountId(1), AccountId(2)):
            await site.staff.set_role(account_id, "owner")


@pytest.mark.parametrize(("actor", "target"), [("moderator", "moderator"), ("moderator", "owner"), ("owner", "owner")])
async def test_staff_does_not_act_on_staff_of_the_same_or_a_higher_role(
    site: Services, open_browser: Any, actor: Role, target: Role
) -> None:
    await site.accounts.sign_up(handle="olga", password=None, now_ms=site.clock.now_ms(), staff=True)
    await staff_browser(site, open_browser, "otto", target)
    browser = await staff_browser(site, open_browser, "mona", actor)
    for action in ("suspend", "reinstate", "password", "sessions/end"):
        assert (await browser.post_json(f"/ops/accounts/2/{action}/")).status_code == 403
    if actor == "owner":
        assert (await browser.post_json("/ops/trends/", handle="otto", action="hold")).status_code == 403
    assert (await AuditLog(site.store).search(10))[0] == []
    assert (await site.accounts.get(AccountId(2))).is_active


async def test_a_moderator_gets_into_no_account(site: Services, open_browser: Any, alice: HttpBrowser) -> None:
    """With a password that the site shows, a moderator would read everything that members wrote for followers."""
    moderator = await staff_browser(site, open_browser, "mona", "moderator")
    admin = await staff_browser(site, open_browser, "adam", "admin")
    id = (await site.accounts.get_by_handle("alice")).id
    answer = await moderator.post_json(f"/ops/accounts/{id}/password/")
    assert (answer.status_code, answer.json()["error"]) == (403, "missing_right")
    assert await alice.is_signed_in()
    for browser, is_shown in ((moderator, False), (admin, True)):
        assert (f"/ops/accounts/{id}/password/" in (await browser.get(f"/ops/accounts/{id}/")).text) == is_shown
    assert (await admin.post_json(f"/ops/accounts/{id}/password/")).status_code == 200


async def test_a_decision_shows_staff_no_text_for_followers(
    site: Services, open_browser: Any, alice: HttpBrowser
) -> None:
    post = await alice.publish("canarysecret for followers", audience="followers")
    moderator = await staff_browser(site, open_browser, "mona", "moderator")
    id, fields = (await site.accounts.get_by_handle("alice")).id, {"kind": "fold_posts", "post": post["id"]}
    pages = [await moderator.get(f"/ops/accounts/{id}/act/?kind=fold_posts&post={post['id']}")]
    for extra in ({"preview": "1", "text": "x"}, {"text": ""}):
        pages.append(await moderator.post(f"/ops/accounts/{id}/act/", **fields, **extra))
    made = await moderator.post_json(f"/ops/accounts/{id}/act/", **fields, text="Folded.", warning="Sensitive")
    assert made.status_code == 200
    decision = {"id": made.json()["decision"]["id"], "text": "I think that this decision is wrong."}
    assert (await alice.post_json("/accounts/sanctions/", **decision)).status_code == 200
    for path in (f"/ops/accounts/{id}/", "/ops/appeals/", "/ops/trail/", "/ops/accounts/?q=alice"):
        pages += [await moderator.get(path), await moderator.get_json(path)]
    pages += [made, await moderator.post_json(f"/ops/accounts/{id}/sanctions/{decision['id']}/undo/")]
    assert [str(page.url) for page in pages if "canarysecret" in page.text] == []
    assert "canarysecret" in (await alice.get("/accounts/sanctions/")).text
