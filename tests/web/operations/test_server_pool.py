"""Several web processes of one unit: forks of one process on one listening socket."""

import asyncio
import contextlib
import os
import re
import signal

import httpx
import pytest

from tests.support.daphnes import DaphneFleet
from tests.support.processes import private_kb
from tests.support.rolling import restart_all_under_load
from tests.support.sites import find_children, is_alive
from tests.support.visitor import HttpVisitor
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow
WEB = re.compile(r"socialsite\.quickstart\.child_process \d+ web")
FACTORY = re.compile(r"socialsite\.quickstart\.process_factory")
FORK_KB = 40_000


def web_processes(fleet: DaphneFleet) -> set[int]:
    return {pid for pid, _ in find_children(fleet.pid(0), WEB)}


async def test_a_restart_of_one_unit_with_two_processes_fails_no_request(redis_url, tmp_path):
    async with DaphneFleet(redis_url, 1, web_processes=2) as fleet:
        assert len(web_processes(fleet)) == 2
        await restart_all_under_load(fleet, fleet.port, tmp_path)


async def test_a_killed_process_or_factory_is_replaced_and_the_site_serves(redis_url):
    async with DaphneFleet(redis_url, 1, web_processes=2) as fleet, httpx.AsyncClient(base_url=fleet.origin) as client:
        before = web_processes(fleet)
        assert max(map(private_kb, before)) < FORK_KB, "a process that loads the site has 90 MB of its own"
        ((factory, _),) = find_children(fleet.pid(0), FACTORY)
        os.kill(factory, signal.SIGKILL)
        for victim in before:
            os.kill(victim, signal.SIGKILL)
        await asyncio.to_thread(wait_until, lambda: len(web_processes(fleet) - before) == 2, timeout_s=60)
        await fleet.wait_for_notes("READY=1", 4)
        assert {(await client.get("/livez")).status_code for _ in range(10)} == {200}


async def test_a_killed_supervisor_leaves_no_process_and_the_next_one_serves(redis_url):
    async with DaphneFleet(redis_url, 1, web_processes=2) as fleet, httpx.AsyncClient(base_url=fleet.origin) as client:
        old = web_processes(fleet)
        os.kill(fleet.pid(0), signal.SIGKILL)
        await fleet.restart(0)
        await asyncio.to_thread(wait_until, lambda: not any(map(is_alive, old)), timeout_s=60)
        assert {(await client.get("/livez")).status_code for _ in range(10)} == {200}


async def test_acknowledged_posts_exist_after_kills_of_each_process_of_a_pool(redis_url):
    async with DaphneFleet(redis_url, 1, web_processes=2) as fleet:
        author = await asyncio.to_thread(HttpVisitor(fleet.origin, "alice").sign_up)
        has_ended, acknowledged = asyncio.Event(), set()

        def publish() -> None:
            with contextlib.suppress(httpx.TransportError):
                answer = author.post("/posts/", text=f"post {len(acknowledged)}")
                if answer.status_code == 201:
                    acknowledged.add(answer.json()["id"])

        async def publish_until_ended() -> None:
            while not has_ended.is_set():
                await asyncio.to_thread(publish)

        async def wait_for_posts(count: int) -> None:
            wanted = len(acknowledged) + count
            await asyncio.to_thread(wait_until, lambda: len(acknowledged) >= wanted, timeout_s=60)

        publishing = asyncio.create_task(publish_until_ended())
        for victim in (*web_processes(fleet), find_children(fleet.pid(0), FACTORY)[0][0], fleet.pid(0)):
            await wait_for_posts(5)
            os.kill(victim, signal.SIGKILL)
        await fleet.restart(0)
        await wait_for_posts(5)
        has_ended.set()
        await publishing
        page = await asyncio.to_thread(author.get, "/@alice/?limit=100")
        assert acknowledged <= {post["id"] for post in page["posts"]}
