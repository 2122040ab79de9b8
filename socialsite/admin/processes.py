"""Who runs: web processes by their presence, workers by their heartbeats, and how many listen live."""

from dataclasses import dataclass

from socialsite.container import Services
from socialsite.recipes.job_queue import CONSUMER_GROUP, CONSUMER_NAME
from socialsite.recipes.presence import members_key, processes_key
from socialsite.store import CommandRefused

PROCESSES_READ_MAX = 200
"""Processes of a kind that are looked at."""


@dataclass(frozen=True, slots=True)
class ProcessCounts:
    """`present`: accounts with a socket, and lists that are open, each once a web process.

    A web process is known from its first socket on, a worker (to servers before 7.2) from its first job on.
    """

    web: int
    workers: int
    present: int


async def count_processes(services: Services) -> ProcessCounts:
    store, now_ms = services.store, services.clock.now_ms()
    names = await store.node(processes_key()).execute(
        "ZRANGE", processes_key(), now_ms, "+inf", "BYSCORE", "LIMIT", 0, PROCESSES_READ_MAX
    )
    sizes = await store.gather([("SCARD", members_key(name.decode())) for name in names])
    present = sum(max(0, size - 1) for size in sizes)  # one member marks a set as whole
    return ProcessCounts(len(names), await _count_workers(services), present)


async def _count_workers(services: Services) -> int:
    outbox, node = services.outbox, services.store.node(services.outbox.stream_key)
    try:
        rows = await node.execute("XINFO", "CONSUMERS", outbox.stream_key, CONSUMER_GROUP)
    except CommandRefused:  # no worker has ever been here
        return 0
    names = [dict(zip(row[::2], row[1::2], strict=True))[b"name"].decode() for row in rows]
    beating = [outbox.heartbeat_key(name) for name in names[-PROCESSES_READ_MAX:] if CONSUMER_NAME.fullmatch(name)]
    return sum(await node.pipeline([("EXISTS", key) for key in beating]))
