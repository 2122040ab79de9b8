"""A signed-in reader's home page of 30 over HTTP: the whole daphne process, loaded as by B5."""

import asyncio
import os
import signal
import tempfile
from pathlib import Path

from benchmarks.figures import Plan
from benchmarks.flames import Flame
from benchmarks.sampling import parse_stacks
from benchmarks.web import PageRequests, measure_load, populated_site

WARM_UP_S = 6.0
"""Every reader sends at least two requests, so that the caches are filled."""


async def collect(seconds: float) -> Flame:
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory, "stacks")
        async with populated_site(Plan(rounds=1, quick=False), sampled_into=file) as site:
            pages = PageRequests([site.get("/", reader) for reader in site.cookies])
            measure_load(site.server, pages, WARM_UP_S)
            os.kill(site.server.pid, signal.SIGUSR1)
            measured = measure_load(site.server, pages, seconds)
        stacks = await asyncio.to_thread(lambda: parse_stacks(file.read_text()))
    count = round(measured.per_s * seconds)
    return Flame("A home page of 30 over HTTP", stacks, "page", count, measured.cpu_ms * count / 1000)
