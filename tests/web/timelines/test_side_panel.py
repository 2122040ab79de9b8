"""The tabs above timelines and the panel beside them."""

import re

import pytest

from socialsite.container import Services
from socialsite.web.page_cache import PageCache, render_page
from tests.support.browser import HttpBrowser
from tests.support.waiting import eventually
from tests.web.conftest import OpenBrowser

PAGES: PageCache = render_page.__self__  # type: ignore[attr-defined]

pytestmark = pytest.mark.usefixtures("site")


def tabs(html: str) -> list[str]:
    nav = re.search(r'<nav class="tabs timeline-tabs".*?</nav>', html, re.DOTALL)
    return re.findall(r'<a href="([^"]+)"', nav[0]) if nav else []


async def test_home_has_a_tab_for_each_list_from_its_creation_to_its_deletion(alice: HttpBrowser) -> None:
    assert tabs((await alice.get("/")).text) == ["/", "/public/", "/tags/", "/lists/"]
    friends = (await alice.post_json("/lists/", title="Friends & family")).json()
    url = f"/lists/{friends['id']}/"
    html = (await alice.get("/")).text
    assert tabs(html) == ["/", "/public/", url, "/tags/", "/lists/"]
    assert "Friends &amp; family" in html
    assert f'href="{url}" aria-current="page"' in (await alice.get(url)).text
    assert tabs((await alice.get("/public/")).text) == tabs((await alice.get("/tags/")).text) == tabs(html)
    await alice.post_json(f"{url}edit/", title="Family")
    assert "Friends" not in (await alice.get("/")).text
    await alice.post_json(f"{url}delete/")
    assert tabs((await alice.get("/")).text) == ["/", "/public/", "/tags/", "/lists/"]


async def test_home_has_a_tab_for_the_hashtags_followed_last(alice: HttpBrowser, site: Services) -> None:
    for tag in ("one", "two", "three", "four", "höhe"):
        await alice.post_json(f"/tags/{tag}/follow/")
        followed_ms = site.clock.now_ms()
        await eventually(lambda after_ms=followed_ms: site.clock.now_ms() > after_ms)
    urls = ["/tags/h%C3%B6he/", "/tags/four/", "/tags/three/", "/tags/two/"]
    assert tabs((await alice.get("/")).text) == ["/", "/public/", *urls, "/tags/", "/lists/"]
    assert f'href="{urls[0]}" aria-current="page"' in (await alice.get(urls[0])).text
    assert tabs((await alice.get("/tags/one/")).text) == []
    await alice.post_json("/tags/four/unfollow/")
    assert tabs((await alice.get("/")).text)[2:6] == [urls[0], urls[2], urls[3], "/tags/one/"]


async def test_other_people_do_not_see_the_lists(alice: HttpBrowser, bob: HttpBrowser, visitor: HttpBrowser) -> None:
    await alice.post_json("/lists/", title="Secret")
    assert "Secret" in (await alice.get("/")).text
    assert "Secret" not in (await bob.get("/")).text
    assert "Secret" not in (await visitor.get("/public/")).text


async def test_the_newest_hashtags_stand_in_for_trends(alice: HttpBrowser, site: Services) -> None:
    await alice.publish("about #tea and #coffee")
    site.trends._cache = (0, ())
    html = (await alice.get("/")).text
    assert "Newest hashtags" in html
    assert '<li><a href="/tags/tea/"><bdi>#tea</bdi></a></li>' in html
    assert (await alice.get_json("/tags/trending/")).json() == {"tags": []}


async def test_readers_share_a_rendered_frame_in_which_each_sees_only_its_own_account(
    site: Services, open_browser: OpenBrowser
) -> None:
    """With a frame per reader, a large site would render most frames again."""
    pages = []
    for handle in ("zoe", "yann", "mia"):
        reader = await open_browser(handle)
        await reader.get("/public/")  # shows the message of the sign-up
        before = len(PAGES)
        html = (await reader.get("/public/")).text
        pages.append(len(PAGES) - before)
        assert re.findall(r'data-handle="(\w+)"', html) == [handle]
        assert set(re.findall(r'href="/@(\w+)/"', html)) == {handle}
        assert f'href="/@{handle}/" aria-current="page"' in (await reader.get(f"/@{handle}/")).text
        assert f'href="/@{handle}/" aria-current="page"' not in (await reader.get("/@zoe/followers/")).text
    assert pages[1:] == [0, 0]
