"""Today's code reads, publishes and changes all data of sites that earlier releases stored.

`stored_by_<commit>.backup` was written by `manage.py backup` of that commit. `stored_by_<commit>.json` contains the
answers of its pages, as JSON, to people and a visitor, and their session cookies (which end in 2099). The site
of 6a4780ca also has drafts, scheduled and held posts, a poll, filters, lists, notes, preferences, factors and imports.
"""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pyotp
import pytest

from socialsite.asgi import application
from socialsite.clock import FixedClock
from socialsite.container import Services
from socialsite.ids import AccountId
from socialsite.maintenance.backup_file import BackupReader
from socialsite.maintenance.restore import Restore
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.web.middleware.services import loop_services
from tests.support.browser import HttpBrowser
from tests.support.visitor import PASSWORD
from timelines.audit import Audit
from timelines.post_archive.service import ArchivedBodies

DATA = Path(__file__).parents[2] / "data"
OLDEST, RICHEST = "93ae5cb", "6a4780ca"
EXPECTED: dict[str, dict[str, Any]] = {
    commit: json.loads((DATA / f"stored_by_{commit}.json").read_text()) for commit in (OLDEST, RICHEST)
}
FACTS = EXPECTED[RICHEST]["facts"]
STORED_MS = 1_795_914_100_000
"""A time just after the second site was stored. Its scheduled posts are due 20 minutes later."""
SECRET_KEY_OF_THE_STORED_SITE = "only-for-the-checks-on-this-machine-and-nothing-else-1234567890"
"""Its sessions are valid under this key only."""


@pytest.fixture
def commit() -> str:
    return RICHEST


@pytest.fixture
async def site(redis_url: str, tmp_path: Path, settings: Any, commit: str) -> AsyncIterator[Services]:
    """The stored site, restored by today's code, with an archive of old posts."""
    settings.SECRET_KEY = SECRET_KEY_OF_THE_STORED_SITE
    config = ServiceConfig(archive_url=f"sqlite://{tmp_path}/archive")
    async with open_services(redis_url, config) as services:
        file = BackupReader(DATA / f"stored_by_{commit}.backup")
        file.verify()
        restore = Restore(services.store, ArchivedBodies(services.repositories.archive).put)
        await restore.load(file, services.clock.now_ms())
        await services.rebuild_after_restore.run()
        if commit == RICHEST:
            services = Services(services.store, FixedClock(STORED_MS), services.config)
            await services.site.refresh()
        loop_services.bind(services)
        yield services


@pytest.mark.parametrize("commit", EXPECTED)
async def test_the_audit_of_the_restored_site_finds_no_discrepancy(site: Services) -> None:
    report = await Audit(site.audit_context, second_check_after_s=0.01).run()
    kinds = {str(finding).partition(" ")[0] for finding in report.discrepancies}
    assert kinds <= {"picture_without_file", "transfer_without_file"}  # a backup contains no files
    assert report.foreign_keys.unknown == 0


def differences(now: Any, before: Any, path: str = "") -> list[str]:
    """Return the places where values differ. Fields that objects did not have before are no difference."""
    if isinstance(now, dict) and isinstance(before, dict) and not before.keys() - now.keys():
        return [each for name in before for each in differences(now[name], before[name], f"{path}.{name}")]
    if isinstance(now, list) and isinstance(before, list) and len(now) == len(before):
        pairs = enumerate(zip(now, before, strict=True))
        return [each for number, pair in pairs for each in differences(*pair, f"{path}.{number}")]
    if path.endswith("html"):  # later releases may write other tags, and hide a part of an address
        tags = r'<span class="invisible">[^<]*</span>|<[^>]*>'
        now, before = (re.sub(tags, "", html) for html in (now, before))
    return [] if now == before else [f"{path}: {now!r}, not {before!r}"]


def browser_of(handle: str, commit: str = RICHEST) -> HttpBrowser:
    browser = HttpBrowser(application)
    if handle:
        browser.http.cookies.set("sessionid", EXPECTED[commit]["cookies"][handle])
    return browser


