"""Whether the store answers and takes writes, component by component, for /readyz.

ok            answers, and a write is taken
unavailable   no answer in time
loading       reads its data from disk after a start
read_only     a replica: the master is elsewhere
full          less than MEMORY_RESERVE is left below maxmemory: posting is refused, reading goes on
not_saving    the server refuses writes because its last one did not reach the disk (MISCONF)
no_replicas   the server refuses writes because too few replicas follow it
refused       it answers with an error: a defect, or rights that are missing (ACL)
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from socialsite.recipes.job_queue import QueueDepth
from socialsite.store.errors import ReadOnlyServer, StoreError, StoreFull, StoreUnavailable
from socialsite.store.factory import COMPONENTS
from socialsite.store.key import Key
from socialsite.store.node import Node
from socialsite.store.replies import parse_info
from socialsite.web.services import SiteServices, loop_services

READINESS_TIMEOUT_S = 1.8
"""An answer to /readyz within 2 s, whatever hangs; the rest is for the answer itself."""
OPEN_TIMEOUT_S = 1.2
"""To open what is not open yet: giving up takes half a second more (socialsite/migration/lease.py)."""
OK, FULL, READ_ONLY, NOT_SAVING = "ok", "full", "read_only", "not_saving"
STATE_BY_REDIS_ERROR = {"LOADING": "loading", "MISCONF": NOT_SAVING, "NOREPLICAS": "no_replicas"}


@dataclass(frozen=True, slots=True)
class Readiness:
    """`outbox`: what the workers owe; None where nobody can tell."""

    components: dict[str, str]
    outbox: QueueDepth | None = None

    @property
    def is_ready(self) -> bool:
        return all(state == OK for state in self.components.values())


async def check_readiness() -> Readiness:
    """Everybody is asked at once, with one deadline for all: who has not answered by then counts as away."""
    until = asyncio.get_running_loop().time() + READINESS_TIMEOUT_S
    try:
        async with asyncio.timeout(OPEN_TIMEOUT_S):
            services = await loop_services.get()
    except (StoreError, TimeoutError) as error:
        return Readiness(dict.fromkeys(COMPONENTS, state_from_error(error)))
    nodes = services.store.nodes
    found, ways, outbox = await asyncio.gather(
        asyncio.gather(*(_check_node(node, services.config.memory_reserve, until) for node in nodes)),
        asyncio.gather(*(_probe_write(services, name, until) for name in COMPONENTS)),
        read_outbox_depth(services, until),
    )
    by_node = dict(zip(nodes, found, strict=True))
    states = (_combine_states(services, *way, by_node) for way in zip(COMPONENTS, ways, strict=True))
    return Readiness(dict(zip(COMPONENTS, states, strict=True)), outbox)


async def read_outbox_depth(services: SiteServices, until: float) -> QueueDepth | None:
    """`until`: of the loop's clock."""
    try:
        async with asyncio.timeout_at(until):
            return await services.outbox.read_depth()
    except (StoreError, TimeoutError):
        return None


def state_from_info(facts: Mapping[str, str], reserve_bytes: int) -> str:
    """What INFO says of a server that is to be written to."""
    if facts.get("loading") == "1":
        return "loading"
    if facts.get("role") == "slave":
        return READ_ONLY
    if facts.get("aof_last_write_status", OK) != OK:
        return NOT_SAVING
    most = int(facts.get("maxmemory", 0))
    return FULL if most and int(facts.get("used_memory", 0)) + reserve_bytes > most else OK


def state_from_error(error: Exception) -> str:
    """What a server says of itself stays inside: a word of ours for it."""
    if isinstance(error, StoreFull):
        return FULL
    if isinstance(error, ReadOnlyServer):
        return READ_ONLY
    if isinstance(error, StoreUnavailable | TimeoutError):
        return STATE_BY_REDIS_ERROR.get(str(error).partition(" ")[0], "unavailable")
    return "refused"


async def _check_node(node: Node, reserve_bytes: int, until: float) -> str:
    try:
        async with asyncio.timeout_at(until):
            return state_from_info(parse_info(await node.execute("INFO")), reserve_bytes)
    except (StoreError, TimeoutError) as error:
        return state_from_error(error)


async def _probe_write(services: SiteServices, component: str, until: float) -> str:
    """Whether a component's own way (through a proxy, say) takes a write."""
    key = Key(component, tag="ids", name="ready")  # never there: deleting it is a write that changes nothing
    try:
        async with asyncio.timeout_at(until):
            await services.store.node(key).execute("DEL", key)
    except (StoreError, TimeoutError) as error:
        return state_from_error(error)
    return OK


def _combine_states(services: SiteServices, component: str, way: str, by_node: Mapping[Node, str]) -> str:
    """The first trouble of its nodes, which say best what it is, then that of its own way."""
    nodes = services.store.topology(component).nodes
    return next((state for node in nodes if (state := by_node.get(node, OK)) != OK), way)
