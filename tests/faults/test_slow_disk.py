"""Redis is killed with -9 while the disk is slow over an fsync.

With everysec Redis writes to its file before it answers, except while an fsync is going on: then it keeps
up to two seconds of what it acknowledged in its own memory. With always the answer waits for the disk.
`strace` makes every fsync of the server take longer.
"""

import asyncio
import contextlib
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator

import pytest

from socialsite.configuration import Configuration
from socialsite.services import Services, open_services
from socialsite.store import StoreUrls
from tests.support.redis_server import RedisServer
from tests.support.stalls import Stalls
from tests.support.world import Person, World
from timelines.services.auditing import Audit

FSYNC_S = {"everysec": 1.5, "always": 0.02}
"""How long each fsync takes; a post is several writes, which with always wait for one each."""
LOST_AT_MOST_S = {"everysec": 2.0, "always": 0.0}
"""Redis puts a write off for two seconds at most, whatever the disk does (`flushAppendOnlyFile` in aof.c)."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("strace"), reason="strace is missing (Debian package strace)"),
]


@contextlib.contextmanager
def slow_disk(server: RedisServer, fsync_s: float) -> Iterator[None]:
    """Every fdatasync of the server begins so much later."""
    delay = f"inject=fdatasync:delay_enter={int(fsync_s * 1e6)}"
    tracer = subprocess.Popen(
        ["strace", "-f", "-e", "trace=fdatasync", "-e", delay, "-e", "signal=none", "-p", str(server.pid)],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert tracer.stderr is not None
        said = tracer.stderr.readline()
        assert "attached" in said, said
        yield
    finally:
        server.kill(signal.SIGKILL)  # before the tracer lets go of it: no fsync may end in between
        tracer.terminate()
        tracer.communicate(timeout=10)


@pytest.mark.parametrize("policy", FSYNC_S)
async def test_a_kill_amid_a_slow_fsync_takes_what_was_acknowledged_since(policy: str) -> None:
    server = RedisServer(aof=True, options=("--appendfsync", policy)).start()
    try:
        with Stalls() as stalls:
            async with open_services(StoreUrls(server.url), Configuration()) as services:
                author = await World(services).person("author")
                with slow_disk(server, FSYNC_S[policy]):
                    acknowledged = await publish_amid_an_fsync(server, author, policy)
                    killed = time.monotonic()
        server.start()
        async with open_services(StoreUrls(server.url), Configuration()) as services:
            lost = await lost_of(services, acknowledged)
    finally:
        server.stop()
    oldest_s = killed - min(lost) if lost else 0.0
    print(
        f"{policy}: {len(acknowledged)} posts, {len(lost)} lost, the oldest {oldest_s:.2f} s before the kill"
    )
    assert lost == sorted(acknowledged)[len(acknowledged) - len(lost) :], "the last ones and no others"
    assert bool(lost) == (policy == "everysec"), "what docs/reliability.md says"
    assert oldest_s <= (LOST_AT_MOST_S[policy] and LOST_AT_MOST_S[policy] + stalls.total_s)


async def publish_amid_an_fsync(server: RedisServer, author: Person, policy: str) -> dict[float, int]:
    """Posts by the time of their answer; with everysec on until a write is put off for half a second."""
    acknowledged: dict[float, int] = {}
    until = time.monotonic() + 3
    in_the_file = time.monotonic()
    with server.client() as client:
        while time.monotonic() < until or (policy == "everysec" and time.monotonic() - in_the_file < 0.5):
            post = await author.publishes("while the disk is slow")
            acknowledged[time.monotonic()] = post.id
            if client.info("persistence")["aof_buffer_length"] == 0:
                in_the_file = time.monotonic()
            await asyncio.sleep(0.02)
    return acknowledged


async def lost_of(services: Services, acknowledged: dict[float, int]) -> list[float]:
    """When each that is gone was acknowledged; what stands is whole."""
    await World(services).work()
    report = await Audit.over(services, second_look_after_s=0.1).run()
    assert not report.damage, [str(finding) for finding in report.findings]
    stands = await services.repositories.posts.find_many(list(acknowledged.values()))
    return sorted(at for at, post_id in acknowledged.items() if post_id not in stands)
