"""The dashboard's facts, each part for itself: what cannot be read says so, and hides nothing else."""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from accounts.domain import AccountId, Author
from socialsite.admin.activity import HOUR_MS, Activity, activity
from socialsite.admin.fanouts import FanOut, running_fan_outs
from socialsite.admin.memory import MemoryLook, MemoryWatch
from socialsite.admin.nodes import NodeHealth, node_health
from socialsite.admin.processes import Processes, running_processes
from socialsite.recipes.jobs import QueueDepth
from socialsite.store import StoreError
from timelines.audit.repair_log import AuditDrift

if TYPE_CHECKING:
    from socialsite.services import Services

WITHIN_S = 2.5  # twice this is less than a request has in all (handler.py)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Dashboard:
    """None: the servers that know it do not answer. `drift`: damage that the background audit met."""

    at_ms: int
    activity: Activity | None
    processes: Processes | None
    depth: QueueDepth | None
    fan_outs: list[FanOut] | None
    authors: dict[AccountId, Author]
    nodes: list[NodeHealth] | None
    memory: MemoryLook | None
    drift: dict[str, int] | None


async def dashboard(services: "Services") -> Dashboard:
    """The last hour, and now."""
    (of_hour, processes), depth, fan_outs, nodes, memory, drift = await asyncio.gather(
        asyncio.gather(
            _or_none(activity(services, HOUR_MS)),
            _or_none(running_processes(services)),
        ),
        _or_none(services.outbox.depth()),
        _or_none(running_fan_outs(services)),
        _or_none(node_health(services)),
        _or_none(MemoryWatch.of(services.store).look(services)),
        _or_none(AuditDrift(services.store).counts()),
    )
    ids = {each.running.author_id for each in fan_outs or ()}
    authors = await _or_none(services.accounts.authors(ids)) if ids else {}
    now_ms = services.clock.now_ms()
    return Dashboard(now_ms, of_hour, processes, depth, fan_outs, authors or {}, nodes, memory, drift)


async def _or_none(found: Awaitable[T]) -> T | None:
    try:
        async with asyncio.timeout(WITHIN_S):
            return await found
    except (StoreError, TimeoutError):
        return None
