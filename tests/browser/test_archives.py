"""The page of an archive while the worker makes it, with and without JavaScript."""

import os
import signal
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenReader, SignUpVisitor
from tests.support.site import QuickstartSite

PAGE = "/accounts/archive/"


@pytest.fixture
def worker(site: QuickstartSite) -> Iterator[int]:
    """The id of the stopped worker, which continues after the test."""
    pid = site.processes()["worker"]
    os.kill(pid, signal.SIGSTOP)
    yield pid
    os.kill(pid, signal.SIGCONT)


def test_the_page_of_an_archive_shows_its_end_without_being_loaded_again(
    reader: OpenReader, visitor: SignUpVisitor, worker: int
) -> None:
    own = visitor()
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
