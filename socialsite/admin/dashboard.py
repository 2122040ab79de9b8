"""The data of the dashboard. A failure hides only its own part."""

import asyncio
from collections.abc import Awaitable
from typing import Any, NamedTuple, TypeVar

from accounts.domain import Author
from socialsite.admin.activity import HOUR_MS, Activity, read_activity
from socialsite.admin.fanouts import FanOut, read_fan_outs
from socialsite.admin.memory import MemorySnapshot, read_memory_snapshot
from socialsite.admin.servers import NodeHealth, ProcessCounts, count_processes, read_node_health
from socialsite.alerts.board import AlertRepository, Board
from socialsite.concurrency import run_together
from socialsite.container import Services
from socialsite.ids import AccountId
from socialsite.recipes.job_queue import QueueDepth
from socialsite.store import StoreError
from timelines.audit.sampler import DamageCounts
from timelines.media.repository import FolderUse

PART_TIMEOUT_S = 2.5  # twice this is less than the deadline of a request (handler.py)
T = TypeVar("T")
DiskUse = tuple[int, FolderUse | None]
"""The counted bytes of all pictures, and what a worker measured in their folder, if there is one."""


class Dashboard(NamedTuple):
    """The parts of the dashboard. A part is None if its servers do not answer.

    `repair_counts` is the damage that the background audit found.
    """

    at_ms: int
    activity: Activity | None
    processes: ProcessCounts | None
    queue_depths: dict[str, QueueDepth] | None
    fan_outs: list[FanOut] | None
    authors: dict[AccountId, Author]
    nodes: list[NodeHealth] | None
    memory: MemorySnapshot | None
    repair_counts: dict[str, int] | None
    disk: DiskUse | None
    board: Board | None


async def read_dashboard(services: Services) -> Dashboard:
    """Read the statistics of the last hour and the present state of the site."""
    parts: dict[str, Awaitable[Any]] = {
        "activity": read_activity(services, HOUR_MS),
        "processes": count_processes(services),
        "queue_depths": _read_depths(services),
        "fan_outs": read_fan_outs(services),
        "nodes": read_node_health(services),
        "memory": read_memory_snapshot(services),
        "repair_counts": DamageCounts(services.store).read(),
        "disk": services.repositories.media_rows.read_site_use(),
        "board": AlertRepository(services.store).load(),
    }
    found = dict(zip(parts, await run_together(*map(_or_unavailable, parts.values())), strict=True))
    ids = {each.next_pass.author_id for each in found["fan_outs"] or ()}
    authors = await _or_unavailable(services.accounts.find_authors(ids)) if ids else {}
    return Dashboard(at_ms=services.clock.now_ms(), authors=authors or {}, **found)


async def _read_depths(services: Services) -> dict[str, QueueDepth]:
    queues = services.background_queues
    return dict(zip(queues, await run_together(*(each.queue.read_depth() for each in queues.values())), strict=True))


async def _or_unavailable(part: Awaitable[T]) -> T | None:
    try:
        async with asyncio.timeout(PART_TIMEOUT_S):
            return await part
    except (StoreError, TimeoutError):
        return None
