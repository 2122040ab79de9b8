"""The state of the Redis servers and of this site's processes."""

import asyncio
import time
from collections import Counter
from dataclasses import dataclass

from socialsite.concurrency import run_together
from socialsite.container import Services
from socialsite.recipes.presence import members_key, processes_key
from socialsite.store import CommandRefused, Key, Node, Reply, Store, StoreError
from socialsite.store.replies import parse_info
from timelines import keys

NODE_TIMEOUT_S = 2.0  # less than PART_TIMEOUT_S of the dashboard
SLOW_CALLS_SHOWN = 20
PROCESSES_READ_MAX = 200  # maximum processes of a kind that are counted
KEYS_PER_CALL_SHOWN = 4
ACCOUNTS_SAMPLED = 1_024
"""Number of accounts whose home is located, to estimate the share of deliveries of each node."""


@dataclass(frozen=True, slots=True)
class SlowCall:
    """An entry of a server's slow log: the command and its keys, never a value. Times are in ms."""

    node: str
    at_ms: int
    took_ms: float
    command: str
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NodeHealth:
    """The state of a server. `ping_ms` is None if the server does not answer.

    `most_bytes` is maxmemory, or 0 without a limit. `delivery_share` is the share of accounts whose home is on this
    node, or None behind a proxy.
    """

    address: str
    ping_ms: float | None
    role: str = ""
    used_bytes: int = 0
    most_bytes: int = 0
    commands_s: int = 0
    clients: int = 0
    keys: int = 0
    delivery_share: float | None = None
    slow: tuple[SlowCall, ...] = ()


async def read_node_health(services: Services) -> list[NodeHealth]:
    """Read all nodes in parallel. A node without an answer delays the result by at most NODE_TIMEOUT_S."""
    store = services.store
    last_id = await services.repositories.accounts.last_id()
    shares = estimate_delivery_shares(store, last_id)
    return list(await run_together(*(_read_node(node, shares.get(node)) for node in store.nodes)))


def newest_slow_calls(nodes: list[NodeHealth]) -> list[SlowCall]:
    """Return the newest entries of all slow logs."""
    return sorted((call for node in nodes for call in node.slow), key=lambda call: -call.at_ms)[:SLOW_CALLS_SHOWN]


def estimate_delivery_shares(store: Store, last_id: int) -> dict[Node, float]:
    """Return the share of homes on each node, computed from key names without a command, or {} behind a proxy."""
    ids = range(1, last_id + 1, max(1, last_id // ACCOUNTS_SAMPLED))
    homes_by_node = Counter(store.node(keys.home_timeline(id)) for id in ids)
    if not set(homes_by_node) <= set(store.nodes):
        return {}
    return {node: homes_by_node[node] / len(ids) for node in store.nodes} if ids else {}


async def _read_node(node: Node, share: float | None) -> NodeHealth:
    try:
        async with asyncio.timeout(NODE_TIMEOUT_S):
            start_s = time.perf_counter()
            await node.execute("PING")
            ping_ms = (time.perf_counter() - start_s) * 1000
            info = parse_info(await node.execute("INFO"))
            count = int(await node.execute("DBSIZE"))
            slow = await _read_slow_log(node)
    except (StoreError, TimeoutError):
        return NodeHealth(str(node.address), None)
    return NodeHealth(
        address=str(node.address),
        ping_ms=ping_ms,
        role=info.get("role", ""),
        used_bytes=int(info.get("used_memory", 0)),
        most_bytes=int(info.get("maxmemory", 0)),
        commands_s=int(info.get("instantaneous_ops_per_sec", 0)),
        clients=int(info.get("connected_clients", 0)),
        keys=count,
        delivery_share=share,
        slow=slow,
    )


async def _read_slow_log(node: Node) -> tuple[SlowCall, ...]:
    try:
        rows = await node.execute("SLOWLOG", "GET", SLOW_CALLS_SHOWN)
    except CommandRefused:  # an ACL may forbid it
        return ()
    return tuple(parse_slow_call(str(node.address), row) for row in rows)


def parse_slow_call(node: str, row: Reply) -> SlowCall:
    """Return a slow call with only those arguments that are keys of this site, since others may be private."""
    _, second, took_us, arguments = row[:4]
    call_keys = [key for argument in arguments[1:] if (key := _parse_key(argument))]
    command = arguments[0].decode("ascii", "replace").upper()[:20] if arguments else ""
    return SlowCall(node, int(second) * 1000, int(took_us) / 1000, command, tuple(call_keys[:KEYS_PER_CALL_SHOWN]))


def _parse_key(argument: bytes) -> str | None:
    try:
        return str(Key.parse(argument.decode()))
    except ValueError:  # or UnicodeDecodeError, a subclass
        return None


@dataclass(frozen=True, slots=True)
class ProcessCounts:
    """Numbers of processes. `present` counts accounts with a socket and open lists once for each web process.

    A web process is counted from its first socket on.
    """

    web: int
    workers: int
    present: int


async def count_processes(services: Services) -> ProcessCounts:
    store, now_ms = services.store, services.clock.now_ms()
    names = await store.node(processes_key()).execute(
        "ZRANGE", processes_key(), now_ms, "+inf", "BYSCORE", "LIMIT", 0, PROCESSES_READ_MAX
    )
    sizes = await store.execute_all([("SCARD", members_key(name.decode())) for name in names])
    present = sum(max(0, size - 1) for size in sizes)  # one member of a set is a sentinel
    return ProcessCounts(len(names), await services.outbox.count_workers(), present)
