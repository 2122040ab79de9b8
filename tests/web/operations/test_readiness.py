"""/readyz names each component in trouble and its state: unreachable, loading, read-only, full, not saving."""

import asyncio
import os
import signal
import time
import tomllib
from collections.abc import AsyncIterator, Iterator

import pytest

from socialsite.checks import check_archive, may_connect
from socialsite.container import Services
from socialsite.recipes.job_queue import QUEUE_NAMES
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.store import StoreUrls
from socialsite.web import health
from socialsite.web.health import COMPONENTS, check_readiness, state_from_info
from socialsite.web.services import loop_services
from tests.support.browser import HttpBrowser
from tests.support.daphnes import ROOT
from tests.support.ports import free_ports
from tests.support.redis_server import RedisServer
from tests.support.stalls import StallMonitor
from tests.support.visitor import PASSWORD
from timelines.posts.post_archive import ArchiveUnavailable

RESERVE = 16 * 1024 * 1024
BUSY_S = 0.5
"""Extra time for an answer on a busy machine."""


@pytest.fixture
def other() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture
async def site(server: RedisServer, other: RedisServer) -> AsyncIterator[Services]:
    """Services with jobs, series and search on a second server."""
    urls = StoreUrls(server.url, {"jobs": other.url, "series": other.url, "search": other.url})
    async with open_services(urls, ServiceConfig(memory_reserve=RESERVE)) as opened:
        loop_services.bind(opened)
        yield opened


async def asked(visitor: HttpBrowser) -> tuple[int, dict[str, str]]:
    health.shared_checks.clear()
    answer = await visitor.get("/readyz")
    readiness = answer.json()
    assert readiness["status"] == ("ok" if answer.status_code == 200 else "down")
    return answer.status_code, readiness["components"]


async def test_all_components_are_ok(visitor):
    assert await asked(visitor) == (200, dict.fromkeys(COMPONENTS, "ok"))


async def test_requests_of_one_second_share_one_check(visitor, other):
    started = time.monotonic()
    with other.client() as client:
        client.config_resetstat()
        answers = await asyncio.gather(*(visitor.get("/readyz") for _ in range(50)))
        checks = client.info("commandstats")["cmdstat_info"]["calls"]
    assert {answer.status_code for answer in answers} == {200}
    assert checks <= 1 + time.monotonic() - started


async def test_the_version_matches_the_package_and_the_changelog(visitor):
    packaged = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"## {packaged} " in (ROOT / "CHANGELOG.md").read_text()
    assert (await visitor.get("/readyz")).json()["version"] == packaged
    assert (await visitor.get_json("/about/")).json()["version"] == packaged
    assert packaged in (await visitor.get("/about/")).text


async def test_readiness_names_exactly_the_components_that_are_down(visitor, other):
    other.kill()
    status, states = await asked(visitor)
    assert status == 503
    assert {name for name, state in states.items() if state != "ok"} == {"jobs", "series", "search"}
    assert states["jobs"] == states["series"] == "unavailable"


@pytest.mark.parametrize("is_all", [False, True], ids=["one", "both"])
async def test_hanging_servers_are_reported_within_two_seconds(visitor, server, other, is_all):
    assert (await asked(visitor))[0] == 200
    stopped_servers = [server, other] if is_all else [other]
    for each in stopped_servers:
        os.kill(each.pid, signal.SIGSTOP)
    try:
        with StallMonitor() as stalls:
            started = time.monotonic()
            status, states = await asked(visitor)
            took_s = time.monotonic() - started
    finally:
        for each in stopped_servers:
            os.kill(each.pid, signal.SIGCONT)
    assert took_s < 2 + BUSY_S + stalls.total_s, took_s
    assert status == 503
    unavailable = {name for name, state in states.items() if state == "unavailable"}
    assert unavailable == (set(COMPONENTS) if is_all else {"jobs", "series", "search"})


async def test_a_process_without_its_store_reports_it_within_two_seconds(server, settings):
    """Services cannot open, since the server accepts connections and answers none."""
    settings.REDIS_URL, settings.REDIS_COMPONENT_URLS = server.url, {}
    os.kill(server.pid, signal.SIGSTOP)
    try:
        with StallMonitor() as stalls:
            started = time.monotonic()
            readiness = await check_readiness()
            took_s = time.monotonic() - started
    finally:
        os.kill(server.pid, signal.SIGCONT)
        await loop_services.close()
    assert took_s < 2 + BUSY_S + stalls.total_s, took_s
    assert readiness.components == dict.fromkeys(COMPONENTS, "unavailable")


