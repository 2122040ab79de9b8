"""Power fails between two fsyncs: everysec loses about the last second, always loses nothing.

`strace` records which bytes reached the disk (tests/support/disk_faults.py); `POWER_SECONDS=60` writes for longer.
"""

import asyncio
import os
import time
from itertools import pairwise
from pathlib import Path

import pytest

from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services
from socialsite.store import StoreUrls
from tests.support.disk_faults import AOF_FILE, FsyncRecord, FsyncTracer, copy_durable_files, last_sync_before
from tests.support.programs import needs
from tests.support.random_tests import mostly_nightly
from tests.support.redis_server import RedisServer
from tests.support.stalls import StallMonitor
from tests.support.world import World
from timelines.audit import Audit

POWER_S = float(os.environ.get("POWER_SECONDS", "5"))
WRITERS = 4
POSTS = 50
"""Minimum; on a slow disk it takes longer than POWER_S."""
LOST_AT_MOST_S = {"everysec": 2.0, "always": 0.0}
"""Redis begins an fsync in the second after the last one began: 2 s in the worst case, 1 s on average.
The duration of an fsync, and pauses of the machine, are added."""

pytestmark = [pytest.mark.slow, needs("strace")]


@pytest.mark.parametrize("policy", mostly_nightly(LOST_AT_MOST_S, 1))
async def test_a_power_cut_loses_only_writes_since_the_last_fsync(policy: str, tmp_path: Path) -> None:
    with RedisServer(aof=True, options=("--appendfsync", policy)) as server:
        with StallMonitor() as stalls:
            acknowledged, syncs = await written(server, tmp_path)
        moment, lost = worst_of(acknowledged, syncs)
        last_sync = last_sync_before(syncs, moment)
        assert last_sync is not None
        disk = copy_durable_files(server.directory, tmp_path / "disk", last_sync.size)
    stored = await found_on(disk, [post_id for at, post_id in acknowledged if at <= moment])
    gone = [(at, post_id) for at, post_id in acknowledged if at <= moment and post_id not in stored]
    seconds = moment - gone[0][0] if gone else 0.0
    print(
        f"{policy}: {len(acknowledged)} posts, {len(syncs)} fsyncs; the worst moment takes {len(gone)}, the "
        f"oldest acknowledged {seconds:.2f} s before it (by the times of fsyncs {lost:.2f} s)"
    )
    assert bool(gone) == (policy == "everysec")  # otherwise no write happened between two fsyncs
    slow_s = max(sync.done - sync.began for sync in syncs) + stalls.total_s
    assert seconds <= (LOST_AT_MOST_S[policy] and LOST_AT_MOST_S[policy] + slow_s)


async def written(server: RedisServer, directory: Path) -> tuple[list[tuple[float, int]], list[FsyncRecord]]:
    """Publish for a while; return when each post was acknowledged and when each fsync ended."""
    acknowledged: list[tuple[float, int]] = []
    async with open_services(StoreUrls(server.url), ServiceConfig()) as services:
        people = await World(services).people(*(f"writer{number}" for number in range(WRITERS)))
        tracer = FsyncTracer(server.pid, server.directory / "appendonlydir" / AOF_FILE, directory / "calls")
        until = time.time() + POWER_S

        async def write(number: int) -> None:
            while time.time() < until or len(acknowledged) < POSTS:
                post = await people[number].publishes("before the power fails")
                acknowledged.append((time.time(), post.id))
                await asyncio.sleep(0.01)

        await asyncio.gather(*(write(number) for number in range(WRITERS)))
        return acknowledged, tracer.stop()


def worst_of(acknowledged: list[tuple[float, int]], syncs: list[FsyncRecord]) -> tuple[float, float]:
    """Find the moment just before an fsync ends that loses the longest time; return it and the loss."""
    last = acknowledged[-1][0]
    spans = [
        (after.done - before.began, after.done - 0.000_001) for before, after in pairwise(syncs) if after.done <= last
    ]
    lost, moment = max(spans)
    return moment, lost


async def found_on(disk: Path, post_ids: list[int]) -> set[int]:
    """Start Redis on that disk; return the stored ids, and check that an audit finds no damage."""
    with RedisServer(aof=True, directory=disk) as server:
        async with open_services(StoreUrls(server.url), ServiceConfig()) as services:
            await World(services).deliver_all()
            report = await Audit(services.audit_context, second_check_after_s=0.1).run()
            assert not report.damage, [str(finding) for finding in report.discrepancies]
            return set(await services.repositories.posts.find_many(post_ids))
