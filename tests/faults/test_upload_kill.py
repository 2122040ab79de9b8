"""Processes are killed by SIGKILL while pictures are uploaded and encoded: nothing is lost, doubled or left over."""

import os
import random
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from django.core.files.storage import default_storage

from socialsite.container import Services
from socialsite.service_config import ServiceConfig
from socialsite.settings_parsers import build_media_storage
from socialsite.startup import open_services
from socialsite.store import StoreUrls
from tests.faults.test_ledger_crashes import audit_command, kill
from tests.support.daphnes import NO_LIMITS
from tests.support.dying_process import dying_processes, run_and_die
from tests.support.fault_proxy import FaultProxy
from tests.support.pictures import encode_all, picture, uploaded
from tests.support.redis_server import RedisServer
from tests.support.sites import QuickstartSite, running_site
from tests.support.visitor import JSON_HEADERS, HttpVisitor, JsonObject
from tests.support.waiting import eventually, wait_until
from tests.support.world import World
from timelines.media.media import UNATTACHED_MS
from timelines.media.storage import list_files

MAX_REPLIES = 40
ACT = """
async def act(services, line):
    from tests.support.pictures import picture, uploaded

    if owner_id := int(line):
        await services.media.upload(owner_id=owner_id, content=uploaded(picture()))
    else:
        (job,) = await services.media_queue.fetch("deadbeef", 1, 1)
        await services.media_processing.handle(job.payload)
"""


async def sweep(services: Services) -> None:
    """Do what the workers do within the next two days."""
    later = Services(services.store, services.clock, services.config).media_deletion
    now_ms = services.clock.now_ms() + 2 * UNATTACHED_MS
    later.clock = type("Later", (), {"now_ms": staticmethod(lambda: now_ms)})()
    while await later.check_due():
        pass
    await later.measure()


async def test_an_upload_that_dies_at_any_step_leaves_nothing(
    world: World, services: Services, redis_server: RedisServer
) -> None:
    alice = await world.person("alice")
    with FaultProxy(redis_server.socket) as proxy, dying_processes(proxy.url, ACT) as (stdin, stdout):
        for replies in range(MAX_REPLIES):
            has_died = await run_and_die(proxy, stdin, stdout, b"%d" % alice.id, replies)
            await encode_all(services)
            if not has_died:
                break
            await sweep(services)
            assert await services.repositories.media_rows.read_totals(alice.id) == (0, 0), replies
            assert await services.repositories.media_rows.ids_of_account(alice.id, 10) == [], replies
            assert list(list_files()) == [], replies
    assert 4 < replies < MAX_REPLIES
    assert len(list(list_files())) == 2


async def test_an_encoding_that_dies_at_any_step_is_repeated(
    world: World, services: Services, redis_server: RedisServer
) -> None:
    alice = await world.person("alice")
    queue, rows = services.media_queue, services.repositories.media_rows
    await queue.create_group()
    with FaultProxy(redis_server.socket) as proxy, dying_processes(proxy.url, ACT) as (stdin, stdout):
        for replies in range(MAX_REPLIES):
            row = await services.media.upload(owner_id=alice.id, content=uploaded(picture()))
            has_died = await run_and_die(proxy, stdin, stdout, b"0", replies)
            for job in await queue.reclaim("abad1dea"):
                await queue.finish(job, await services.media_processing.handle(job.payload))
            await encode_all(services)  # if the worker died before it had the job
            row = await services.media.find_own(alice.id, row.id)
            size = sum(default_storage.size(name) for name in list_files() if row.name in name)
            assert (row.state, row.size_bytes) == ("ready", size), replies
            assert await rows.read_totals(alice.id) == (size, size), replies
            await services.media.delete(owner_id=alice.id, media_id=row.id)
            await sweep(services)
            assert list(list_files()) == [], replies
            if not has_died:
                break
    assert 4 < replies < MAX_REPLIES


# The whole site

PEOPLE = 4
ROLES = ["encoder", "worker", "web", "redis"]
DEADLINE_S = 90.0


