"""Take the pictures of docs/images from the demo site in a real browser: `make screenshots`."""

import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from tests.support.chromium import find_chromium, launch
from tests.support.daphnes import ROOT
from tests.support.demo_site import demo_visitor, find_conversation
from tests.support.sites import QuickstartSite

IMAGES = ROOT / "docs" / "images"
PASSWORD = "alice-in-wonderland"
SCREENSHOT_SIZES = (("wide", 1280, 760, "light"), ("narrow", 390, 844, "dark"))
PAGES = {"home": "/", "thread": "", "profile": "/@ada/", "notifications": "/notifications/", "search": "/search/"}


def log_in(page: Page, url: str) -> None:
    page.goto(f"{url}/accounts/login/")
    page.fill("main [name=username]", "alice")
    page.fill("main [name=password]", PASSWORD)
    page.click("main button[type=submit]")
    page.wait_for_url(f"{url}/")


def take_screenshots(browser: Browser, url: str, pages: dict[str, str]) -> None:
    """Take a picture of each page in alice's session, wide in light and narrow in dark."""
    for name, width, height, scheme in SCREENSHOT_SIZES:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="light" if scheme == "light" else "dark",
            reduced_motion="reduce",
        )
        page = context.new_page()
        log_in(page, url)
        for title, path in pages.items():
            page.goto(f"{url}{path}", wait_until="networkidle")
            file = IMAGES / f"{title}-{name}-{scheme}.png"
            page.screenshot(path=file)
            with Image.open(file) as picture:  # 256 colours take a third of the bytes
                picture.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(file, optimize=True)
        context.close()


def main() -> int:
    program = find_chromium()
    if program is None:
        print("chromium is not installed (Debian package chromium)")
        return 1
    with tempfile.TemporaryDirectory() as data, sync_playwright() as playwright:
        site = QuickstartSite(Path(data) / "data", "--port", "0").wait_until_ready()
        try:
            with demo_visitor(site.url, "alice") as alice:
                pages = {**PAGES, "thread": find_conversation(alice)}
            browser = launch(playwright, program)
            take_screenshots(browser, site.url, pages)
            browser.close()
        finally:
            site.interrupt()
    return 0


if __name__ == "__main__":
    sys.exit(main())
