"""Restart daphnes one after another under a posting load, and check that clients notice nothing.

A socket that receives a gap message (over a hundred entries were missed on a slow machine) reads the entries from the
page, as the site's script does.
"""

import asyncio
import contextlib
import json
import os
import random
from pathlib import Path

import httpx
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.typing import Origin

from tests.support.daphnes import DaphneFleet
from tests.support.ledger import LedgerClients, RequestLedger
from tests.support.visitor import JSON_HEADERS, PLAIN_HTTP, HttpVisitor
from tests.support.waiting import eventually

RESTARTS = 2 if os.environ.get("NIGHTLY") else 1
SOCKETS = 20


class ResumingClient:
    """A browser's socket on the public timeline that reconnects with its cursor. `ids` are the entries it received."""

    def __init__(self, port: int) -> None:
        self.ids: set[int] = set()
        self.codes: list[int] = []
        self.refusals: list[str] = []
        self.subscribed = asyncio.Event()
        self._port = port
        self._last: str | None = None

    async def run(self) -> None:
        while True:
            try:
                await self._once()
            except ConnectionClosed as closed:
                self.codes.append(closed.rcvd.code if closed.rcvd else 1006)
            except (OSError, TimeoutError, InvalidHandshake) as error:
                self.refusals.append(repr(error))
            await asyncio.sleep(random.uniform(0.05, 0.2))

    async def _once(self) -> None:
        origin = Origin(f"http://127.0.0.1:{self._port}")
        url = f"ws://127.0.0.1:{self._port}/ws/stream/"
        async with connect(url, origin=origin, proxy=None, max_queue=10_000, open_timeout=60) as connection:
            after = {} if self._last is None else {"after": self._last}
            await connection.send(json.dumps({"type": "subscribe", "timeline": "public", **after}))
            while True:
                message = json.loads(await connection.recv())
                if message["type"] == "gap":
                    await self._fill(int(message["after"]), int(message["newest"]))
                self._hear(message)

    async def _fill(self, after: int, newest: int) -> None:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{self._port}", timeout=20, verify=PLAIN_HTTP) as http:
            while after < newest:
                page = await http.get(f"/public/?after={after}&limit=100", headers=JSON_HEADERS)
                post_ids = [int(post["id"]) for post in page.json()["posts"]]
                self.ids.update(post_ids)
                after = max(post_ids, default=newest)

    def _hear(self, message: dict[str, str]) -> None:
        if message["type"] == "entry":
            self.ids.add(int(message["id"]))
        if message["type"] in ("entry", "subscribed"):
            entry_id = message.get("id") or message["last"]
            self._last = str(max(int(self._last or 0), int(entry_id)))
            self.subscribed.set()


async def restart_all_under_load(fleet: DaphneFleet, port: int, directory: Path) -> None:
    """Restart the fleet RESTARTS times while clients post and read through `port`; assert that no request fails."""
    people = await asyncio.to_thread(sign_up_authors, port, 3)
    ledger = RequestLedger(directory / "ledger")
    sockets = [ResumingClient(port) for _ in range(SOCKETS)]
    listening = [asyncio.create_task(one.run()) for one in sockets]
    async with asyncio.timeout(60):
        await asyncio.gather(*(one.subscribed.wait() for one in sockets))
    crowd = LedgerClients(ledger, people, seed=4)
    crowd.start()
    statuses = [await fleet.restart(place) for _ in range(RESTARTS) for place in range(fleet.size)]
    await asyncio.to_thread(crowd.stop)
    acknowledged_ids = {int(entry.post_id or 0) for entry in ledger.acknowledged}
    with contextlib.suppress(TimeoutError):
        await eventually(lambda: all(one.ids >= acknowledged_ids for one in sockets), timeout_s=15)
    for task in listening:
        task.cancel()
    ends = await asyncio.gather(*listening, return_exceptions=True)
    profiles = await asyncio.to_thread(lambda: [one.timeline(f"/@{one.handle}/") for one in people])
    ledger.close()
    assert [end for end in ends if not isinstance(end, asyncio.CancelledError)] == []
    assert statuses == [0] * fleet.size * RESTARTS
    assert set(ledger.outcomes) <= {"201", "read 200"}, ledger.outcomes
    assert {int(post["id"]) for posts in profiles for post in posts} == acknowledged_ids
    assert {code for one in sockets for code in one.codes} == {1012}
    assert [refusal for one in sockets for refusal in one.refusals] == []
    assert [acknowledged_ids - one.ids for one in sockets] == [set()] * SOCKETS
    assert fleet.notes.count("STOPPING=1") >= fleet.size * RESTARTS


def sign_up_authors(port: int, count: int) -> list[HttpVisitor]:
    return [HttpVisitor(f"http://127.0.0.1:{port}", f"author{number}").sign_up() for number in range(count)]
