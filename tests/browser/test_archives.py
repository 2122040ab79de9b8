"""The page of an archive while the worker makes it, with and without JavaScript."""

import io
import os
import signal
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenReader
from tests.browser.test_pictures import PHOTO
from tests.support.sites import QuickstartSite
from tests.support.visitor import HttpVisitor

PAGE = "/accounts/archive/"


@pytest.fixture
def worker(site: QuickstartSite) -> Iterator[int]:
    """The id of the stopped worker, which continues after the test."""
    pid = site.processes()["worker"]
    os.kill(pid, signal.SIGSTOP)
    yield pid
    os.kill(pid, signal.SIGCONT)


def test_the_page_of_an_archive_shows_its_end_without_being_loaded_again(
    reader: OpenReader, own: HttpVisitor, worker: int
) -> None:
    me, plain = reader(own), reader(own, java_script_enabled=False)
    me.go_to(PAGE)
    me.page.get_by_role("button", name="Make my archive").click()
    expect(me.page.locator("[aria-live][data-progress]")).to_contain_text("Your archive is being made.")
    expect(me.page.get_by_role("link", name="Show progress")).to_be_hidden()
    me.page.evaluate("document.body.dataset.loaded = 'once'")
    plain.go_to(PAGE)
    expect(plain.page.get_by_role("link", name="Show progress")).to_be_visible()
    os.kill(worker, signal.SIGCONT)
    expect(me.page.get_by_role("link", name="Download", exact=True)).to_be_visible(timeout=30_000)
    expect(me.page.locator("[data-progress]")).to_have_count(0)
    assert me.page.evaluate("document.body.dataset.loaded") == "once"
    plain.page.get_by_role("link", name="Show progress").click()
    expect(plain.page.get_by_role("link", name="Download", exact=True)).to_be_visible()


@pytest.mark.nightly
def test_an_archive_shows_posts_versions_and_pictures_without_a_network(
    reader: OpenReader, own: HttpVisitor, tmp_path: Path
) -> None:
    me = reader(own, java_script_enabled=False)
    me.go_to("/")
    me.page.locator("[data-composer] textarea[name=text]").fill("With a picture")
    me.page.get_by_role("button", name="Add pictures").click()
    me.page.locator("[name=file-0]").set_input_files([PHOTO])
    me.page.locator("[name=description-0]").fill("A hill")
    me.page.locator(".composer-foot > [type=submit]").click()
    expect(me.entries.first).to_contain_text("With a picture")
    post_id = me.entry_ids()[0]
    own.post(f"/posts/{post_id}/edit/", text="Without a picture")
    me.go_to(PAGE)
    me.page.get_by_role("button", name="Make my archive").click()
    download = me.page.get_by_role("link", name="Download", exact=True)
    while not download.is_visible():
        me.page.get_by_role("link", name="Show progress").click()
    content = me.page.request.get(me.url + (download.get_attribute("href") or "")).body()
    zipfile.ZipFile(io.BytesIO(content)).extractall(tmp_path)
    me.context.set_offline(True)
    me.page.goto((tmp_path / "index.html").as_uri())
    me.page.locator("a[href^='posts/']").click()
    expect(me.page.locator("article")).to_contain_text("Without a picture")
    me.page.locator("summary").click()
    expect(me.page.get_by_text("With a picture", exact=True)).to_be_visible()
    shown = me.page.locator("details").get_by_alt_text("A hill")
    expect(shown).to_be_visible()
    assert shown.evaluate("picture => picture.decode().then(() => picture.naturalWidth)") > 0
