"""A real Chromium, pages that record its complaints, and every sign of executed injected text."""

import re
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Locator, Page, Playwright, WebSocket

from tests.support.visitor import HttpVisitor

CHROMIUM_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-site-isolation-trials",  # pages of one site need a third less processor time in one process
    "--disable-sync",
    "--no-first-run",
)

FAILED_RESPONSE_PATTERN = re.compile(r"Failed to load resource: the server responded with a status of (4\d\d|503)")

"""Matches Chromium's log line for an expected error page (4xx or 503), which is no defect."""

VIEWPORT = {"width": 1000, "height": 800}


def find_chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser")


def find_headless_chromium() -> str | None:
    """Return Chromium without windows, which opens pages in a quarter of the processor time, or else Chromium."""
    return shutil.which("chromium-headless-shell") or find_chromium()


def launch(playwright: Playwright, program: str) -> Browser:
    return playwright.chromium.launch(executable_path=program, args=list(CHROMIUM_FLAGS))


POST_PATH_PATTERN = re.compile(r"/@\w+/\d+/")

LIVE_TIMEOUT_S = 40


@dataclass
class BrowserPage:
    """A page in a browser context of its own. `complaints` are console errors, uncaught errors and CSP violations."""

    page: Page
    url: str
    complaints: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", self._record_complaint)
        self.page.on("pageerror", lambda error: self.complaints.append(f"uncaught: {error}"))

    @property
    def context(self) -> BrowserContext:
        return self.page.context

    @property
    def entries(self) -> Locator:
        return self.page.locator("ol[data-timeline] article[data-post-id]")

    @property
    def pill(self) -> Locator:
        return self.page.locator("[data-live-region] .pill")

    def go_to(self, path: str) -> None:
        self.page.goto(self.url + path)

    def go_to_live(self, path: str = "/") -> None:
        """Open a page and wait until its socket is subscribed to the page's timeline."""
        frames: list[tuple[str, str]] = []  # (URL of the page when the socket opened, frame)

        def hears(socket: WebSocket) -> None:
            at = self.page.url  # the previous page may open its socket only now
            socket.on("framereceived", lambda frame: frames.append((at, str(frame))))

        self.page.on("websocket", hears)
        self.go_to(path)
        shows_the_badge_alone = path.startswith("/notifications/") or POST_PATH_PATTERN.fullmatch(path)
        deadline = time.monotonic() + LIVE_TIMEOUT_S
        while not any(
            at == self.page.url
            and '"subscribed"' in frame
            and (shows_the_badge_alone or '"notifications"' not in frame)
            for at, frame in frames
        ):
            assert time.monotonic() < deadline, f"{path} is not live: {frames}"
            self.page.wait_for_timeout(50)
        self.page.remove_listener("websocket", hears)

    def publish(self, text: str) -> None:
        """Publish a post with the composer of the open page, which a phone shows in a sheet."""
        if not self.page.locator("[data-composer]").is_visible():
            reply = self.page.locator("main a[data-compose]")
            (reply if reply.count() else self.page.locator(".nav-compose a")).first.click()
        self.page.locator("[data-composer] textarea[name=text]").fill(text)
        self.page.locator("[data-composer] [type=submit]").click()

    def sign_in_as(self, visitor: HttpVisitor) -> None:
        """Use the visitor's session."""
        self.context.add_cookies(
            [{"name": cookie.name, "value": cookie.value or "", "url": self.url} for cookie in visitor.http.cookies.jar]
        )

    def entry_ids(self) -> list[str]:
        ids: list[str] = self.page.evaluate(
            "[...document.querySelectorAll('ol[data-timeline] > li:not(.leaving) article[data-post-id]')]"
            ".map((entry) => entry.dataset.postId)"
        )
        return ids

    def wait_for(self, condition: Callable[[], Any], timeout_s: float = 30.0) -> None:
        """Check the condition every 50 ms while the page runs. Raises AssertionError on timeout."""
        for _ in range(int(timeout_s / 0.05)):
            if condition():
                return
            self.page.wait_for_timeout(50)
        raise AssertionError("it did not come true in time")

    def _record_complaint(self, message: Any) -> None:
        if message.type == "error" and not FAILED_RESPONSE_PATTERN.search(message.text):
            self.complaints.append(message.text)


def tab_to(page: Page, selector: str, most: int = 60) -> None:
    """Press Tab until the element has focus, at most `most` times."""
    focused_element = page.locator(f":is({selector}):focus-visible")
    for _ in range(most):
        page.keyboard.press("Tab")
        if focused_element.count():
            return
    raise AssertionError(f"{selector} is not reached by Tab")


@dataclass
class InjectionWatch:
    """`happened` lists dialogs, requests to other hosts, windows and downloads."""

    reader: BrowserPage
    host: str
    happened: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        page = self.reader.page
        page.on("dialog", self._dialog)
        page.on("request", self._request)
        page.on("popup", lambda found: self.happened.append(f"popup {found.url}"))
        page.on("download", lambda found: self.happened.append(f"download {found.url}"))
        page.on("framenavigated", self._navigated)

    def opens(self, path: str) -> Page:
        self.reader.page.goto(self.reader.url + path, wait_until="load")
        self.check(path)
        return self.reader.page

    def check(self, path: str) -> None:
        events = self.happened + self.reader.complaints
        assert not events, (path, events)

    def _dialog(self, dialog: Any) -> None:
        self.happened.append(f"dialog {dialog.message}")
        dialog.dismiss()

    def _request(self, request: Any) -> None:
        if urlsplit(request.url).netloc != self.host:
            self.happened.append(f"request {request.url[:200]}")

    def _navigated(self, frame: Any) -> None:
        if frame.url != "about:blank" and urlsplit(frame.url).netloc != self.host:
            self.happened.append(f"navigation {frame.url[:200]}")
