"""The dashboard's facts, each part for itself: what cannot be read says so, and hides nothing else."""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TypeVar

from accounts.domain import Author
from socialsite.admin.activity import HOUR_MS, Activity, read_activity
from socialsite.admin.fanouts import FanOut, read_fan_outs
from socialsite.admin.memory import MemorySnapshot, MemorySnapshotCache
from socialsite.admin.nodes import NodeHealth, read_node_health
from socialsite.admin.processes import ProcessCounts, count_processes
from socialsite.container import Services
from socialsite.ids import AccountId
from socialsite.recipes.job_queue import QueueDepth
from socialsite.store import StoreError
from timelines.audit.sampler import DamageCounts

PART_TIMEOUT_S = 2.5  # twice this is less than a request has in all (handler.py)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Dashboard:
    """None: the servers that know it do not answer. `drift`: damage that the background audit met."""

    at_ms: int
    activity: Activity | None
    processes: ProcessCounts | None
    outbox_depth: QueueDepth | None
    fan_outs: list[FanOut] | None
    authors: dict[AccountId, Author]
    nodes: list[NodeHealth] | None
    memory: MemorySnapshot | None
    repair_counts: dict[str, int] | None


async def read_dashboard(services: Services) -> Dashboard:
    """The last hour, and now."""
    (of_hour, processes), depth, fan_outs, nodes, memory, drift = await asyncio.gather(
        asyncio.gather(
            _or_unavailable(read_activity(services, HOUR_MS)),
            _or_unavailable(count_processes(services)),
        ),
        _or_unavailable(services.outbox.read_depth()),
        _or_unavailable(read_fan_outs(services)),
        _or_unavailable(read_node_health(services)),
        _or_unavailable(MemorySnapshotCache.for_store(services.store).get_snapshot(services)),
        _or_unavailable(DamageCounts(services.store).read()),
    )
    ids = {each.next_pass.author_id for each in fan_outs or ()}
    authors = await _or_unavailable(services.accounts.find_authors(ids)) if ids else {}
    now_ms = services.clock.now_ms()
    return Dashboard(now_ms, of_hour, processes, depth, fan_outs, authors or {}, nodes, memory, drift)


async def _or_unavailable(found: Awaitable[T]) -> T | None:
    try:
        async with asyncio.timeout(PART_TIMEOUT_S):
            return await found
    except (StoreError, TimeoutError):
        return None
