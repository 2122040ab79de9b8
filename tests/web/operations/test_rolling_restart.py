"""Daphne processes restart one after another: no request fails and every socket resumes."""

import asyncio
import time

import httpx
import pytest

from tests.support.daphnes import DaphneFleet
from tests.support.processes import is_receive_queue_empty
from tests.support.rolling import restart_all_under_load
from tests.support.waiting import wait_until


@pytest.mark.nightly
@pytest.mark.slow
async def test_a_rolling_restart_fails_no_request_and_every_socket_resumes(redis_url, tmp_path):
    async with DaphneFleet(redis_url, 2) as fleet:
        await restart_all_under_load(fleet, fleet.port, tmp_path)


async def test_a_running_request_is_answered_after_the_signal_and_ends_its_connection(redis_url):
    async with DaphneFleet(redis_url, 1) as fleet:
        reader, writer = await asyncio.open_connection("127.0.0.1", fleet.port)
        writer.write(b"POST /posts/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 6\r\n\r\nte")
        await asyncio.to_thread(
            wait_until, lambda: is_receive_queue_empty(fleet.port, writer.get_extra_info("sockname")[1])
        )
        stopping = asyncio.create_task(fleet.stop(0))
        await fleet.wait_for_notes("STOPPING=1", 1)
        await asyncio.sleep(0.5)
        writer.write(b"xt=a")
        answer = await asyncio.wait_for(reader.read(), 10)
        writer.close()
        assert answer.startswith(b"HTTP/1.1 403"), answer[:200]
        assert b"connection: close" in answer.lower()
        assert await stopping == 0


@pytest.mark.nightly
async def test_an_idle_connection_does_not_delay_the_stop(redis_url):
    async with DaphneFleet(redis_url, 1) as fleet, httpx.AsyncClient(base_url=fleet.origin) as client:
        assert (await client.get("/public/")).status_code == 200
        before = time.monotonic()
        assert await fleet.stop(0) == 0
        assert time.monotonic() - before < 10


async def test_a_connection_without_a_listening_process_waits_for_the_next_daphne(redis_url):
    async with DaphneFleet(redis_url, 1) as fleet, httpx.AsyncClient(base_url=fleet.origin, timeout=20) as client:
        restarting = asyncio.create_task(fleet.restart(0))
        await asyncio.sleep(1.2)
        answers = await asyncio.gather(*(client.get("/livez") for _ in range(20)))
        assert {answer.status_code for answer in answers} == {200}
        assert await restarting == 0
