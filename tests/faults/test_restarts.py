"""Redis is restarted under a load of posts, a web process dies with its sockets, and all recover quickly.

`STORM_SOCKETS=5000` makes the storm a large one.
"""

import asyncio
import contextlib
import os
import random
import signal
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from tests.support.load import TimedLoad
from tests.support.outages import count_jobs
from tests.support.processes import Peak
from tests.support.redis_server import RedisServer
from tests.support.rolling import ResumingClient
from tests.support.sites import QuickstartSite, running_site
from tests.support.visitor import HttpVisitor
from tests.support.waiting import eventually, wait_until

RESTARTS = 3
DOWN_S = 0.5
RECOVERED_WITHIN_S = 5.0
SOCKETS = int(os.environ.get("STORM_SOCKETS", "300"))
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 60.0
"""The delays of static/js/socket.js."""
BACK_WITHIN_S = 20.0
"""Added to three times the outage: a client that has just failed waits twice its last delay."""
NO_LIMITS = {f"RATE_LIMIT_{rule}": "off" for rule in ("POST", "SIGNUP", "SOCKET", "ADDRESS")}

pytestmark = pytest.mark.slow


class Persistent(ResumingClient):
    """A socket with the reconnect delays of the site's script. `losses`: number of lost connections."""

    losses = 0

    async def run(self) -> None:
        failures = 0
        while True:
            try:
                await self._once()
            except (ConnectionClosed, OSError, TimeoutError, InvalidHandshake):
                if self.subscribed.is_set():
                    failures = 0
                    self.losses += 1
            self.subscribed.clear()
            failures += 1
            wait_s = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** (failures - 1))
            await asyncio.sleep(wait_s * random.uniform(0.5, 1))


class BusiestTenth(Peak):
    """Within `with`: the most commands that the site's Redis performed in a tenth of a second."""

    def __init__(self, site: QuickstartSite) -> None:
        super().__init__(self._count_new)
        self._client, self._before = site.redis(), 0
        self._count_new()

    def _count_new(self) -> int:
        before, self._before = self._before, int(self._client.info("stats")["total_commands_processed"])
        return self._before - before


@contextlib.asynccontextmanager
async def listening(port: int, count: int) -> AsyncIterator[list[Persistent]]:
    sockets = [Persistent(port) for _ in range(count)]
    tasks = [asyncio.create_task(one.run()) for one in sockets]
    try:
        await back(sockets, 1.0)
        yield sockets
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def back(sockets: list[Persistent], share: float) -> float:
    """Return the seconds until that share of the sockets is subscribed."""
    began = time.monotonic()
    async with asyncio.timeout(4 * BACK_WITHIN_S + SOCKETS / 50):
        while sum(one.subscribed.is_set() for one in sockets) < share * len(sockets):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    return time.monotonic() - began


async def all_gone(sockets: list[Persistent]) -> None:
    """Wait until each socket was cut off; the first may be back by then."""
    await eventually(lambda: all(one.losses for one in sockets), timeout_s=30)


async def all_saw(sockets: list[Persistent], wanted: set[int]) -> None:
    with contextlib.suppress(TimeoutError):
        await eventually(lambda: all(one.ids >= wanted for one in sockets), timeout_s=15)
    assert [wanted - one.ids for one in sockets if not one.ids >= wanted] == []


@pytest.mark.nightly
async def test_restarts_of_redis_cause_a_pause_and_lose_no_post(tmp_path: Path) -> None:
    with RedisServer(aof=True) as server, running_site(server.url, RATE_LIMIT_SOCKET="off") as site:
        pulse = await asyncio.to_thread(TimedLoad, site.url, tmp_path, people=2)
        async with listening(site.port, 3) as sockets:
            recovered = await asyncio.to_thread(restarted, pulse, server)
            await asyncio.to_thread(wait_until, lambda: count_jobs(server) == 0)
            ledger_audit = await asyncio.to_thread(pulse.audit)
            print(f"{RESTARTS} restarts, whole again after {max(recovered):.2f} s: {ledger_audit}")
            assert ledger_audit.is_clean, ledger_audit
            assert set(pulse.outcomes) <= {"post 201", "post 503", "read 200", "read 503"}
            assert max(recovered) < RECOVERED_WITHIN_S + pulse.stalls.total_s
            await all_saw(sockets, {int(entry.post_id or 0) for entry in pulse.ledger.acknowledged})


def restarted(pulse: TimedLoad, server: RedisServer) -> list[float]:
    """Restart Redis again and again; return the seconds until everybody was served, per restart."""
    ready = []
    with pulse:
        wait_until(lambda: pulse.is_steady)
        for _ in range(RESTARTS):
            time.sleep(1)
            server.kill(signal.SIGTERM)  # as SHUTDOWN: Redis writes its append-only file first
            time.sleep(DOWN_S)
            server.start()
            ready.append(time.monotonic())
            pulse.wait_until_recovered(ready[-1])
            time.sleep(1)
    return [pulse.recovery_time_s(at) for at in ready]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[QuickstartSite]:
    with running_site(tmp_path / "data", **NO_LIMITS) as running:
        yield running


@pytest.mark.nightly
async def test_many_sockets_reconnect_soon_and_miss_nothing(site: QuickstartSite) -> None:
    author = await asyncio.to_thread(lambda: HttpVisitor(site.url, "author").sign_up())
    post_ids = {int((await asyncio.to_thread(author.publishes, "before"))["id"])}
    async with listening(site.port, SOCKETS) as sockets:
        post_ids = {int((await asyncio.to_thread(author.publishes, "heard by all"))["id"])}
        await all_saw(sockets, post_ids)
        with BusiestTenth(site) as busiest:
            site.kill_one("web")
            down = time.monotonic()
            await all_gone(sockets)
            await asyncio.to_thread(wait_until, lambda: site.status() == 200, timeout_s=30)
            up_s = time.monotonic() - down
            post_ids.add(int((await asyncio.to_thread(author.publishes, "while they come back"))["id"]))
            await back(sockets, 0.99)
            back_s = time.monotonic() - down
        post_ids.add(int((await asyncio.to_thread(author.publishes, "afterwards"))["id"]))
        await all_saw(sockets, post_ids)
    print(
        f"{SOCKETS} sockets: the site answers after {up_s:.1f} s, 99 % are back after {back_s:.1f} s; "
        f"Redis did at most {busiest.most} commands in a tenth of a second"
    )
    assert back_s < 3 * up_s + BACK_WITHIN_S
