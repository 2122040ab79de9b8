"""The wall clocks of web and worker jump by hours and days without harm.

Ids keep their order, sessions stay valid, and no jump begins a new minute of a limit. libfaketime changes the
wall clock of each process and not its monotonic clock, as a real jump does. Redis keeps the right time
(libfaketime does not start Debian's Redis).
"""

import os
import secrets
import time
from collections import Counter
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from http.cookies import SimpleCookie
from pathlib import Path

import pytest

from socialsite.ids import ms_from_id
from tests.support.outages import count_jobs
from tests.support.programs import needs
from tests.support.redis_server import RedisServer
from tests.support.sites import ProductionSite
from tests.support.visitor import JSON_HEADERS, PASSWORD, HttpVisitor
from tests.support.waiting import wait_until

LIBRARY = next(iter(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")), None)
OFFSETS = {"ahead": "+30d", "behind": "-30d"}
JUMPS = {"+1h": 3_600, "-1h": -3_600, "+30d": 30 * 86_400, "-30d": -30 * 86_400, "+0": 0}
"""As libfaketime reads the offset, and in seconds."""
YEAR_S = 31_449_600
"""Lifetime of the CSRF cookie: its end shows the time of the process."""
POSTS = int(os.environ.get("CLOCK_POSTS", "5"))
"""Per site, after each jump."""
SEARCHES = 5
"""Limit per minute; as many searches follow each jump, at both sites together."""
APART_MS = 250
"""Largest difference of two processes' clocks: half a round trip on a busy machine."""

pytestmark = [pytest.mark.slow, pytest.mark.nightly, needs("faketime")]


class Jumping(ProductionSite):
    """A site with processes that read the wall clock's offset from a file once a second."""

    def __init__(self, redis_url: str, directory: Path, key: str, offset: str) -> None:
        directory.mkdir()
        self._offset = directory / "offset"
        self.jump(offset)
        super().__init__(
            redis_url,
            directory,
            SECRET_KEY=key,
            LD_PRELOAD=str(LIBRARY),
            FAKETIME_TIMESTAMP_FILE=str(self._offset),
            FAKETIME_CACHE_DURATION="1",
            FAKETIME_DONT_FAKE_MONOTONIC="1",
            DONT_FAKE_MONOTONIC="1",
            RATE_LIMIT_SEARCH=f"{SEARCHES}/m",
        )

    def jump(self, offset: str) -> None:
        self._offset.write_text(f"{offset}\n")


@pytest.fixture
def sites(server: RedisServer, tmp_path: Path) -> Iterator[list[Jumping]]:
    key = secrets.token_urlsafe(50)
    started = [Jumping(server.url, tmp_path / name, key, offset) for name, offset in OFFSETS.items()]
    try:
        for site in started:
            site.start_web()
        started[0].start_worker()
        for site in started:
            site.wait_until_ready()
        yield started
    finally:
        for site in started:
            site.stop()


def test_ids_keep_their_order_and_sessions_stay_valid_when_the_wall_clock_jumps(
    server: RedisServer, sites: list[Jumping]
) -> None:
    author = HttpVisitor(sites[0].url, "author").sign_up()
    devices = [author, HttpVisitor(sites[1].url, "author")]
    devices[1].http.cookies.update(author.http.cookies)
    published: list[int] = []
    texts: list[str] = []
    searched, began = Counter[int](), time.monotonic()
    for jump, offset_s in JUMPS.items():
        for site in sites:
            site.jump(jump)
            has_jumped(site, offset_s)
        for number in range(POSTS):
            for place, device in enumerate(devices):
                texts.append(f"{jump} {number} {place}")
                published.append(int(device.publishes(texts[-1])["id"]))
                time.sleep(APART_MS / 1000)
        searched.update(search(device) for device in devices for _ in range(SEARCHES))
    minutes = (time.monotonic() - began) / 60
    wait_until(lambda: count_jobs(server) == 0, timeout_s=60)
    with server.client() as client:
        seconds, microseconds = client.time()
    now_ms = seconds * 1000 + microseconds // 1000
    times = [ms_from_id(post_id) for post_id in published]
    print(f"{len(published)} posts over {len(JUMPS)} jumps at two sites within {times[-1] - times[0]} ms")
    print(f"of {searched.total()} searches within {minutes * 60:.0f} s {searched[200]} were granted")
    assert searched.keys() == {200, 429}
    assert searched[200] <= SEARCHES * (minutes + 2)
    assert published == sorted(set(published))
    assert 0 <= now_ms - times[-1] < 30_000
    for device in devices:
        assert [post["text"] for post in device.timeline("/@author/")] == texts[::-1]
        assert [post["text"] for post in device.timeline("/")] == texts[::-1]
    again = HttpVisitor(sites[1].url)
    assert again.post("/accounts/login/", username="author", password=PASSWORD).status_code == 200
    assert again.get("/")["posts"]


def search(device: HttpVisitor) -> int:
    return device.http.get("/search/", params={"q": "words"}, headers=JSON_HEADERS).status_code


def has_jumped(site: ProductionSite, offset_s: int) -> None:
    wait_until(lambda: abs(wall_clock_of(site) - time.time() - offset_s) < 30, timeout_s=60)


def wall_clock_of(site: ProductionSite) -> float:
    """Return Unix time as the process sees it."""
    with HttpVisitor(site.url) as visitor:
        cookie = SimpleCookie(visitor.http.get("/accounts/login/").headers["set-cookie"])["csrftoken"]
    return parsedate_to_datetime(cookie["expires"]).timestamp() - YEAR_S
