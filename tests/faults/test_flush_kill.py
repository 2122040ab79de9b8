"""Flushers killed by SIGKILL at any point: every count arrives once."""

import asyncio
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from socialsite.migration.store_factory import open_store
from socialsite.recipes.buffer import BATCH_LEASE_MS, Buffers, BufferTotals, Change, Entity, Flusher
from socialsite.store import Store
from tests.support.buffer import NOW_MS, totals_key

ROOT = Path(__file__).resolve().parents[2]
KILLS = 12 if os.environ.get("NIGHTLY") else 4
ENTITIES = [Entity("post", number) for number in range(1, 401)]
FLUSHER = """
import asyncio, sys
from socialsite.recipes.buffer import Flusher
from socialsite.recipes.buffer import BufferTotals
from socialsite.migration.store_factory import open_store
from tests.support.buffer import totals_key

async def main(url, now_ms):
    store = await open_store(url)
    totals = BufferTotals(store, {"post": totals_key})
    flusher = Flusher(store, totals.apply)
    print("flushing", flush=True)
    while True:
        await flusher.flush(now_ms)

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""


async def test_killed_flushers_lose_and_double_nothing(redis_url: str) -> None:
    store = await open_store(redis_url)
    buffers, written = Buffers(store), 0

    async def write() -> None:
        nonlocal written
        while True:
            await buffers.add({each: Change({"views": 1}) for each in ENTITIES}, NOW_MS)
            written += 1

    writing = asyncio.create_task(write())
    for round in range(KILLS):  # one lease apart, so that each flusher takes over the changes of the one before
        await asyncio.to_thread(flush_and_die, redis_url, NOW_MS + round * BATCH_LEASE_MS)
    writing.cancel()
    await asyncio.gather(writing, return_exceptions=True)
    await buffers.add({each: Change({"views": 1}) for each in ENTITIES}, NOW_MS)  # a change is certainly pending
    written += 1
    pending = await buffers.count_waiting()
    totals = BufferTotals(store, {"post": totals_key})
    assert await stored_views(store) != [0] * len(ENTITIES)  # a killed flusher had reserved changes
    seen = [change.counts["views"] for change in await totals.read(ENTITIES)]
    assert set(seen) <= {written, written + 1}  # the cancellation may have cut off the last round
    await Flusher(store, totals.apply).flush(NOW_MS + KILLS * BATCH_LEASE_MS)
    assert await stored_views(store) == seen
    assert (pending > 0, await buffers.count_waiting()) == (True, 0)
    await store.close()


async def stored_views(store: Store) -> list[int]:
    stored = await store.execute_all([("HGET", totals_key(each.id), "+views") for each in ENTITIES])
    return [int(count or 0) for count in stored]


def flush_and_die(url: str, now_ms: int) -> None:
    """Start a flusher and kill it while it works; it must not have ended before."""
    command = [sys.executable, "-c", FLUSHER, url, str(now_ms)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as flusher:
        assert flusher.stdout is not None
        assert flusher.stdout.readline() == b"flushing\n"
        with pytest.raises(subprocess.TimeoutExpired):
            flusher.wait(random.uniform(0.01, 0.25))
        os.kill(flusher.pid, signal.SIGKILL)
