"""Announcements: staff publishes and removes them, people see them above home until they dismiss them."""

import re

import pytest

from socialsite.admin.audit_log import AuditLog
from socialsite.container import Services
from socialsite.errors import Conflict
from socialsite.site.announcements import ANNOUNCEMENTS_CAP
from tests.support.api import ApiClient, create_token
from tests.support.browser import HttpBrowser
from tests.web.api.conftest import open_api
from tests.web.site.conftest import OpenStaff

__all__ = ["open_api"]
DAY_MS = 86_400_000


async def announce(site: Services, text: str, starts_ms: int = 0, ends_ms: int = 0) -> int:
    await site.site.announce(text, starts_ms=starts_ms, ends_ms=ends_ms, now_ms=site.clock.now_ms())
    return site.site.announcements[-1].id


async def test_people_see_an_announcement_until_they_dismiss_it(
    site: Services, alice: HttpBrowser, bob: HttpBrowser, visitor: HttpBrowser
) -> None:
    number = await announce(site, "Tonight: <b>works</b>\n\n- one\n- two https://example.org/")
    page = (await alice.get("/")).text
    assert "Tonight: &lt;b&gt;works&lt;/b&gt;" in page
    assert page.count('<li dir="auto">') == 2
    assert f'formaction="/announcements/{number}/dismiss/"' in page
    welcome = (await visitor.get("/")).text
    assert "Tonight" in welcome
    assert "dismiss/" not in welcome
    answer = await alice.post(f"/announcements/{number}/dismiss/", next="/")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert "Tonight" not in (await alice.get("/")).text
    assert "Tonight" in (await bob.get("/")).text
    second = await announce(site, "Another one")
    assert "Another one" in (await alice.get("/")).text
    assert (await alice.post_json(f"/announcements/{second}/dismiss/")).json() == {"dismissed": second}
    await site.site.remove_announcement(number)
    third = await announce(site, "A third")
    assert (await alice.post_json(f"/announcements/{third}/dismiss/")).status_code == 200
    account = await site.accounts.get_by_handle("alice")
    assert account.preferences.dismissed_announcements == (second, third)  # the removed announcement is forgotten
    assert (await alice.post_json("/announcements/7/dismiss/")).status_code == 404
    assert (await visitor.post_json(f"/announcements/{third}/dismiss/")).status_code == 401


async def test_an_announcement_is_shown_between_its_times_only(site: Services, alice: HttpBrowser) -> None:
    now_ms = site.clock.now_ms()
    await announce(site, "for tomorrow", starts_ms=now_ms + DAY_MS)
    await announce(site, "for today", ends_ms=now_ms + DAY_MS)
    page = (await alice.get("/")).text
    assert ("for tomorrow" in page, "for today" in page) == (False, True)


async def test_a_full_list_drops_what_is_over_and_refuses_more(site: Services) -> None:
    now_ms = site.clock.now_ms()
    for number in range(ANNOUNCEMENTS_CAP):
        await announce(site, f"number {number}", ends_ms=now_ms + DAY_MS)
    with pytest.raises(Conflict):
        await announce(site, "one more")
    later_ms = now_ms + 2 * DAY_MS
    await site.site.announce("after a while", starts_ms=0, ends_ms=0, now_ms=later_ms)
    assert [each.text for each in site.site.announcements] == ["after a while"]


async def test_staff_publishes_and_removes(site: Services, sam: HttpBrowser) -> None:
    for fields, name in (
        ({"text": " "}, "text"),
        ({"text": "Late", "starts": "2030-01-02T00:00", "ends": "2030-01-01T00:00"}, "ends"),
        ({"text": "When?", "starts": "soon"}, "starts"),
        ({"text": "Then?", "starts": "0001-01-01T00:00"}, "starts"),
        ({"text": "Never?", "ends": "9999-12-31T23:59:59.999999"}, "ends"),
    ):
        answer = await sam.post("/ops/announcements/", **fields)
        assert answer.status_code == 422
        assert f'{name}-error" aria-invalid="true" autofocus' in answer.text
    assert site.site.announcements == ()
    assert (await AuditLog(site.store).search(10))[0] == []
    for _click in range(2):
        answer = await sam.post("/ops/announcements/", text="Hello all", starts="", ends="2040-01-01T00:00")
        assert answer.status_code == 303
    page = (await sam.get("/ops/announcements/")).text
    assert "Hello all" in page
    (stored,) = (await sam.get_json("/ops/announcements/")).json()["announcements"]
    assert (stored["text"], stored["ends"]) == ("Hello all", "2040-01-01T00:00:00.000Z")
    number = re.findall(r'name="id" value="(\d+)"', page)[0]
    assert number == stored["id"]
    assert (await sam.post("/ops/announcements/remove/", id=number)).status_code == 303
    assert site.site.announcements == ()


async def test_moderators_have_no_right_to_announcements(site: Services, open_staff: OpenStaff) -> None:
    moderator = await open_staff(site, "moderator")
    assert (await moderator.get("/ops/announcements/")).status_code == 403
    assert (await moderator.post("/ops/announcements/", text="Hello")).status_code == 403
    assert site.site.announcements == ()


async def test_apps_read_and_dismiss(site: Services, alice: HttpBrowser, open_api) -> None:
    number = await announce(site, "Hello apps")
    client: ApiClient = await open_api()
    assert (await client.get("/api/v1/announcements")).status_code == 401
    client.http.headers["Authorization"] = f"Bearer {await create_token(site, 'alice')}"
    (entity,) = (await client.get("/api/v1/announcements")).json()
    assert (entity["id"], entity["content"], entity["read"]) == (str(number), '<p dir="auto">Hello apps</p>', False)
    assert (await client.post(f"/api/v1/announcements/{number}/dismiss")).json() == {}
    assert (await client.get("/api/v1/announcements")).json() == []
    (entity,) = (await client.get("/api/v1/announcements", with_dismissed="true")).json()
    assert entity["read"] is True
    assert (await client.post("/api/v1/announcements/7/dismiss")).status_code == 404
