"""Redis is killed with -9 during a slow fsync.

With everysec Redis writes to its file before it answers, except during an fsync: then it keeps up to two seconds
of acknowledged writes in its own memory. The site acknowledges no write that is not yet in the file
(socialsite/store/aof.py); the posts of a service without that check show that it is needed. `strace` makes every
fsync of the server take longer.
"""

import asyncio
import contextlib
import threading
import time

import httpx
import pytest

from socialsite.container import Services
from socialsite.migration.store_factory import open_store
from socialsite.recipes.job_worker import Worker
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.store import StoreUrls
from tests.support.disk_faults import key_of_payload, slow_disk, unwritten_aof_bytes, wait_until_fsync_begins
from tests.support.jobs import open_queue
from tests.support.programs import needs
from tests.support.redis_server import RedisServer
from tests.support.sites import running_site
from tests.support.stalls import StallMonitor
from tests.support.visitor import HttpVisitor
from tests.support.waiting import wait_until
from tests.support.world import Person, World
from timelines.audit import Audit

FSYNC_S = {"everysec": 1.5, "always": 0.02}
"""Duration of each fsync; a post is several writes, and with always each waits for an fsync."""
LOST_AT_MOST_S = {"everysec": 2.0, "always": 0.0}
"""Redis delays a write for at most two seconds (`flushAppendOnlyFile` in aof.c)."""
JOBS = 10

pytestmark = [pytest.mark.slow, needs("strace")]


@pytest.mark.parametrize(("fsync_s", "kills"), [pytest.param(1.5, 3, marks=pytest.mark.nightly), (5.0, 1)])
def test_an_acknowledged_post_survives_a_kill_during_a_slow_fsync(fsync_s: float, kills: int) -> None:
    """5 s are longer than Redis waits (2 s): then it writes without the fsync."""
    with RedisServer(aof=True) as server, running_site(server.url) as site:
        authors = [Author(site.url, f"author{number}") for number in range(3)]
        for _ in range(kills):
            with slow_disk(server, fsync_s):
                # Posts wait for the disk and are acknowledged; then Redis is killed while others wait.
                wait_until(lambda: max(author.longest_s for author in authors) > 0.5)
                until_held_for(server, 0.3)
            server.start()
        for author in authors:
            author.stops()
        lost = [post for author in authors for post in author.acknowledged if not author.sees(post)]
    longest_s = max(author.longest_s for author in authors)
    posts = sum(len(author.acknowledged) for author in authors)
    print(f"{kills} kills: {len(lost)} of {posts} posts lost; nobody waited more than {longest_s:.1f} s")
    assert not lost


def until_held_for(server: RedisServer, seconds: float) -> None:
    """Wait until Redis has had unwritten bytes for `seconds` without a break."""
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        if not unwritten_aof_bytes(server):
            began = time.monotonic()
        time.sleep(0.01)


class Author(threading.Thread):
    """Publishes without a pause until `stops`; a refused post is not acknowledged."""

    def __init__(self, url: str, handle: str) -> None:
        super().__init__(daemon=True)
        self._visitor = HttpVisitor(url, handle).sign_up()
        self._stopping = threading.Event()
        self.acknowledged: list[str] = []
        self.longest_s = 0.0
        self.start()

    def run(self) -> None:
        while not self._stopping.wait(0.02):
            began = time.monotonic()
            with contextlib.suppress(httpx.TransportError):
                answer = self._visitor.post("/posts/", text="while the disk is slow")
                if answer.status_code == 201:
                    self.acknowledged.append(answer.json()["id"])
                    self.longest_s = max(self.longest_s, time.monotonic() - began)

    def stops(self) -> None:
        self._stopping.set()
        self.join(30)

    def sees(self, post_id: str) -> bool:
        return self._visitor.http.get(f"/@{self._visitor.handle}/{post_id}/").status_code == 200


async def test_a_job_is_done_only_when_its_writes_are_in_the_other_servers_file() -> None:
    elsewhere, jobs = RedisServer(aof=True).start(), RedisServer().start()
    store = await open_store(StoreUrls(elsewhere.url, {"jobs": jobs.url}))
    try:
        queue = await open_queue(store)

        async def work(payload: bytes) -> list[bytes]:
            await store.execute_all([("SET", key_of_payload(payload), "done")])
            return []

        with slow_disk(elsewhere, FSYNC_S["everysec"]):
            await wait_until_fsync_begins(elsewhere, store)
            for number in range(JOBS):
                await queue.add(str(number).encode())
            assert await Worker(queue, work).run_until_empty()
        elsewhere.start()
        with elsewhere.client() as client:
            assert all(client.exists(str(key_of_payload(str(number).encode()))) for number in range(JOBS))
    finally:
        await store.close()
        elsewhere.stop()
        jobs.stop()


@pytest.mark.parametrize("policy", FSYNC_S)
async def test_writes_that_redis_acknowledged_during_a_slow_fsync_are_lost_by_a_kill(policy: str) -> None:
    with RedisServer(aof=True, options=("--appendfsync", policy)) as server:
        with StallMonitor() as stalls:
            async with open_services(StoreUrls(server.url), ServiceConfig()) as services:
                author = await World(services).person("author")
                with slow_disk(server, FSYNC_S[policy]):
                    answered = await publish_amid_an_fsync(server, author, policy)
                    killed = time.monotonic()
        server.start()
        async with open_services(StoreUrls(server.url), ServiceConfig()) as services:
            lost = await lost_of(services, answered)
    oldest_s = killed - min(lost) if lost else 0.0
    print(f"{policy}: {len(lost)} of {len(answered)} posts lost, the oldest of {oldest_s:.2f} s before")
    assert lost == sorted(answered)[len(answered) - len(lost) :], "the last ones and no others"
    assert bool(lost) == (policy == "everysec"), "what docs/reference/reliability.md says"
    assert oldest_s <= (LOST_AT_MOST_S[policy] and LOST_AT_MOST_S[policy] + stalls.total_s)


async def publish_amid_an_fsync(server: RedisServer, author: Person, policy: str) -> dict[float, int]:
    """Publish; return posts by answer time; with everysec until a write is delayed for half a second."""
    answered: dict[float, int] = {}
    until = time.monotonic() + 3
    in_the_file = time.monotonic()
    while time.monotonic() < until or (policy == "everysec" and time.monotonic() - in_the_file < 0.5):
        post = await author.publishes("while the disk is slow")
        answered[time.monotonic()] = post.id
        if unwritten_aof_bytes(server) == 0:
            in_the_file = time.monotonic()
        await asyncio.sleep(0.02)
    return answered


async def lost_of(services: Services, answered: dict[float, int]) -> list[float]:
    """Return the answer time of each lost post; check that the others are complete."""
    await World(services).deliver_all()
    report = await Audit(services.audit_context, second_check_after_s=0.1).run()
    assert not report.damage, [str(finding) for finding in report.discrepancies]
    stored = await services.repositories.posts.find_many(list(answered.values()))
    return sorted(at for at, post_id in answered.items() if post_id not in stored)
