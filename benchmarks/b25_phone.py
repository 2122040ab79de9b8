"""What a phone loads to show a page of a site that `make run` serves alone, in Chromium.

A home of 30 posts with an empty cache, then a profile; then the home with four pictures in its newest post. Chromium's
DevTools give the tab a processor of a quarter of this machine's speed and a connection of 1.6 Mbit/s with 150 ms.
Bytes are those on the wire with the heads of the responses; requests include icons and scripts, not the socket nor the
service worker, which loads the offline page after the first page. Every round has a browser context of its own. The
parts of the largest paint are times from the start of the navigation: the first byte of the page, the end of the
stylesheet, and the first paint. The script runs after that.
"""

import asyncio
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.b31_pictures import photo
from benchmarks.figures import DataNotAvailable, Figure, Plan, Samples, at_most

if TYPE_CHECKING:
    from tests.support.page_weight import PageWeight
    from tests.support.sites import QuickstartSite
    from tests.support.visitor import HttpVisitor

POSTS, PICTURES = 30, 4
UPLOAD_S = 60.0


async def measure(plan: Plan) -> list[Figure]:
    return await asyncio.to_thread(_measure, plan)


def _measure(plan: Plan) -> list[Figure]:
    from tests.support.sites import running_site
    from tests.support.visitor import HttpVisitor

    with tempfile.TemporaryDirectory() as name, running_site(Path(name) / "data", RATE_LIMIT_POST="off") as site:
        reader, picture = HttpVisitor(site.url, "reader").sign_up(), photo()
        for number in range(POSTS):
            reader.publishes(f"Post {number}, as long as many posts are, with a #hashtag and a name: @{reader.handle}")
        cold, following = weigh(plan, site, reader, ["/", f"/@{reader.handle}/"])
        media_ids = [upload(reader, picture) for _ in range(PICTURES)]
        reader.publishes("A post with pictures", **{"media_ids[]": media_ids})
        (pictured,) = weigh(plan, site, reader, ["/"])
    what = f"home of {POSTS} posts, cold"
    return [
        *figures_of(what, cold, 700),
        Figure(what, "kB", Samples.all(each.wire_bytes / 1000 for each in cold), at_most(45)),
        Figure(what, "requests", Samples.all(len(each.urls) for each in cold), at_most(10)),
        Figure("the next page", "kB", Samples.all(each.wire_bytes / 1000 for each in following), at_most(12)),
        *figures_of(f"{what}, with {PICTURES} pictures in the newest", pictured, 1_000),
    ]


def figures_of(what: str, loads: "list[PageWeight]", budget_ms: float) -> list[Figure]:
    first_byte, style, first_paint, largest = (
        Samples.all(getattr(each, name) for each in loads)
        for name in ("first_byte_ms", "style_ms", "first_paint_ms", "largest_paint_ms")
    )
    note = f"first byte {first_byte}, stylesheet {style}, first paint {first_paint} ms"
    return [Figure(what, "ms to the largest paint", largest, at_most(budget_ms), note=note)]


def weigh(plan: Plan, site: "QuickstartSite", reader: "HttpVisitor", paths: list[str]) -> "list[list[PageWeight]]":
    """Return the loads of each path. A round loads all paths with one cache, which is empty at first."""
    from playwright.sync_api import sync_playwright

    from tests.support.chromium import BrowserPage, find_chromium, launch
    from tests.support.page_weight import PHONE, weigh_page

    program = find_chromium()
    if program is None:
        raise DataNotAvailable("chromium is not installed (Debian package chromium)")
    loads: list[list[PageWeight]] = [[] for _ in paths]
    with sync_playwright() as playwright:
        browser = launch(playwright, program)
        for _ in range(plan.rounds):
            context = browser.new_context(**PHONE)
            BrowserPage(context.new_page(), site.url).sign_in_as(reader)
            for each, path in zip(loads, paths, strict=True):
                each.append(weigh_page(context, f"{site.url}{path}"))
            context.close()
        browser.close()
    return loads


def upload(reader: "HttpVisitor", picture: bytes) -> str:
    """Upload a picture and return its id when it is ready."""
    from tests.support.visitor import JSON_HEADERS, TOKEN_COOKIE

    headers = {**JSON_HEADERS, "X-CSRFToken": reader.http.cookies[TOKEN_COOKIE]}
    answer = reader.http.post("/media/", files={"file": ("photo.jpg", picture, "image/jpeg")}, headers=headers)
    media_id, until = str(answer.raise_for_status().json()["id"]), time.monotonic() + UPLOAD_S
    while reader.http.get(f"/media/{media_id}/", headers=JSON_HEADERS).status_code != 200:
        if time.monotonic() > until:
            raise RuntimeError("a picture is not ready")
        time.sleep(0.1)
    return media_id
