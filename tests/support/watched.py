"""A page in a real browser that records every sign of executed injected text."""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Page

from tests.support.chromium import BrowserPage


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
