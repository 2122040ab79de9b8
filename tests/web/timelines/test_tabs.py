"""Readers choose which lists and hashtags are tabs of home, and in which order."""

import re

import pytest

from tests.support.browser import HttpBrowser


@pytest.fixture
async def reader(alice: HttpBrowser) -> HttpBrowser:
    """Alice with ten lists, of which eight are tabs, and a followed hashtag."""
    for number in range(10):
        await alice.post_json("/lists/", title=f"list {number}")
    await alice.post_json("/tags/tea/follow/")
    return alice


async def shown(browser: HttpBrowser) -> list[str]:
    """Return the titles of the tabs of home between Public and Hashtags."""
    page = (await browser.get("/")).text
    tabs = re.search(r'<nav class="tabs timeline-tabs".*?</nav>', page, re.DOTALL)[0]
    return re.findall(r"<bdi>(.*?)</bdi>", tabs)


async def test_the_first_lists_and_hashtags_are_tabs_until_the_reader_chooses(reader):
    first = [f"list {number}" for number in range(8)]
    assert await shown(reader) == [*first, "#tea"]
    page = (await reader.get("/lists/tabs/")).text
    assert re.findall(r'<bdi class="name">(.*?)</bdi>', page) == [*first, "#tea", "list 8", "list 9"]
    await reader.post("/lists/tabs/", tab="1", action="remove")
    assert await shown(reader) == [*first[1:], "#tea"]


async def test_tabs_are_added_removed_and_moved(reader):
    for name in ("1", "2", "3", "4", "5", "6"):
        await reader.post("/lists/tabs/", tab=name, action="remove")
    await reader.post("/lists/tabs/", tab="10", action="add")
    assert await shown(reader) == ["list 6", "list 7", "#tea", "list 9"]
    for action in ("up", "up", "up", "up"):
        await reader.post("/lists/tabs/", tab="#tea", action=action)
    await reader.post("/lists/tabs/", tab="7", action="down")
    assert await shown(reader) == ["#tea", "list 7", "list 6", "list 9"]
    answer = await reader.post("/lists/tabs/", tab="10", action="up")
    assert (answer.status_code, answer.headers["location"]) == (303, "/lists/tabs/#tab-3")
    assert "Move list 9 down" in (await reader.get("/lists/tabs/")).text


async def test_a_deleted_list_leaves_the_tabs_and_a_strange_name_is_refused(reader, bob):
    await reader.post("/lists/tabs/", tab="2", action="up")
    await reader.post_json("/lists/1/delete/")
    assert "list 0" not in await shown(reader)
    for name in ("1", "11", "#coffee", ""):
        assert (await reader.post("/lists/tabs/", tab=name, action="add")).status_code == 400
    assert (await reader.post("/lists/tabs/", tab="2", action="sideways")).status_code == 422
    assert (await bob.post("/lists/tabs/", tab="2", action="up")).status_code == 400


async def test_all_tabs_may_be_removed(reader):
    for name in (*map(str, range(1, 9)), "#tea"):
        await reader.post("/lists/tabs/", tab=name, action="remove")
    assert await shown(reader) == []
    page = (await reader.get("/")).text
    assert 'href="/public/"' in page
    assert 'href="/lists/"' in page
