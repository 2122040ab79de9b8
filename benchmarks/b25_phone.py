"""What a phone loads to show a page of a site that `make run` serves alone, in Chromium.

A home of 30 posts with an empty cache, then a profile. Chromium's DevTools give the tab a processor of a quarter of
this machine's speed and a connection of 1.6 Mbit/s with 150 ms. Bytes are those on the wire with the heads of the
responses; requests include icons and scripts, not the socket nor the service worker, which loads the offline page
after the first page. Every round has a browser context of its own.

A trace shows where the time until the largest paint goes, in ms: 190 until the page is there, 60 until the browser
reads it, 230 until the stylesheet is there (requested by the head of the response, as the page is read), then 100 for
its rules, 140 for the layout of the posts read by then, and 50 for painting. The script runs after that.
"""

import asyncio
import tempfile
from pathlib import Path

from benchmarks.figures import DataNotAvailable, Figure, Plan, Samples, at_most
from benchmarks.running import run_alone

POSTS = 30


async def measure(plan: Plan) -> list[Figure]:
    return await asyncio.to_thread(_measure, plan)


def _measure(plan: Plan) -> list[Figure]:
    from playwright.sync_api import sync_playwright

    from tests.support.chromium import BrowserPage, find_chromium, launch
    from tests.support.page_weight import PHONE, PageWeight, weigh_page
    from tests.support.sites import running_site
    from tests.support.visitor import HttpVisitor

    program = find_chromium()
    if program is None:
        raise DataNotAvailable("chromium is not installed (Debian package chromium)")
    cold: list[PageWeight] = []
    following: list[PageWeight] = []
    with tempfile.TemporaryDirectory() as name, running_site(Path(name) / "data", RATE_LIMIT_POST="off") as site:
        reader = HttpVisitor(site.url, "reader").sign_up()
        for number in range(POSTS):
            reader.publishes(f"Post {number}, as long as many posts are, with a #hashtag and a name: @{reader.handle}")
        with sync_playwright() as playwright:
            browser = launch(playwright, program)
            for _ in range(plan.rounds):
                context = browser.new_context(**PHONE)
                BrowserPage(context.new_page(), site.url).sign_in_as(reader)
                cold.append(weigh_page(context, f"{site.url}/"))
                following.append(weigh_page(context, f"{site.url}/@{reader.handle}/"))
                context.close()
            browser.close()
    what = "home of 30 posts, cold"
    return [
        Figure(what, "kB", Samples.all(each.wire_bytes / 1000 for each in cold), at_most(45)),
        Figure(what, "requests", Samples.all(len(each.urls) for each in cold), at_most(10)),
        Figure(what, "ms to the largest paint", Samples.all(each.largest_paint_ms for each in cold), at_most(700)),
        Figure("the next page", "kB", Samples.all(each.wire_bytes / 1000 for each in following), at_most(12)),
    ]


if __name__ == "__main__":
    run_alone("B25", measure)
