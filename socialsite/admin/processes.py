"""Who runs: web processes by their presence, workers by their heartbeats, and how many listen live."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from socialsite.recipes.job_queue import CONSUMER, GROUP
from socialsite.recipes.pubsub_listener import alive, online
from socialsite.store import CommandRefused

if TYPE_CHECKING:
    from socialsite.services import Services

MOST = 200
"""Processes of a kind that are looked at."""


@dataclass(frozen=True, slots=True)
class Processes:
    """`present`: accounts with a socket, and lists that are open, each once a web process.

    A web process is known from its first socket on, a worker (to servers before 7.2) from its first job on.
    """

    web: int
    workers: int
    present: int


async def running_processes(services: "Services") -> Processes:
    store, now_ms = services.store, services.clock.now_ms()
    names = await store.node(alive()).execute("ZRANGE", alive(), now_ms, "+inf", "BYSCORE", "LIMIT", 0, MOST)
    sizes = await store.gather([("SCARD", online(name.decode())) for name in names])
    present = sum(max(0, size - 1) for size in sizes)  # one member marks a set as whole
    return Processes(len(names), await _workers(services), present)


async def _workers(services: "Services") -> int:
    outbox, node = services.outbox, services.store.node(services.outbox.stream)
    try:
        rows = await node.execute("XINFO", "CONSUMERS", outbox.stream, GROUP)
    except CommandRefused:  # no worker has ever been here
        return 0
    names = [dict(zip(row[::2], row[1::2], strict=True))[b"name"].decode() for row in rows]
    beating = [outbox.heartbeat(name) for name in names[-MOST:] if CONSUMER.fullmatch(name)]
    return sum(await node.pipeline([("EXISTS", key) for key in beating]))