async def test_without_the_series_people_post_and_read_and_staff_acts(server, other, open_browser):
    urls = StoreUrls(server.url, {"series": other.url})
    async with open_services(urls, ServiceConfig(memory_reserve=RESERVE)) as services:
        loop_services.bind(services)
        await services.accounts.sign_up(
            handle="sam", password=PASSWORD, now_ms=services.clock.now_ms(), staff=True, allow_reserved=True
        )
        sam, bob = await open_browser(), await open_browser("bob")
        await sam.log_in("sam")
        account = await services.accounts.get_by_handle("bob")
        other.kill()
        assert (await asked(sam))[1]["series"] == "unavailable"
        await bob.publish("nobody counts this")
        assert "nobody counts this" in (await bob.get("/@bob/")).text
        assert (await sam.get("/ops/")).status_code == 200
        assert (await sam.post(f"/ops/accounts/{account.id}/suspend/")).status_code == 303
        assert (await bob.get("/accounts/settings/")).status_code != 200


async def test_memory_below_the_reserve_is_reported_as_full(visitor, server):
    with server.client() as client:
        client.config_set("maxmemory", RESERVE + 1)
        status, states = await asked(visitor)
    assert (status, states["posts"], states["jobs"]) == (503, "full", "ok")


async def test_a_replica_is_reported_as_read_only(visitor, server, other):
    with server.client() as client:
        client.config_set("port", 0)
        client.replicaof("127.0.0.1", 1)
        status, states = await asked(visitor)
        client.replicaof("NO", "ONE")
    assert (status, states["posts"], states["jobs"]) == (503, "read_only", "ok")


async def test_refused_writes_are_reported(visitor, server):
    with server.client() as client:
        client.config_set("min-replicas-to-write", 1)
        assert (await asked(visitor))[1]["posts"] == "no_replicas"


async def test_missing_rights_are_reported(visitor, server):
    with server.client() as client:
        client.execute_command("ACL", "SETUSER", "default", "-del")
        status, states = await asked(visitor)
        client.execute_command("ACL", "SETUSER", "default", "+del")
    assert (status, states["posts"]) == (503, "refused")


async def test_a_readiness_check_leaves_no_key(visitor, server):
    with server.client() as client:
        before = client.dbsize(), client.info("persistence")["rdb_changes_since_last_save"]
        await asked(visitor)
        assert client.dbsize() == before[0]


async def test_the_outbox_is_reported_without_an_effect_on_the_status(alice, visitor):
    await alice.publish("hello")
    answer = await visitor.get("/readyz")
    assert (answer.status_code, answer.json()["outbox"]["waiting"]) == (200, 1)
    assert answer.json()["outbox"]["oldest_ms"] >= 0


async def test_every_queue_and_the_archive_are_reported(alice, site, visitor):
    await site.media_queue.add(b"a picture")
    health.shared_checks.clear()
    report = (await visitor.get("/readyz")).json()
    assert set(report["queues"]) == set(site.background_queues) == {*QUEUE_NAMES}
    assert (report["queues"]["media"]["waiting"], report["archive"]) == (1, "ok")


async def test_an_archive_that_does_not_answer_is_reported_with_its_cause(server, visitor, settings):
    (port,) = free_ports(1)
    settings.ARCHIVE_URL = url = f"postgresql://site@127.0.0.1:{port}/archive"
    async with open_services(StoreUrls(server.url), ServiceConfig(archive_url=url)) as services:
        loop_services.bind(services)
        for _ in range(2):
            health.shared_checks.clear()
            answer = await visitor.get("/readyz")
            assert (answer.status_code, answer.json()["archive"]) == (200, "unavailable")
            with pytest.raises(ArchiveUnavailable, match="Connection refused"):
                await services.check_archive()
    may_connect.set(True)
    (error,) = await asyncio.to_thread(check_archive)
    assert (error.id, "Connection refused" in error.msg) == ("socialsite.E009", True)


@pytest.mark.parametrize(
    ("facts", "state"),
    [
        ({"loading": "1"}, "loading"),
        ({"role": "slave"}, "read_only"),
        ({"role": "master", "aof_last_write_status": "err"}, "not_saving"),
        ({"maxmemory": "0", "used_memory": "900"}, "ok"),
        ({"maxmemory": "1000", "used_memory": "900"}, "ok"),
        ({"maxmemory": "1000", "used_memory": "901"}, "full"),
    ],
)
def test_the_info_of_a_server_becomes_one_state(facts, state):
    assert state_from_info(facts, 100) == state