@pytest.mark.parametrize("commit", EXPECTED)
async def test_every_page_answers_as_before(site: Services, commit: str) -> None:
    different = {}
    for handle, pages in EXPECTED[commit]["pages"].items():
        async with browser_of(handle, commit) as browser:
            for path, before in pages.items():
                answer = await browser.get_json(path)
                if places := differences({"status": answer.status_code, "json": answer.json()}, before):
                    different[f"{path} for {handle or 'a visitor'}"] = places
    assert different == {}


async def test_apps_read_the_stored_data_with_their_tokens(site: Services) -> None:
    headers = {"Authorization": f"Bearer {FACTS['token']}"}
    base_url = EXPECTED[RICHEST]["api"]["/api/v1/accounts/verify_credentials"]["json"]["url"].partition("/@")[0]
    async with HttpBrowser(application, base_url=base_url) as browser:
        for path, before in EXPECTED[RICHEST]["api"].items():
            answer = await browser.http.get(path, headers=headers)
            assert differences({"status": answer.status_code, "json": answer.json()}, before) == [], path


async def test_scheduled_and_held_posts_are_published_refused_and_given_back(site: Services) -> None:
    alice, gina = [AccountId((await site.accounts.get_by_handle(handle)).id) for handle in ("alice", "gina")]
    published, refused = map(int, FACTS["scheduled"])
    released, given_back = [draft for _account, draft in (await site.drafts.held(0, 10))[0]]
    await site.drafts.release(gina, released.id, released.held_ms)
    await site.drafts.refuse(gina, given_back.id, given_back.held_ms, "not here")
    later = Services(site.store, FixedClock(STORED_MS + 20 * 60_000), site.config)
    await later.site.refresh()
    assert await later.drafts.publish_due() == 3
    assert await later.drafts.publish_due() == 0
    drafts = {draft.id: draft for draft in await site.drafts.all(alice)}
    assert published not in drafts
    assert (drafts[refused].scheduled_ms, "does not exist" in drafts[refused].error) == (None, True)
    assert [(each.id, each.error, each.held_ms) for each in await site.drafts.all(gina)] == [
        (given_back.id, "not here", None)
    ]
    for reader, author, text in ((alice, alice, "scheduled by an older release"), (gina, gina, released.value("text"))):
        page = await site.reading.profile(author, viewer_id=reader)
        assert [entry.post.text for entry in page.entries].count(text) == 1


async def test_stored_values_can_be_changed_and_deleted(site: Services) -> None:
    """Each value is one that a script compares with what the caller read."""
    async with browser_of("alice") as alice, browser_of("carol") as carol:
        read, _other = (await alice.get_json("/accounts/import/")).json()["imports"]
        assert (await alice.post_json(f"/accounts/import/{read['id']}/discard/")).status_code == 200
        assert len((await alice.get_json("/accounts/import/")).json()["imports"]) == 1
        picture = next(each for each in FACTS["drafts"]["alice"] if "media_ids" in each["params"])["params"][
            "media_ids"
        ][0]
        assert (await alice.post_json(f"/media/{picture}/", description="described anew")).status_code == 200
        answers = [
            await alice.post_json("/accounts/preferences/", open_warnings="0", quote_policy="public"),
            await alice.post_json("/accounts/filters/1/edit/", phrase="another"),
            await alice.post_json(f"/lists/{FACTS['list']}/edit/", title="Friends, renamed"),
            *[await alice.post_json(f"/posts/{FACTS['plain']}/{act}/") for act in ("unlike", "unboost", "unbookmark")],
            await alice.post_json("/@bob/note/", comment=""),
        ]
        assert [each.status_code for each in answers] == [200] * len(answers)
        post = (await alice.get_json(f"/@bob/{FACTS['plain']}/")).json()
        assert (post["counts"]["likes"], post["counts"]["boosts"]) == (0, 1)
        await carol.post("/accounts/logout/")
        answer = await carol.post_json("/accounts/login/", username="carol", password=PASSWORD)
        code = pyotp.TOTP(FACTS["totp"]["secret"]).at(STORED_MS // 1000)
        answer = await carol.post_json("/accounts/login/factor/", code=code)
        assert answer.status_code == 200, answer.text
