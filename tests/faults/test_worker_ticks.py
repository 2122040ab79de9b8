"""A real worker flushes buffers regularly, without a request."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from socialsite.recipes.buffer import Entity
from socialsite.service_config import ServiceConfig
from socialsite.startup import open_services

ROOT = Path(__file__).resolve().parents[2]
WITHIN_S = 90.0  # a tick of 10 s, and the start of a process on a busy machine


async def test_a_running_worker_flushes_buffers(redis_url: str) -> None:
    command = [sys.executable, "manage.py", "syndicate", "--verbosity", "0"]
    environment = {**os.environ, "REDIS_URL": redis_url, "SECRET_KEY": "only-for-this-worker-" * 3}
    async with open_services(redis_url, ServiceConfig()) as services:
        statistics = services.statistics
        statistics.meter.count_view(Entity("post", 1))
        await statistics.meter.flush()
        with subprocess.Popen(command, cwd=ROOT, env=environment) as worker:
            try:
                async with asyncio.timeout(WITHIN_S):
                    while await statistics.buffers.count_waiting():  # noqa: ASYNC110 - another process does it
                        await asyncio.sleep(0.2)
            finally:
                worker.terminate()
        assert worker.returncode == 0
        (visits,) = await statistics.stats.view_counts([Entity("post", 1)])
        assert visits.views == 1
