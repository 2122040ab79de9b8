"""The pictures of docs/images, taken of the demo site in a real browser: `make screenshots`."""

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tests.support.chromium import find_chromium, launch
from tests.support.site import ROOT, Site

IMAGES = ROOT / "docs" / "images"
PASSWORD = "alice-in-wonderland"
SHOTS = (("wide", 1280, 860, "light"), ("narrow", 390, 844, "dark"))
PAGES = {"home": "/", "profile": "/@bob/", "public": "/public/"}


def take(browser: Browser, url: str) -> None:
    """Each page as alice sees it, wide in light and narrow in dark."""
    for name, width, height, scheme in SHOTS:
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme="light" if scheme == "light" else "dark"
        )
        page = context.new_page()
        page.goto(f"{url}/accounts/login/")
        page.fill("input[name=username]", "alice")
        page.fill("input[name=password]", PASSWORD)
        page.click("main button[type=submit]")
        page.wait_for_url(f"{url}/")
        for title, path in PAGES.items():
            page.goto(f"{url}{path}", wait_until="networkidle")
            page.screenshot(path=IMAGES / f"{title}-{name}-{scheme}.png")
        context.close()


def main() -> int:
    program = find_chromium()
    if program is None:
        print("chromium is not installed (Debian package chromium)")
        return 1
    with tempfile.TemporaryDirectory() as data, sync_playwright() as playwright:
        site = Site(Path(data) / "data", "--port", "0").until_ready()
        try:
            browser = launch(playwright, program)
            take(browser, site.url)
            browser.close()
        finally:
            site.interrupt()
    return 0


if __name__ == "__main__":
    sys.exit(main())
