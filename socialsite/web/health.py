"""The state of each component of the store, for /readyz.

ok            answers and accepts a write
unavailable   no answer in time
loading       reads its data from disk after a start
read_only     is a replica: the master is another server
full          less than MEMORY_RESERVE is left below maxmemory: posting is refused, reading continues
not_saving    refuses writes because its last write did not reach the disk (MISCONF)
no_replicas   refuses writes because too few replicas are connected
evicts        may delete data when its memory is full (maxmemory-policy is not noeviction)
emptied       does not have the data that it had, or is another server
misplaced     is behind a proxy that looks for keys on other servers than before
foreign       belongs to another site
restoring     a restore runs, or was interrupted
refused       answers with another error: a defect, or missing permissions (ACL)
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextvars import Context
from dataclasses import dataclass, field
from typing import TypeVar
from weakref import WeakKeyDictionary

from socialsite import keys
from socialsite.concurrency import run_together
from socialsite.recipes.job_queue import OUTBOX, QueueDepth
from socialsite.store.components import COMPONENTS
from socialsite.store.errors import AccessDenied, ReadOnlyServer, StoreError, StoreFull, StoreUnavailable
from socialsite.store.node import Node
from socialsite.store.replies import NO_EVICTION, parse_info
from socialsite.store.site_marks import find_mark_faults
from socialsite.web.services import SiteServices, loop_services

READINESS_TIMEOUT_S = 1.8
"""Time limit of all checks, so that /readyz responds within 2 s."""
OPEN_TIMEOUT_S = 1.2
"""Time limit for opening the services. After a failure the cleanup takes 0.5 s more (migration/process_lease.py)."""
SHARED_LOOK_S = 1.0
OK, FULL, READ_ONLY, NOT_SAVING = "ok", "full", "read_only", "not_saving"
D = TypeVar("D")
T = TypeVar("T")
Infos = Mapping[int, tuple[str, Mapping[str, str]]]
STATE_BY_REDIS_ERROR = {"LOADING": "loading", "MISCONF": NOT_SAVING, "NOREPLICAS": "no_replicas"}


shared_checks: "WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[float, asyncio.Task[Readiness]]]"
shared_checks = WeakKeyDictionary()
"""Event loop -> the time of its last check (by `loop.time()`), and the check."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """The state of each component, and the depths of the queues that can be read, by their names.

    `infos` maps the number of each node that answers to its address and the fields of INFO.
    """

    components: dict[str, str]
    queues: dict[str, QueueDepth] = field(default_factory=dict)
    archive: str = "ok"
    """ok or unavailable. It does not affect `is_ready`: only pages with archived posts need it."""
    infos: Infos = field(default_factory=dict)

    @property
    def is_ready(self) -> bool:
        return all(state == OK for state in self.components.values())

    @property
    def outbox(self) -> QueueDepth | None:
        return self.queues.get(OUTBOX)


async def share_readiness() -> Readiness:
    """Return the result of `check_readiness`. Calls within SHARED_LOOK_S share one check."""
    loop = asyncio.get_running_loop()
    started_s, check = shared_checks.get(loop, (0.0, None))
    if check is None or loop.time() - started_s >= SHARED_LOOK_S:
        check = loop.create_task(check_readiness(), context=Context())
        shared_checks[loop] = (loop.time(), check)
    return await asyncio.shield(check)


async def check_readiness() -> Readiness:
    """Check all components concurrently. A server that does not answer in time counts as unavailable."""
    until = asyncio.get_running_loop().time() + READINESS_TIMEOUT_S
    try:
        async with asyncio.timeout(OPEN_TIMEOUT_S):
            services = await loop_services.get()
    except (StoreError, TimeoutError) as error:
        return Readiness(dict.fromkeys(COMPONENTS, state_from_error(error)))
    return await check_services(services, until)


async def check_services(services: SiteServices, until: float) -> Readiness:
    """Check all components of open services. `until` is a deadline by the event loop's clock."""
    nodes = services.store.nodes
    replies, write_states, mark_states, queues, archive = await run_together(
        run_together(*(reply_or(state_from_error, node.execute("INFO"), until) for node in nodes)),
        run_together(*(_probe_write(services, name, until) for name in COMPONENTS)),
        _check_marks(services, until),
        read_queue_depths(services, until),
        reply_or(state_from_error, services.check_archive(), until),
    )
    errors = {n: reply for n, reply in enumerate(replies) if isinstance(reply, str)}
    infos = {n: (str(nodes[n].address), parse_info(reply)) for n, reply in enumerate(replies) if n not in errors}
    states_by_number = {n: state_from_info(facts, services.config.memory_reserve) for n, (_, facts) in infos.items()}
    by_node = {nodes[n]: state for n, state in (errors | states_by_number).items()}
    states = (_combine_states(services, *each, by_node) for each in zip(COMPONENTS, write_states, strict=True))
    return Readiness({**dict(zip(COMPONENTS, states, strict=True)), **mark_states}, queues, archive or OK, infos)


