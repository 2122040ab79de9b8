"""Texts of settings, decisions, reports and applications are shown as text on every page, and never as markup."""

import pytest
from httpx import Response

from socialsite.container import Services
from tests.support.browser import HttpBrowser
from tests.support.routes import routes
from tests.support.staff import open_staff
from tests.support.visitor import PASSWORD
from tests.web.conftest import OpenBrowser

MARKUP = "<img src=x onerror=alert(1)><svg/onload=alert(2)>\"'><script>canary</script>"
RAW = ("<img src=x", "<svg/onload", "<script>canary", "javascript:alert")
LINK = "[x](javascript:alert(3)) javascript:alert(3)"
TEXT = f"{MARKUP} {LINK}"


@pytest.fixture
async def sam(site: Services, open_browser: OpenBrowser) -> HttpBrowser:
    return await open_staff(site, open_browser)


def contains_markup(page: Response, raw: str) -> bool:
    is_html = page.headers.get("content-type", "").startswith("text/html")
    return is_html and (raw in page.text if raw.startswith("<") else f'href="{raw}' in page.text)


async def set_texts(site: Services) -> None:
    site.rules.clear()
    await site.site.change(
        name=MARKUP[:28], description=TEXT, contact=TEXT, rules=[TEXT], welcome=TEXT, about=TEXT, privacy=TEXT,
        terms=TEXT, members_invite=True, holds_first_links=True, blocked_words=[MARKUP[:90]], held_hashtags=["<img"],
    )  # fmt: skip
    await site.site.announce(TEXT, starts_ms=0, ends_ms=0, now_ms=site.clock.now_ms())


async def decide_with_texts(sam: HttpBrowser, act: str, post_id: str) -> str:
    """Send decisions of three kinds. Return the id of the last one."""
    fold = {"post": post_id, "warning": TEXT}
    for kind, more in (("note", {}), ("warning", {"rule": TEXT}), ("fold_posts", fold)):
        answer = await sam.post_json(act, kind=kind, text=TEXT, **more)
        assert answer.status_code == 200
    return str(answer.json()["decision"]["id"])


async def apply_for_an_account(site: Services, open_browser: OpenBrowser) -> HttpBrowser:
    await site.site.change(joining="approval")
    applicant = await open_browser()
    await applicant.fetch_csrf_token()
    fields = {"handle": "nora", "password1": PASSWORD, "password2": PASSWORD, "reason": TEXT}
    assert (await applicant.post_json("/accounts/signup/", **fields)).status_code == 202
    return applicant


async def test_no_text_of_staff_or_to_staff_is_markup(
    site: Services, sam: HttpBrowser, alice: HttpBrowser, open_browser: OpenBrowser
) -> None:
    await set_texts(site)
    visitor, bob = await open_browser(), await open_browser("bob")
    alice_id = (await site.accounts.get_by_handle("alice")).id
    post = await alice.publish("hello")
    assert (await alice.post_json("/posts/", text=f"{LINK} https://example.com {MARKUP[:40]}")).status_code == 202
    assert (await alice.post_json("/accounts/invitations/", uses="1", days="7", note=MARKUP[:60])).status_code == 201
    made = await bob.post_json("/reports/new/", post=post["id"], category="other", comment=TEXT, rules="0")
    assert made.status_code == 201
    report_path, act = f"/ops/reports/{made.json()['id']}/", f"/ops/accounts/{alice_id}/act/"
    assert (await sam.post_json(f"{report_path}claim/", reason=MARKUP)).status_code == 200
    decision = await decide_with_texts(sam, act, post["id"])
    assert (await alice.post_json("/accounts/sanctions/", id=decision, text=TEXT)).status_code == 200
    applicant = await apply_for_an_account(site, open_browser)
    pages = {}
    paths = [route.path for route in routes() if "GET" in route.methods and "logout" not in route.path]
    paths += [report_path, f"/ops/accounts/{alice_id}/", f"{act}?kind=warning", f"/ops/invitations/{alice_id}/"]
    paths += [f"/@alice/{post['id']}/", f"/ops/accounts/?q={MARKUP}", f"/reports/new/?post={post['id']}"]
    for path in paths:
        pages["sam", path] = await sam.get(path)
        if not path.startswith(("/ops/", "/lists/", "/posts/", "/media/", "/accounts/factors/")):
            pages["alice", path] = await alice.get(path)
    for path in ("/", "/about/", "/rules/", "/privacy/", "/terms/", "/accounts/signup/", "/@alice/", "/missing/"):
        pages["visitor", path] = await visitor.get(path)
    pages["nora", "/accounts/waiting/"] = await applicant.get("/accounts/waiting/")
    pages["bob", "/reports/"] = await bob.get("/reports/")
    pages["preview", act] = await sam.post(act, kind="warning", text=TEXT, rule=TEXT, preview="1")
    pages["error", act] = await sam.post(act, kind="silence", text=TEXT)
    seen = {where for where, page in pages.items() if "canary" in page.text or "alert(" in page.text}
    assert {path for _name, path in seen} >= {"/rules/", "/about/", "/ops/site/", report_path, "/ops/applications/"}
    assert {where: raw for where, page in pages.items() for raw in RAW if contains_markup(page, raw)} == {}


async def test_the_style_sheet_of_the_accent_contains_only_a_colour(alice: HttpBrowser) -> None:
    for colour in ("zzz", "0b57d0x", "", "1", "0b57d0%7D%2A%7Bcolor:red", "-1", "1_0", "0B57D0"):
        assert (await alice.get(f"/accent/{colour}.css")).status_code == 404, colour
    assert (await alice.get("/accent/0b57d0.css")).status_code == 200
