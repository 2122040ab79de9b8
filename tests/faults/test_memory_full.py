"""Redis reaches maxmemory under a load of posts: only posts are refused, and no post is half written."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.store import StoreUrls
from tests.support.load import TimedLoad
from tests.support.outages import count_jobs
from tests.support.redis_server import RedisServer
from tests.support.sites import ProductionSite, running_site
from tests.support.visitor import PASSWORD, HttpVisitor, JsonObject
from tests.support.waiting import wait_until
from timelines.audit import Audit

MB = 1024 * 1024
RESERVE = MB
ROOM = MB // 3
"""Bytes for posts above the reserve, before posts are refused."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(server: RedisServer) -> Iterator[ProductionSite]:
    with running_site(server.url, MEMORY_RESERVE=str(RESERVE)) as running:
        yield running


def used_bytes(client: redis.Redis) -> int:
    return int(client.info("memory")["used_memory"])


def everything_else_works(author: HttpVisitor, site: ProductionSite, post: JsonObject) -> None:
    """Check reading, signing in and deleting `post`."""
    for path in ("/", "/public/", "/@filler/", f"/@filler/{post['id']}/"):
        author.get(path)
    with HttpVisitor(site.url) as returning:
        answer = returning.post("/accounts/login/", username="filler", password=PASSWORD)
        assert answer.status_code == 200, answer.text
    author.deletes(post)


@pytest.mark.nightly
async def test_a_store_that_fills_refuses_posts_and_serves_everything_else(
    server: RedisServer, site: ProductionSite, tmp_path: Path
) -> None:
    pulse = TimedLoad(site.url, tmp_path, people=2)
    author = HttpVisitor(site.url, "filler").sign_up()
    first = author.publishes("to be deleted")
    with server.client() as client, pulse:
        client.config_set("maxmemory", used_bytes(client) + RESERVE + ROOM)
        accepted = author.publishes_until_refused()
        full = time.monotonic()
        everything_else_works(author, site, post=first)
        client.config_set("maxmemory", used_bytes(client))  # without any reserve: the server itself refuses
        wait_until(lambda: pulse.outcomes["post 503"] >= 1)
        time.sleep(1.5)
        everything_else_works(author, site, post=author.get("/@filler/")["posts"][0])
        assert client.info("stats")["evicted_keys"] == 0
        refused = pulse.outcomes["post 503"]
        client.config_set("maxmemory", 0)
        healed = time.monotonic()
        pulse.wait_until_recovered(healed)
    wait_until(lambda: count_jobs(server) == 0, timeout_s=60)
    ledger_audit = pulse.audit()
    print(
        f"{accepted} posts until full; full for {healed - full:.1f} s: {refused} refusals, "
        f"taken again after {pulse.recovery_time_s(healed):.2f} s; {ledger_audit}"
    )
    assert ledger_audit.is_clean, ledger_audit
    assert accepted >= 5
    assert refused >= 1
    assert set(pulse.outcomes) <= {"post 201", "post 503", "read 200"}
    await nothing_is_half_done(server)
    assert "Traceback" not in site.log, site.log[-2000:]


async def nothing_is_half_done(server: RedisServer) -> None:
    async with open_services(StoreUrls(server.url), ServiceConfig()) as opened:
        report = await Audit(opened.audit_context, second_check_after_s=0.5).run()
    assert not report.damage, [str(finding) for finding in report.discrepancies]