async def read_queue_depths(services: SiteServices, until: float) -> dict[str, QueueDepth]:
    """Return the depths of the queues that can be read. `until` is a deadline by the event loop's clock."""
    queues = services.background_queues
    reads = (reply_or(lambda _: None, each.queue.read_depth(), until) for each in queues.values())
    depths = zip(queues, await run_together(*reads), strict=True)
    return {name: depth for name, depth in depths if depth is not None}


async def reply_or(on_error: Callable[[Exception], D], reply: Awaitable[T], until: float) -> T | D:
    """Return the reply. If the store fails or does not reply until the deadline, return `on_error(error)`."""
    try:
        async with asyncio.timeout_at(until):
            return await reply
    except (StoreError, TimeoutError) as error:
        return on_error(error)


def state_from_info(facts: Mapping[str, str], reserve_bytes: int) -> str:
    """Return the state of a master according to its INFO fields."""
    if facts.get("loading") == "1":
        return "loading"
    if facts.get("role") == "slave":
        return READ_ONLY
    if facts.get("aof_last_write_status", OK) != OK:
        return NOT_SAVING
    max_bytes = int(facts.get("maxmemory", 0))
    if facts.get("maxmemory_policy", NO_EVICTION) != NO_EVICTION:
        return "evicts"
    return FULL if max_bytes and int(facts.get("used_memory", 0)) + reserve_bytes > max_bytes else OK


def state_from_error(error: Exception) -> str:
    """Return the state that corresponds to an error. Error texts of servers are not published."""
    if isinstance(error, StoreFull):
        return FULL
    if isinstance(error, ReadOnlyServer):
        return READ_ONLY
    if isinstance(error, AccessDenied):
        return "refused"
    if isinstance(error, StoreUnavailable | TimeoutError):
        return STATE_BY_REDIS_ERROR.get(str(error).partition(" ")[0], "unavailable")
    return "refused"


async def _check_marks(services: SiteServices, until: float) -> dict[str, str]:
    """Return the states of the components whose servers do not have the site's data."""
    # If this check fails, the other checks report the reason.
    faults = await reply_or(lambda _: (), find_mark_faults(services.store), until)
    return {component: fault.state for fault in faults for component in fault.components}


async def _probe_write(services: SiteServices, component: str, until: float) -> str:
    """Probe a write to the component through its normal route, for example a proxy."""
    key = keys.readiness(component)
    try:
        async with asyncio.timeout_at(until):
            await services.store.node(key).execute("DEL", key)
    except (StoreError, TimeoutError) as error:
        return state_from_error(error)
    return OK


def _combine_states(services: SiteServices, component: str, write_state: str, by_node: Mapping[Node, str]) -> str:
    """Return the first error state of the component's nodes, else the state of its write probe."""
    nodes = services.store.topology(component).nodes
    return next((state for node in nodes if (state := by_node.get(node, OK)) != OK), write_state)
