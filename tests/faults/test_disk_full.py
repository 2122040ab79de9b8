"""The disk under Redis, or under the metrics, fills while people use the site.

everysec: 503 until the disk has room. always: Redis exits, and has all acknowledged posts after its next start.
"""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.store import StoreUrls
from socialsite.store.errors import StoreUnavailable
from tests.support.disk_faults import AS_ROOT, SmallDisk, mounted_disk
from tests.support.load import TimedLoad
from tests.support.outages import count_jobs
from tests.support.redis_server import RedisServer, pause_until_aof_written
from tests.support.sites import QuickstartSite, running_site
from tests.support.visitor import HttpVisitor
from tests.support.waiting import wait_until
from tests.support.world import World
from timelines.audit import Audit

DISK_MB = 6
QUICKSTART_DISK_MB = 48
MB = 1024 * 1024
FILLING = "x" * 450

pytestmark = pytest.mark.slow


@pytest.fixture
def disk() -> Iterator[SmallDisk]:
    with mounted_disk(DISK_MB) as disk:
        yield disk


@contextlib.contextmanager
def server_on(disk: SmallDisk, policy: str) -> Iterator[RedisServer]:
    server = RedisServer(aof=True, directory=disk.directory, options=("--appendfsync", policy)).start()
    try:
        yield server
    finally:
        with contextlib.suppress(ProcessLookupError):
            server.kill()


def test_with_everysec_a_full_disk_is_503_for_posts_until_there_is_room(disk: SmallDisk, tmp_path: Path) -> None:
    with server_on(disk, "everysec") as server, running_site(server.url) as site:
        pulse = TimedLoad(site.url, tmp_path, people=2)
        author = HttpVisitor(site.url, "filler").sign_up()
        with pulse:
            disk.fill(256 * 1024)
            accepted = author.publishes_until_refused()
            full = time.monotonic()
            for path in ("/public/", "/@filler/", "/"):
                author.get(path)
            wait_until(lambda: pulse.outcomes["post 503"] >= 1)
            time.sleep(1)
            disk.empty()
            healed = time.monotonic()
            pulse.wait_until_recovered(healed)
        wait_until(lambda: count_jobs(server) == 0, timeout_s=60)
        ledger_audit = pulse.audit()
        print(
            f"{accepted} posts until full; full for {healed - full:.1f} s, taken again after "
            f"{pulse.recovery_time_s(healed):.2f} s; {ledger_audit}"
        )
        assert ledger_audit.is_clean, ledger_audit
        assert set(pulse.outcomes) <= {"post 201", "post 503", "read 200"}
        assert pulse.outcomes["post 503"] >= 1
        pause_until_aof_written(server.client())
        server.kill()
        server.start()
        assert pulse.audit().is_clean


async def test_with_always_a_full_disk_ends_redis_and_acknowledged_posts_remain(disk: SmallDisk) -> None:
    acknowledged: list[int] = []
    with server_on(disk, "always") as server:
        async with open_services(StoreUrls(server.url), ServiceConfig()) as services:
            author = await World(services).person("author")
            disk.fill(256 * 1024)
            with contextlib.suppress(StoreUnavailable):
                for number in range(20_000):
                    acknowledged.append((await author.publishes(f"{number} {FILLING}")).id)
                pytest.fail("the disk never filled")
        wait_until(lambda: not server.is_running, timeout_s=60)
        disk.empty()
        server.start()
        async with open_services(StoreUrls(server.url), ServiceConfig()) as services:
            await World(services).deliver_all()
            stored = await services.repositories.posts.find_many(acknowledged)
            report = await Audit(services.audit_context, second_check_after_s=0.1).run()
    print(f"always: {len(acknowledged)} posts acknowledged before the end, {len(stored)} stand")
    assert len(acknowledged) >= 20
    assert sorted(stored) == acknowledged
    assert not report.damage, [str(finding) for finding in report.discrepancies]


COUNT_AND_SERVE = """
import os, sys
from socialsite.analytics import multiprocess, prometheus
ballast = open(os.environ["METRICS_DIR"] + "/ballast", "wb")
if sys.argv[1] == "running":
    prometheus.SIGNUPS.inc()
free = os.statvfs(os.environ["METRICS_DIR"])
os.posix_fallocate(ballast.fileno(), 0, free.f_bavail * free.f_frsize)
for number in range(3000):
    prometheus.count(prometheus.REFUSALS, f"rule {number}")
print(int(prometheus.REFUSALS.labels("rule 2999")._value.get()))
"""


@pytest.mark.parametrize("moment", ["starting", "running"])
def test_a_process_counts_alone_if_the_disk_of_the_metrics_is_full(disk: SmallDisk, moment: str) -> None:
    result = subprocess.run(
        [sys.executable, "-c", COUNT_AND_SERVE, moment],
        env={**os.environ, "METRICS_DIR": str(disk.directory)},
        capture_output=True,
        text=True,
    )
    assert (result.returncode, result.stdout) == (0, "1\n"), result.stderr
    assert "stay in its memory" in result.stderr


@pytest.mark.nightly
def test_a_quickstart_on_a_read_only_disk_ends_with_one_line(disk: SmallDisk) -> None:
    data = disk.directory / "data"
    data.mkdir(mode=0o700)
    (data / "secret_key").write_text("k" * 50)
    subprocess.run([*AS_ROOT, "mount", "-o", "remount,ro", str(disk.directory)], check=True)
    site = QuickstartSite(data, "--no-demo", "--port", "0")
    assert site.wait() == 1
    assert [line for line in site.lines if "METRICS_DIR" not in line] == [
        f"CommandError: {data} cannot be used: Read-only file system."
    ]


@pytest.mark.nightly
def test_a_quickstart_on_a_full_disk_still_shows_pages() -> None:
    with mounted_disk(QUICKSTART_DISK_MB) as disk, running_site(disk.directory / "data") as site:
        web = site.children()["web"]
        disk.fill(0)
        for path in ("/public/", "/", "/search/?q=a", "/about/", "/accounts/login/", "/tags/trending/") * 3:
            assert site.status(path) < 500
        assert site.children()["web"] == web, "the web process ended"
        site.kill_one("web")
        wait_until(lambda: site.status("/livez") == 200)
        disk.empty()
        wait_until(lambda: site.status("/readyz") == 200)
