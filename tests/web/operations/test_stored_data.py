"""Today's code reads all data of a site that commit 93ae5cb stored, before names in the code changed.

`stored_by_93ae5cb.backup` was written by `manage.py backup` of that commit. `stored_by_93ae5cb.json` contains the
answers of its pages, as JSON, to four people and a visitor, and their session cookies (which end in 2099).
"""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest_asyncio

from socialsite.asgi import application
from socialsite.container import Services
from socialsite.maintenance.backup_file import BackupReader
from socialsite.maintenance.restore import Restore
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.web.middleware.services import loop_services
from tests.support.browser import HttpBrowser
from timelines.archive.service import ArchivedBodies
from timelines.audit import Audit

DATA = Path(__file__).parents[2] / "data"
EXPECTED: dict[str, Any] = json.loads((DATA / "stored_by_93ae5cb.json").read_text())
SECRET_KEY_OF_THE_STORED_SITE = "only-for-the-checks-on-this-machine-and-nothing-else-1234567890"
"""Its sessions are valid under this key only."""


@pytest_asyncio.fixture
async def site(redis_url: str, tmp_path: Path, settings: Any) -> AsyncIterator[Services]:
    """The stored site, restored by today's code, with an archive of old posts."""
    settings.SECRET_KEY = SECRET_KEY_OF_THE_STORED_SITE
    config = ServiceConfig(archive_url=f"sqlite://{tmp_path}/archive")
    async with open_services(redis_url, config) as services:
        file = BackupReader(DATA / "stored_by_93ae5cb.backup")
        file.verify()
        restore = Restore(services.store, ArchivedBodies(services.repositories.archive).put)
        await restore.load(file, services.clock.now_ms())
        loop_services.bind(services)
        yield services


async def test_the_audit_of_the_restored_site_finds_no_discrepancy(site: Services) -> None:
    assert not (await site.rebuild_after_restore.run()).discrepancies
    report = await Audit(site.audit_context, second_check_after_s=0.01).run()
    assert [str(finding) for finding in report.discrepancies] == []
    assert report.foreign_keys.unknown == 0


def without_new_fields(now: Any, before: Any) -> Any:
    """Return the value without the fields of objects that it did not have before. Later releases add fields."""
    if isinstance(now, dict) and isinstance(before, dict):
        return {name: without_new_fields(value, before[name]) for name, value in now.items() if name in before}
    if isinstance(now, list) and isinstance(before, list) and len(now) == len(before):
        return [without_new_fields(*pair) for pair in zip(now, before, strict=True)]
    return now


async def test_every_page_answers_as_before(site: Services) -> None:
    await site.rebuild_after_restore.run()
    for handle, pages in EXPECTED["pages"].items():
        async with HttpBrowser(application) as browser:
            if handle:
                browser.http.cookies.set("sessionid", EXPECTED["cookies"][handle])
            for path, before in pages.items():
                answer = await browser.get_json(path)
                now = {"status": answer.status_code, "json": answer.json()}
                assert without_new_fields(now, before) == before, f"{path} for {handle or 'a visitor'}"
