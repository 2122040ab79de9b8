"""What a phone loads to show a page: bytes on the wire, requests, and the time of the largest paint."""

from dataclasses import dataclass
from typing import Any

from playwright.sync_api import BrowserContext, Page

PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "device_scale_factor": 2,
    "has_touch": True,
    "is_mobile": True,
    "service_workers": "block",
}
"""Without the service worker, whose requests the DevTools of the page do not count."""
CPU_SLOWDOWN = 4
LATENCY_MS = 150
DOWNLOAD_BITS_PER_S = 1_600_000
UPLOAD_BITS_PER_S = 750_000

MILESTONES = """() => new Promise((done) => new PerformanceObserver((list) => done([
  performance.getEntriesByType("navigation")[0].responseStart,
  Math.max(0, ...performance.getEntriesByType("resource")
    .filter((each) => each.name.includes(".css")).map((each) => each.responseEnd)),
  performance.getEntriesByName("first-contentful-paint")[0].startTime,
  list.getEntries().at(-1).startTime,
])).observe({ type: "largest-contentful-paint", buffered: true }))"""


@dataclass(slots=True)
class PageWeight:
    """One load of a page. `wire_bytes` includes the heads of the responses; a socket is no request.

    Times are from the start of the navigation. `style_ms` is the end of the last stylesheet.
    """

    wire_bytes: int
    urls: list[str]
    first_byte_ms: float
    style_ms: float
    first_paint_ms: float
    largest_paint_ms: float


def slow_down(page: Page) -> Any:
    """Give the page the processor and the connection of a phone. Returns its DevTools session."""
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Emulation.setCPUThrottlingRate", {"rate": CPU_SLOWDOWN})
    session.send(
        "Network.emulateNetworkConditions",
        {
            "offline": False,
            "latency": LATENCY_MS,
            "downloadThroughput": DOWNLOAD_BITS_PER_S / 8,
            "uploadThroughput": UPLOAD_BITS_PER_S / 8,
        },
    )
    return session


def weigh_page(context: BrowserContext, url: str, *, is_slow: bool = True) -> PageWeight:
    """Load a page in a new tab until the network is idle."""
    page = context.new_page()
    session = slow_down(page) if is_slow else page.context.new_cdp_session(page)
    session.send("Network.enable")
    urls: list[str] = []

    def add_url(requested: str) -> None:
        if not requested.startswith("data:"):
            urls.append(requested)

    sizes: dict[str, int] = {}
    cached: set[str] = set()
    session.on("Network.requestWillBeSent", lambda event: add_url(event["request"]["url"]))
    session.on("Network.requestServedFromCache", lambda event: cached.add(event["requestId"]))
    session.on("Network.loadingFinished", lambda event: sizes.update({event["requestId"]: event["encodedDataLength"]}))
    page.goto(url, wait_until="networkidle")
    milestones: list[float] = page.evaluate(MILESTONES)
    page.close()
    wire_bytes = sum(int(size) for request_id, size in sizes.items() if request_id not in cached)
    return PageWeight(wire_bytes, urls, *milestones)