@dataclass
class Uploader:
    """A person who uploads pictures and publishes each; a request without an answer is repeated."""

    visitor: HttpVisitor
    media_ids: list[str] = field(default_factory=list)
    """The acknowledged uploads, each in a post of its own."""

    def upload_all(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self.upload(number)

    def upload(self, number: int) -> None:
        content = picture((800, 600), color=(number % 256, number // 256, 99))
        media = self._repeat(lambda: self._send(content), {200, 202})
        self.media_ids.append(media["id"])
        path = f"/media/{media['id']}/"
        self._repeat(lambda: self.visitor.http.get(path, headers=JSON_HEADERS), {200})
        fields = {"text": f"picture {number}", "media_ids": [media["id"]], "idempotency_key": f"key {number}"}
        self._repeat(lambda: self.visitor.post("/posts/", **fields), {201})

    def _send(self, content: bytes) -> httpx.Response:
        headers = {**JSON_HEADERS, "X-CSRFToken": self.visitor.http.cookies["csrftoken"]}
        return self.visitor.http.post("/media/", files={"file": ("x.jpg", content)}, headers=headers)

    def _repeat(self, request: Callable[[], httpx.Response], statuses: set[int]) -> JsonObject:
        """Repeat a request until it has one of the statuses. Others than 206 and 503 fail."""
        deadline = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline:
            with suppress(httpx.TransportError):
                answer = request()
                if answer.status_code in statuses:
                    return answer.json()
                assert answer.status_code in (206, 503), answer.text
            time.sleep(0.1)
        raise AssertionError(f"no {statuses} within {DEADLINE_S} s")


def kill_encoder(site: QuickstartSite, has_ended: threading.Event) -> None:
    """Kill a child process of the worker, unless no more pictures are uploaded."""

    def kill_one() -> bool:
        worker = site.processes().get("worker")
        found = subprocess.run(["pgrep", "-P", str(worker)], capture_output=True, text=True, check=False)
        for pid in found.stdout.split():
            with suppress(ProcessLookupError, FileNotFoundError):
                if b"timelines.media.encoder" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    os.kill(int(pid), signal.SIGKILL)
                    return True
        return False

    wait_until(lambda: has_ended.is_set() or kill_one(), "an encoder", DEADLINE_S)


def run_kills(site: QuickstartSite, kills: int, pause_s: float, has_ended: threading.Event) -> list[str]:
    """Kill so many processes in turn, or as many as die before the uploads end. Return their roles.

    One of each role is killed soon, because a fast machine may upload everything within few pauses.
    """
    chance, killed = random.Random(kills), []
    while len(killed) < kills and not has_ended.wait(chance.uniform(0, pause_s if set(ROLES) <= set(killed) else 0.3)):
        role = ROLES[len(killed) % len(ROLES)]
        kill_encoder(site, has_ended) if role == "encoder" else kill(site, role)
        killed.append(role)
    return killed


@pytest.fixture
def site(tmp_path: Path) -> Iterator[QuickstartSite]:
    with running_site(tmp_path / "data", **NO_LIMITS, RATE_LIMIT_MEDIA="off") as running:
        yield running


@pytest.mark.nightly
@pytest.mark.parametrize(("number", "kills", "pause_s"), [(20, 4, 1.5), *((50, 1_000 + run, 3.0) for run in range(10))])
async def test_every_acknowledged_upload_is_kept_once_while_processes_are_killed(
    site: QuickstartSite, settings, number: int, kills: int, pause_s: float
) -> None:
    settings.STORAGES = {**settings.STORAGES, "default": build_media_storage(site.data / "media", "", "")}
    people = [Uploader(HttpVisitor(site.url, f"painter{number}").sign_up()) for number in range(PEOPLE)]
    has_ended = threading.Event()
    with ThreadPoolExecutor(PEOPLE + 1) as threads:
        killing = threads.submit(run_kills, site, kills, pause_s, has_ended)
        try:
            list(threads.map(lambda at: people[at].upload_all(range(number)[at::PEOPLE]), range(PEOPLE)))
        finally:
            has_ended.set()
        killed = killing.result()
    print(f"{number} uploads, killed: {' '.join(killed)}")
    assert set(killed) == set(ROLES)
    wait_until(site.is_drained)
    expected = {(person.visitor.handle, media_id) for person in people for media_id in person.media_ids}
    posts = [(who.visitor.handle, post) for who in people for post in who.visitor.timeline(f"/@{who.visitor.handle}/")]
    assert sorted(post["text"] for _, post in posts) == sorted(f"picture {at}" for at in range(number))
    assert {(handle, media["id"]) for handle, post in posts for media in post["media_attachments"]} == expected
    assert len(posts) == len(expected) == number
    with site.redis() as client:
        wait_until(lambda: client.xlen("jobs:{media}:stream") == 0, "the encodings", DEADLINE_S)
        url = StoreUrls(f"unix://{client.connection_pool.connection_kwargs['path']}?db=0")
    async with open_services(url, ServiceConfig()) as services:

        async def is_swept() -> bool:
            await sweep(services)
            return len(list(list_files())) == 2 * number

        with suppress(TimeoutError):  # a request whose client gave up may still upload; the assertions name its files
            await eventually(is_swept, DEADLINE_S)
        owners = [(await services.accounts.find_by_handle(who.visitor.handle)).id for who in people]
        rows = services.repositories.media_rows
        ids = {media_id for owner_id in owners for media_id in await rows.ids_of_account(owner_id, number + 1)}
        assert ids == {int(media_id) for _, media_id in expected}
        found = await rows.find_many(ids)
        files = {name: default_storage.size(name) for name in list_files()}
        assert [name for name in files if not any(row.name in name for row in found)] == []
        assert len(files) == 2 * number
        assert sum(row.size_bytes for row in found) == sum(files.values())
        assert (await rows.read_totals(owners[0]))[1] == sum(files.values())
    report = audit_command(site)
    assert report.returncode == 0, report.stdout + report.stderr
